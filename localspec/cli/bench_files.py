"""The files that `bench` writes after the run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.errors import unwritable
from localspec.paths import expanded

if TYPE_CHECKING:
    from localspec.results import BenchReport


def write_report(report: "BenchReport", files: Mapping[str, Path | None]) -> None:
    """Write a report in the forms asked for.

    A file that cannot be written keeps none of the others from being written.

    Raises:
        OutOfResourcesError: there is no room for one of them.
        LocalspecError: one of them cannot be written after all.
    """
    failures = []
    for option, path in files.items():
        if path is None or option not in _FORMS:
            continue
        # half of a surrogate pair, which JSON may hold, has no UTF-8
        text = _FORMS[option](report).encode("utf-8", "backslashreplace")
        try:
            expanded(path).write_bytes(text)
        except OSError as error:
            failures.append(unwritable(path, option, error))
    if failures:
        raise failures[0]


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
