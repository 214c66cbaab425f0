"""What llama.cpp's graphs of each architecture can do beside giving out logits.

The lists are llama.cpp's own (src/models, src/llama-arch.cpp, 2026-10): there is no call that asks, and a
graph that is asked for what it does not have ends the process or gives zeros.
"""

from typing import Final

SHOWS_LAST_STATE: Final = frozenset(
    {"qwen35", "qwen35moe", "qwen3next", "glm4moe", "glm-dsa", "glm5-next", "deepseek2"}
    | {"deepseek32", "deepseek4", "mistral4", "step35", "mimo2", "hy_v3", "cohere2moe"}
    | {"nemotron_h", "nemotron_h_moe", "bailingmoe3", "gemma4", "gpt-oss"}
)
"""Architectures whose graph has the states after the last layer (t_h_nextn in llama.cpp's src/models)."""

SHOWS_LAYERS: Final = frozenset(
    {"llama", "qwen3", "qwen3moe", "qwen3next", "qwen35", "qwen35moe", "qwen4exp", "gemma4"}
    | {"gpt-oss", "minimax-01", "minimax-m2", "mimo2", "nemotron_h", "nemotron_h_moe", "lfm2"}
    | {
        "lfm2moe",
        "hunyuan_vl",
        "hunyuan-dense",
        "nanbeige",
        "muse-glimmer",
        "bailingmoe3",
        "deepseek4",
    }
)
"""Architectures that can show the states between their layers, which EAGLE-3, DFlash and DSpark read."""

MTP_GRAPH: Final = frozenset(
    {"qwen35", "qwen35moe", "qwen3next", "glm4moe", "glm-dsa", "glm5-next", "deepseek2"}
    | {"deepseek32", "deepseek4", "step35", "mimo2", "hy_v3", "cohere2moe", "nemotron_h_moe"}
    | {"bailingmoe3"}
)
"""Architectures whose MTP layers llama.cpp can run; others carry the tensors without a use."""

CHAINED_HEADS: Final = frozenset(
    {"step35", "mimo2", "hy_v3", "glm4moe", "glm-dsa", "deepseek32", "deepseek4", "bailingmoe3"}
)
"""Those whose graph can run several MTP layers, one for each place of a draft; the others run a single one."""

SHOWS_OUTPUTS_ONLY: Final = frozenset({"mimo2", "qwen3next", "step35", "deepseek4"})
"""Architectures whose MTP graph leaves out rows without outputs before it shows its states."""

KEEPS_LAST_STATES: Final = frozenset(
    {"qwen35", "qwen35moe", "qwen4exp", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe"}
    | {"kimi-k3", "bailingmoe3", "glm5-next", "deepseek4"}
)
"""Architectures with a state for each of the last tokens (llm_arch_supports_rs_rollback)."""
