"""The files that `bench` writes after the run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.results import BenchReport


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
