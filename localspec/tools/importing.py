"""A Python file that the user named, as a module; and in one sentence why it is none."""

import itertools
import re
import sys
import traceback
from pathlib import Path
from types import CodeType, ModuleType

from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.paths import expanded
from localspec.termination import Terminated
from localspec.tools.running import output_to_stderr

_HINT = "Name a Python file with functions: --tools FILE.py"
_numbers = itertools.count(1)


def import_file(path: Path) -> ModuleType:
    """Run a file as a module of its own name; files beside it can be imported by it.

    What it prints goes to standard error.

    Raises:
        NotFoundError: there is no such file.
        UnsupportedFileError: it is no Python, or fails when it is run.
        LocalspecError: it cannot be read.
    """
    path = expanded(path).absolute()
    code = _compiled(path)
    # a number, since two files may have one name and neither may take a module's place
    module = ModuleType(f"_tools_{next(_numbers)}_{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        with output_to_stderr():
            exec(code, module.__dict__)
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, SystemExit) and not isinstance(error, Terminated):
            raise UnsupportedFileError(
                f"{path} ends the program when it is imported{_line(error, path)}.",
                'Put what runs it as a program under `if __name__ == "__main__":`',
            ) from error
        if isinstance(error, Exception):
            raise _failed(path, error) from error
        raise
    finally:
        # not pop(0): the file may have put folders of its own before it
        if folder in sys.path:
            sys.path.remove(folder)
    return module


def _compiled(path: Path) -> CodeType:
    if path.is_dir():
        raise NotFoundError(f"{path} is a folder.", _HINT)
    if path.exists() and not path.is_file():
        raise NotFoundError(f"{path} is not a regular file.", _HINT)
    try:
        return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.", _HINT) from None
    except OSError as error:
        raise LocalspecError(f"Cannot read {path}: {error.strerror or error}.", _HINT) from error
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise UnsupportedFileError(f"{path} is not Python{where}: {error.msg}.", _HINT) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnsupportedFileError(f"{path} is not Python: {error}.", _HINT) from error


def _failed(path: Path, error: Exception) -> UnsupportedFileError:
    what = f"{type(error).__name__}: {error}".removesuffix(": ").removesuffix(".")
    hint = None
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        hint = f"Install it where localspec runs: {sys.executable} -m pip install {package}"
    return UnsupportedFileError(f"{path} cannot be imported{_line(error, path)}: {what}.", hint)


def _line(error: BaseException, path: Path) -> str:
    """The last line of the file itself that the fault came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.lineno:
        # of a file that it imports: the line there is worth more
        return f" (line {error.lineno} of {error.filename})"
    return f" (line {lines[-1]})" if lines else ""
