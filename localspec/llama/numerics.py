"""Exact or fast: how llama.cpp must be run so that a row's logits do not depend on its neighbours.

On a CPU four things make them depend on the number of rows in a pass (measured, docs/numerics.md):
weights repacked for wide passes (use_extra_bufts), a tiled product for k-quants from 8 rows on
(ggml-cpu/tiled), one-row attention split over the cells where K and V have the same float type
(ggml_compute_forward_flash_attn_ext_f16), and another kernel for float weights from 2 rows on
(llamafile_sgemm). Exact mode keeps clear of all four, and rows are then equal to the last bit.
"""

from dataclasses import dataclass

import llama_cpp

from localspec.errors import UsageError
from localspec.llama.library import library
from localspec.params import Numerics

_F16, _BF16 = 1, 30  # enum ggml_type; the binding does not name the second

_FLOATS = frozenset({"F32", "F16", "BF16"})

_TILED_FROM = 8
"""Rows from which k-quants take the tiled product (ggml_tiled_min_batch)."""

_SGEMM_FROM = 2
"""Rows from which float weights take llamafile_sgemm."""


@dataclass(frozen=True, slots=True)
class NumericsPlan:
    """Settings that decide about a row's last bits.

    Attributes:
        mode: what this plan is for.
        use_extra_bufts: repack weights for wide passes.
        type_k: ggml type of the K cache.
        type_v: ggml type of the V cache.
        flash_attn: value of llama_flash_attn_type.
        min_rows: rows that a pass is filled up to.
        max_rows: most rows of a pass that holds a draft; None for no bound.
    """

    mode: Numerics
    use_extra_bufts: bool
    type_k: int
    type_v: int
    flash_attn: int
    min_rows: int
    max_rows: int | None


def plan_numerics(
    numerics: Numerics | None, products: frozenset[str], *, flash_attention: bool | None = None
) -> NumericsPlan:
    """The settings for a mode on this machine.

    On a CPU exact is the default where it costs nothing to speak of: for quantized weights, whose
    plain passes stay as they are, and for F32 ones, which nobody runs for speed. Where float weights
    take part, filling plain passes up to two rows costs 10 to 20 %. On a GPU nothing is known to hold.

    Args:
        numerics: "exact", "fast", or None to choose.
        products: types of the model's matrices ("Q4_K", "F16", …).
        flash_attention: False does without where mode fast leaves the choice to llama.cpp.

    Raises:
        UsageError: exact was asked for on a GPU.
    """
    floats = bool(products & _FLOATS)
    quants = bool(products - _FLOATS)
    on_gpu = llama_cpp.llama_supports_gpu_offload()
    if numerics == "exact" and on_gpu:
        raise UsageError(
            "exact numerics are known for CPUs only; this llama.cpp runs on a GPU",
            "leave --numerics out, or install a CPU build of llama-cpp-python",
        )
    if numerics == "fast" or (numerics is None and (on_gpu or (floats and products != {"F32"}))):
        return _fast(flash_attention)
    return NumericsPlan(
        mode="exact",
        use_extra_bufts=False,
        type_k=_F16,
        type_v=_BF16,
        flash_attn=llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        min_rows=_SGEMM_FROM if floats else 1,
        max_rows=_TILED_FROM - 1 if quants else None,
    )


def _fast(flash_attention: bool | None) -> NumericsPlan:
    disabled = flash_attention is False
    return NumericsPlan(
        mode="fast",
        # Builds with AMX kernels can crash in their first pass of several rows (seen with GCC 12:
        # an incompletely initialised tile configuration), and no call tells which ones do.
        use_extra_bufts="AMX_INT8 = 1" not in library().system_info,
        type_k=_F16,
        type_v=_F16,
        flash_attn=llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        if disabled
        else llama_cpp.LLAMA_FLASH_ATTN_TYPE_AUTO,
        min_rows=1,
        max_rows=None,
    )
