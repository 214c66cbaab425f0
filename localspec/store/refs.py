"""What the user typed as a model, taken apart without touching the network.

A recipe name, `org/name`, `org/name:QUANT`, `org/name/file.gguf`, a path, or the name of a stored
file. It knows no recipe, no cache and no Hub: `hub.py` says which file of a repo is meant,
`listing.py` which stored file, `recipe.py` which recipes exist.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from localspec.errors import NotFoundError, UsageError
from localspec.paths import expanded
from localspec.recipe import NAME
from localspec.store.names import split_parts

_REPO_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,95})")
_QUANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LOOKS_LIKE_PATH = re.compile(r"[/~]|\.{1,2}(?:[/\\]|$)|[A-Za-z]:[/\\]|.*\\")
_ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<rest>.+)")
_IN_ADDRESS = re.compile(r"/(?:blob|resolve|raw|tree)/[^/]+")
_FORMS = (
    "A model is a recipe name, org/name, org/name:QUANT, org/name/file.gguf, a path, or a name that "
    "`localspec models` lists."
)


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on this machine; of a split model, the first part."""

    path: Path


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a Hub repo; of a split model, the first part stands for all."""

    repo: str
    file: str


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A Hub repo, with the quantization asked for (as typed) or None."""

    repo: str
    quant: str | None = None


@dataclass(frozen=True, slots=True)
class RecipeName:
    """The name of a recipe, which may or may not exist."""

    name: str


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The bare name of a GGUF file that is not in the folder we are in, but may be stored."""

    name: str


ModelRef = LocalFile | HubFile | HubRepo | RecipeName | StoredFile


def parse_ref(text: str) -> ModelRef:
    """Tell what kind of model `text` names. An existing file wins over every name.

    Raises:
        UsageError: `text` has none of the forms.
        NotFoundError: `text` can only be a path, and nothing is there.
    """
    text = text.strip()
    if not text or "\0" in text:
        raise UsageError("The model's name is empty.", _FORMS)
    path = expanded(text)
    if _is_file(path):
        return LocalFile(first_part(path))
    if _LOOKS_LIKE_PATH.match(text):
        raise _no_file(text, path)
    if address := _ADDRESS.fullmatch(text):
        plain = _IN_ADDRESS.sub("", address["rest"].split("?")[0], count=1).strip("/")
        raise UsageError("A model is named without a web address.", f"Type {plain} instead.")
    if "/" in text:
        return _hub_ref(text, path)
    if text.lower().endswith(".gguf"):
        return StoredFile(text)
    if not NAME.fullmatch(text):
        raise UsageError(f"'{text}' names no model.", _FORMS)
    return RecipeName(text)


def _is_file(path: Path) -> bool:
    # os.path, since Path.is_file() raises for a name that is too long for the file system.
    return os.path.isfile(path)  # noqa: PTH113


def first_part(path: Path) -> Path:
    """The file itself; of a split model, its first part, which is what llama.cpp opens.

    Raises:
        NotFoundError: the first part is not beside it.
    """
    first = path.with_name(split_parts(path.name)[0])
    if first.is_file():
        return first
    raise NotFoundError(
        f"{path.name} is one part of a split model, and {first.name} is not beside it.",
        f"Put all {len(split_parts(path.name))} parts into {path.parent}.",
    )


def _no_file(text: str, path: Path) -> NotFoundError:
    if os.path.isdir(path):  # noqa: PTH112 - see _is_file
        inside = sorted(path.glob("*.gguf"))
        hint = f"Name the file, for example {inside[0]}." if inside else "No GGUF file is in it."
        return NotFoundError(f"{text} is a folder.", hint)
    if os.path.exists(path):  # noqa: PTH110 - see _is_file
        return NotFoundError(f"{text} is not a regular file.", "Name a .gguf file.")
    return NotFoundError(
        f"There is no file {text}.", "`localspec models` lists the models on this machine."
    )


def _hub_ref(text: str, path: Path) -> HubFile | HubRepo:
    org, name, *inside = text.split("/")
    if inside:
        return _hub_file(text, f"{org}/{name}", "/".join(inside))
    name, colon, quant = name.partition(":")
    if name.lower().endswith(".gguf"):
        raise _no_file(text, path)
    _check_repo(f"{org}/{name}", text)
    if colon and not _QUANT.fullmatch(quant):
        raise UsageError(
            f"'{quant}' in '{text}' is no quantization.", f"For example {org}/{name}:Q4_K_M."
        )
    return HubRepo(f"{org}/{name}", quant or None)


def _hub_file(text: str, repo: str, file: str) -> HubFile:
    _check_repo(repo, text)
    segments = file.split("/")
    if not file.lower().endswith(".gguf") or any(s in ("", ".", "..") for s in segments):
        raise UsageError(f"'{text}' names no GGUF file in {repo}.", _FORMS)
    first = split_parts(segments[-1])[0]
    return HubFile(repo, "/".join([*segments[:-1], first]))


def _check_repo(repo: str, text: str) -> None:
    parts = repo.split("/")
    sound = all(_REPO_PART.fullmatch(p) and p[-1] not in "-." for p in parts)
    if not sound or "--" in repo or ".." in repo:
        raise UsageError(f"'{text}' names no model.", _FORMS)
