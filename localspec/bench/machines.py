"""Cost curves of machines, for replays: what a pass of so many rows costs there, and a draft token.

All costs are relative to one row, that is to a plain pass of the target. Shipped curves lie in
`machines/*.toml`; each says where its numbers come from.
"""

import difflib
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.faults import validated
from localspec.paths import expanded
from localspec.textfile import read_text

_SUFFIX = ".toml"
_HINT = (
    "Copy a shipped one and change it; a machine file says name, description, source, level, rows"
)

Cost = Annotated[float, Field(ge=0.001, le=1e6)]
PassCost = Annotated[float, Field(ge=0.5, le=1e6)]
"""No pass costs much less than a narrower one: the weights are read for both."""


class Machine(BaseModel):
    """What passes cost on a machine.

    Attributes:
        name: how it is named on the command line.
        description: what kind of machine, model and files.
        source: where the numbers come from, and which of them are estimates.
        rows: cost of a target pass with 1, 2, … rows; beyond the last the last slope goes on.
        level: cost of one more draft token of the drafter model, for one sequence.
        levels: the same for 1, 2, … sequences at once; empty if not known: then a level grows with
            its rows as a pass of the target does.
        reading: cost for the drafter of each token of text it has to catch up with.
        expected_level: what the sizes of the files let expect of `level`; None for just that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    name: str
    description: str
    source: str
    rows: tuple[PassCost, ...] = Field(min_length=2)
    level: Annotated[float, Field(ge=0.0, le=1e6)]
    levels: tuple[Cost, ...] = ()
    reading: Annotated[float, Field(ge=0.0, le=1e6)] = 0.0
    expected_level: Annotated[float, Field(ge=0.0, le=1e6)] | None = None

    @field_validator("rows")
    @classmethod
    def _relative(cls, rows: tuple[float, ...]) -> tuple[float, ...]:
        if rows[0] != 1.0:
            raise ValueError("must begin with 1.0, since all costs are relative to one row")
        return rows

    def pass_s(self, n_rows: int) -> float:
        """Cost of a target pass with `n_rows` rows."""
        return _read(self.rows, n_rows)

    def level_s(self, n_sequences: int) -> float:
        """Cost of one more draft token for each of so many sequences."""
        if self.levels:
            return _read(self.levels, n_sequences)
        return self.level * self.pass_s(n_sequences)

    @property
    def relative_level(self) -> float:
        """What a policy is told of `level` before it has measured any."""
        return self.level if self.expected_level is None else self.expected_level


def machine_names() -> list[str]:
    """Names of the shipped machines, sorted."""
    folder = resources.files("localspec.bench") / "machines"
    names = (entry.name for entry in folder.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def load_machine(name_or_path: str) -> Machine:
    """A shipped machine, or one from a file.

    Raises:
        NotFoundError: neither a shipped name nor an existing file.
        UnsupportedFileError: the file is no machine file.
    """
    names = machine_names()
    if name_or_path in names:
        folder = resources.files("localspec.bench") / "machines"
        text = (folder / f"{name_or_path}{_SUFFIX}").read_text(encoding="utf-8")
        return _parse(text, name_or_path)
    path = expanded(name_or_path)
    if path.is_file():
        return _parse(_text(path), str(path))
    if path.suffix == _SUFFIX or len(path.parts) > 1:
        raise NotFoundError(f"There is no machine file {path}.", f"Shipped: {', '.join(names)}")
    close = difflib.get_close_matches(name_or_path.lower(), names, n=1, cutoff=0.5)
    meant = f"Did you mean {close[0]}? " if close else ""
    raise NotFoundError(
        f"There is no machine named '{name_or_path}'.", f"{meant}Shipped: {', '.join(names)}"
    )


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise UnsupportedFileError(f"{path} is not a text file.", _HINT) from error
    except OSError as error:
        raise LocalspecError(f"Cannot read {path}: {error.strerror or error}.") from error


def _parse(text: str, place: str) -> Machine:
    try:
        found = validated(Machine, tomllib.loads(text), "a machine file")
    except ValueError as error:
        raise UnsupportedFileError(
            f"The machine file {place} is not valid TOML: {error}.", _HINT
        ) from error
    except RecursionError as error:
        raise UnsupportedFileError(
            f"The machine file {place} is nested too deeply.", _HINT
        ) from error
    if isinstance(found, Machine):
        return found
    faults = "; ".join(str(fault) for fault in found)
    raise UnsupportedFileError(f"The machine file {place} is wrong: {faults}.", _HINT)


def _read(table: tuple[float, ...], size: int) -> float:
    if size <= len(table):
        return table[size - 1]
    slope = table[-1] - table[-2] if len(table) > 1 else table[-1]
    return table[-1] + max(slope, 0.0) * (size - len(table))
