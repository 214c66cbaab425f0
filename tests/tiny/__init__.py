"""Tiny random-weight models, written by the tests in milliseconds.

Every architecture the engine must handle is here as an F32 GGUF of some hundred kilobytes that
llama.cpp really loads and decodes. All share one byte-level vocabulary, so any text round-trips
byte by byte, and any two of them have equal vocabularies unless a `Variant` says otherwise.
`tests/conftest.py` turns this into the fixture `tiny`.
"""

from tests.tiny.catalogue import NAMES, TinyModels, Variant, build, write
from tests.tiny.model import Shape, TinyModel, perturbed
from tests.tiny.vocabulary import BYTES, CHATML, Vocabulary

__all__ = [
    "BYTES",
    "CHATML",
    "NAMES",
    "Shape",
    "TinyModel",
    "TinyModels",
    "Variant",
    "Vocabulary",
    "build",
    "perturbed",
    "write",
]
