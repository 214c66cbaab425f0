"""The only room that knows llama.cpp. Importing it loads the library, quietly.

A missing or broken binding is found here, before any module of the room needs it.
"""

import logging
import os

from localspec.errors import LocalspecError
from localspec.llama.waiting import short_waits

# Without this an abort in llama.cpp attaches a debugger and prints its backtrace.
os.environ.setdefault("GGML_NO_BACKTRACE", "1")
# The binding logs through Python until `library.py` puts its own callback in place.
logging.getLogger("llama-cpp-python").setLevel(logging.CRITICAL)

try:
    with short_waits():
        import llama_cpp  # noqa: F401
except (ImportError, OSError, RuntimeError) as error:
    raise LocalspecError(
        f"llama-cpp-python cannot be loaded: {error}",
        "python -m pip install --force-reinstall llama-cpp-python",
    ) from error
