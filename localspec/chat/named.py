"""Chat templates of our own, for models whose file has none; a template file works too."""

import difflib
from importlib import resources
from pathlib import Path

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.paths import expanded
from localspec.textfile import read_text

_SUFFIX = ".jinja"


def template_names() -> list[str]:
    """Names of the built-in templates, sorted."""
    folder = resources.files("localspec.chat") / "templates"
    names = (entry.name for entry in folder.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def named_template(name_or_path: str) -> str:
    """Source of a built-in template, or of a file.

    Raises:
        NotFoundError: neither a built-in name nor an existing file.
        UnsupportedFileError: the file is not text.
    """
    names = template_names()
    if name_or_path in names:
        folder = resources.files("localspec.chat") / "templates"
        return (folder / f"{name_or_path}{_SUFFIX}").read_text(encoding="utf-8")
    path = expanded(name_or_path)
    if path.is_file():
        return _read(path)
    if path.suffix or len(path.parts) > 1:
        raise NotFoundError(f"There is no template file {path}.", f"Built in: {', '.join(names)}")
    close = difflib.get_close_matches(name_or_path.lower(), names, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    raise NotFoundError(
        f"There is no chat template named {name_or_path!r}.", f"{hint}Built in: {', '.join(names)}"
    )


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise UnsupportedFileError(
            f"{path} is not a text file.", "A chat template is a Jinja file in UTF-8."
        ) from error
    except OSError as error:
        raise LocalspecError(f"Cannot read {path}: {error.strerror or error}.") from error
