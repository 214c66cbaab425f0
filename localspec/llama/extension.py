"""Functions of llama.cpp's staging interface (llama-ext.h) that the binding leaves out.

They are exported under their C++ names, which the compilers of Unix and Windows spell differently.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llama_cpp
from llama_cpp import llama_cpp as binding

from localspec.errors import UnsupportedFileError

_CONTEXT = llama_cpp.llama_context_p_ctypes
_MODEL = ctypes.c_void_p


def show_layer(context: object, layer: int) -> None:
    """Have a context show the states that enter a layer (llama_set_embeddings_layer_inp).

    The next pass ends the process if the architecture's graph does not have them (`store/architectures.py`).

    Raises:
        UnsupportedFileError: this build does not have the function.
    """
    names = (
        "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
        "?llama_set_embeddings_layer_inp@@YAXPEAUllama_context@@I_N@Z",
    )
    _function(names, (_CONTEXT, ctypes.c_uint32, ctypes.c_bool), None)(context, layer, True)


def layer_states(context: object, layer: int) -> int:
    """Address of the states that entered a layer in the last pass: floats, one row a token.

    Args:
        context: llama_context pointer that was told to show the layer.
        layer: which.
    """
    names = (
        "_Z30llama_get_embeddings_layer_inpP13llama_contextj",
        "?llama_get_embeddings_layer_inp@@YAPEAMPEAUllama_context@@I@Z",
    )
    return int(_function(names, (_CONTEXT, ctypes.c_uint32), ctypes.c_void_p)(context, layer))


def target_layers(model: int) -> list[int]:
    """The layers of its target that a drafter reads (llama_model_target_layer_ids)."""
    count = (
        "_Z30llama_model_target_layer_ids_nPK11llama_model",
        "?llama_model_target_layer_ids_n@@YAIPEBUllama_model@@@Z",
    )
    ids = (
        "_Z28llama_model_target_layer_idsPK11llama_model",
        "?llama_model_target_layer_ids@@YAPEBHPEBUllama_model@@@Z",
    )
    n = int(_function(count, (_MODEL,), ctypes.c_uint32)(model))
    found = _function(ids, (_MODEL,), ctypes.POINTER(ctypes.c_int32))(model)
    return [int(found[i]) for i in range(n)]


def selector_top_k(model: int) -> int:
    """Candidates a place in the lattice of DFlash2; 0 for other drafters."""
    names = (
        "_Z33llama_model_dflash_selector_top_kPK11llama_model",
        "?llama_model_dflash_selector_top_k@@YAHPEBUllama_model@@@Z",
    )
    return int(_function(names, (_MODEL,), ctypes.c_int32)(model))


@cache
def _function(
    names: tuple[str, ...], arguments: tuple[type, ...], result: type | None
) -> Callable[..., Any]:
    for name in names:
        function = getattr(binding._lib, name, None)
        if function is not None:
            function.argtypes, function.restype = arguments, result
            return function
    raise UnsupportedFileError(
        "This build of llama.cpp does not give out the states of a model's layers, which the drafter reads.",
        "Draft without it: -d lookup",
    )
