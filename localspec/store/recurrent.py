"""How much memory the state of a recurrent or hybrid model takes, judged by its header.

The formulas are llama.cpp's (`llama_hparams::n_embd_r`, `n_embd_s`); states are 32-bit floats.
"""

from localspec.store.header import Header

_FLOAT_BYTES = 4


def state_bytes(header: Header) -> int:
    """Bytes of one state of a sequence, at most; 0 for a model without."""
    return _FLOAT_BYTES * _state_size(header) * _n_recurrent_layers(header)


def _state_size(header: Header) -> int:
    """Numbers that one layer keeps."""
    n_embd = header.n_embd or 0
    kernel = _number(header, "shortconv.l_cache")
    if kernel:
        return n_embd * (kernel - 1)
    head = _number(header, "wkv.head_size")
    if head:
        # two tokens are shifted, in RWKV 6 and 7
        return n_embd * (2 + head)
    head = _number(header, "kda.head_dim")
    n_heads = header.n_head if isinstance(header.n_head, int) else max(header.n_head or (0,))
    if head:
        convolved = 3 * (_number(header, "ssm.conv_kernel") or 4) - 3
        return n_heads * head * (convolved + head)
    n_inner, n_state = _number(header, "ssm.inner_size"), _number(header, "ssm.state_size")
    groups = _number(header, "ssm.group_count")
    convolved = max(_number(header, "ssm.conv_kernel") - 1, 0)
    return convolved * (n_inner + 2 * groups * n_state) + n_state * n_inner


def _n_recurrent_layers(header: Header) -> int:
    """Layers without attention; all of them where the header does not tell which."""
    n_layers = (header.n_layers or 0) - header.nextn_predict_layers
    if isinstance(header.n_head_kv, tuple):
        return header.n_head_kv[:n_layers].count(0) or n_layers
    interval = _number(header, "full_attention_interval")
    return n_layers - n_layers // interval if interval else n_layers


def _number(header: Header, name: str) -> int:
    value = header.metadata.get(f"{header.architecture}.{name}")
    return value if isinstance(value, int) else 0
