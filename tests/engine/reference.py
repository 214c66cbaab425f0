"""llama.cpp's own sampler chain, as the reference for ours."""

import ctypes

import llama_cpp
import numpy as np

from localspec.params import SamplingParams


def llama_cpp_distribution(
    row: np.ndarray, params: SamplingParams, window: list[int]
) -> dict[int, float]:
    """Token -> probability after penalties, top-k, top-p, min-p and temperature."""
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    add = llama_cpp.llama_sampler_chain_add
    penalties = llama_cpp.llama_sampler_init_penalties(
        row.shape[0],
        params.penalty_window,
        params.repeat_penalty,
        params.frequency_penalty,
        params.presence_penalty,
    )
    add(chain, penalties)
    add(chain, llama_cpp.llama_sampler_init_top_k(params.top_k))
    add(chain, llama_cpp.llama_sampler_init_top_p(params.top_p, 1))
    add(chain, llama_cpp.llama_sampler_init_min_p(params.min_p, 1))
    add(chain, llama_cpp.llama_sampler_init_temp(params.temperature))
    add(chain, llama_cpp.llama_sampler_init_dist(1))
    for token in window:
        llama_cpp.llama_sampler_accept(chain, token)
    n = row.shape[0]
    data = (llama_cpp.llama_token_data * n)()
    for i in range(n):
        data[i].id, data[i].logit = i, float(row[i])
    array = llama_cpp.llama_token_data_array(data, n, -1, False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    result = {array.data[i].id: float(array.data[i].p) for i in range(array.size)}
    llama_cpp.llama_sampler_free(chain)
    return result
