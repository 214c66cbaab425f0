"""The files that `bench` writes: found out before the run, written after it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.results import BenchReport


def check_writable(files: Mapping[str, Path | None]) -> None:
    """Find out now, not after the run, whether each file can be written.

    Args:
        files: option -> file, None where it was not given.

    Raises:
        UsageError: one cannot, or two options name the same file.
    """
    from localspec.errors import UsageError

    seen: dict[str, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        _try(option, path)
        place = os.path.realpath(path)
        if place in seen and (path.is_file() or not path.exists()):
            raise UsageError(
                f"{seen[place]} and {option} name the same file, {path}.", "Give each its own."
            )
        seen[place] = option


def write_report(report: "BenchReport", files: Mapping[str, Path | None]) -> None:
    """Write a report in the forms asked for.

    Raises:
        LocalspecError: a file cannot be written after all.
    """
    from localspec.errors import LocalspecError

    for option, path in files.items():
        if path is None or option not in _FORMS:
            continue
        # half of a surrogate pair, which JSON may hold, has no UTF-8
        text = _FORMS[option](report).encode("utf-8", "backslashreplace")
        try:
            path.expanduser().write_bytes(text)
        except OSError as error:
            raise LocalspecError(
                f"Cannot write {path}: {error.strerror or error}.",
                f"Name another file: {option} FILE",
            ) from error


def _try(option: str, path: Path) -> None:
    from localspec.errors import UsageError

    path = path.expanduser()
    before = path.exists()
    try:
        path.open("a", encoding="utf-8").close()
        if not before:
            path.unlink()
    except OSError as error:
        raise UsageError(
            f"Cannot write {path}: {error.strerror or error}.",
            f"Name a file in a folder that exists and may be written: {option} FILE",
        ) from error


def _json(report: "BenchReport") -> str:
    from json import dumps

    return dumps(report.to_json(), indent=2, ensure_ascii=True) + "\n"


def _markdown(report: "BenchReport") -> str:
    from localspec.bench.export import to_markdown

    return to_markdown(report)


def _html(report: "BenchReport") -> str:
    from localspec.bench.page import to_html

    return to_html(report)


def _csv(report: "BenchReport") -> str:
    from localspec.bench.export import to_csv

    return to_csv(report)


_FORMS: dict[str, Callable[["BenchReport"], str]] = {
    "--json": _json,
    "--markdown": _markdown,
    "--html": _html,
    "--csv": _csv,
}
