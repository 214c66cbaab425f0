"""The devices that this build of llama.cpp can compute on."""

import ctypes
from dataclasses import dataclass

import llama_cpp
from llama_cpp import llama_cpp as binding

_KINDS = ("CPU", "GPU", "integrated GPU", "accelerator", "several GPUs")


@dataclass(frozen=True, slots=True)
class Device:
    """One device (ggml_backend_dev_*).

    Attributes:
        name: ggml's name for it.
        description: the maker's name.
        kind: "CPU", "GPU", …
        free_bytes: memory free now.
        total_bytes: memory in all.
    """

    name: str
    description: str
    kind: str
    free_bytes: int
    total_bytes: int


def list_devices() -> list[Device]:
    """All devices, or none where the binding does not let us ask."""
    lib = getattr(binding, "_lib", None)
    try:
        count, get = lib.ggml_backend_dev_count, lib.ggml_backend_dev_get  # type: ignore[union-attr]
        name, description = lib.ggml_backend_dev_name, lib.ggml_backend_dev_description  # type: ignore[union-attr]
        kind, memory = lib.ggml_backend_dev_type, lib.ggml_backend_dev_memory  # type: ignore[union-attr]
    except AttributeError:
        # On Windows these live in a library of their own.
        return []
    count.restype, get.restype, get.argtypes = ctypes.c_size_t, ctypes.c_void_p, [ctypes.c_size_t]
    for text in (name, description):
        text.restype, text.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    kind.restype, kind.argtypes = ctypes.c_int, [ctypes.c_void_p]
    memory.restype = None
    memory.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    found = []
    for i in range(count()):
        device = get(i)
        free, total = ctypes.c_size_t(0), ctypes.c_size_t(0)
        memory(device, ctypes.byref(free), ctypes.byref(total))
        number = kind(device)
        found.append(
            Device(
                name=name(device).decode(errors="replace"),
                description=description(device).decode(errors="replace"),
                kind=_KINDS[number] if 0 <= number < len(_KINDS) else "unknown",
                free_bytes=free.value,
                total_bytes=total.value,
            )
        )
    return found


def computes_on_gpu() -> bool:
    """True if weights go to a GPU."""
    return bool(llama_cpp.llama_supports_gpu_offload())
