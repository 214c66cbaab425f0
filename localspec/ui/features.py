"""llama.cpp's flags of how it was built ("CPU : AVX = 1 | …"), as a line for people."""

import re

_IMPLIED = {
    "AVX512": ("AVX2", "AVX", "FMA", "F16C", "BMI2", "SSE3", "SSSE3"),
    "AVX2": ("AVX", "SSE3", "SSSE3"),
    "AVX": ("SSE3", "SSSE3"),
}
"""What every processor with the first has too."""

_NAMES = {
    "AVX512": "AVX-512",
    "AVX512_VBMI": "AVX-512 VBMI",
    "AVX512_VNNI": "AVX-512 VNNI",
    "AVX512_BF16": "AVX-512 BF16",
    "AVX_VNNI": "AVX VNNI",
    "LLAMAFILE": "llamafile's matrix products",
    "OPENMP": "OpenMP threads",
    "REPACK": "weights repacked for this processor",
    "ACCELERATE": "Accelerate",
}


def in_words(flags: str) -> str:
    """What is switched on, for each backend: "CPU with AVX-512, OpenMP threads; CUDA with …"."""
    backends: dict[str, list[str]] = {}
    backend = ""
    for flag in re.split(r"\s*\|\s*", flags.strip(" |")):
        name, colon, rest = flag.partition(" : ")
        if colon:
            backend, flag = name.strip(), rest
        feature, _, value = (part.strip() for part in flag.partition("="))
        if feature and value not in ("", "0"):
            on = feature if value == "1" else f"{feature} {value}"
            backends.setdefault(backend, []).append(on)
    return "; ".join(_sentence(name, features) for name, features in backends.items()) or "none"


def _sentence(backend: str, features: list[str]) -> str:
    implied = {lesser for feature in features for lesser in _IMPLIED.get(feature, ())}
    shown = ", ".join(_NAMES.get(f, f) for f in features if f not in implied)
    return f"{backend} with {shown}" if backend else shown
