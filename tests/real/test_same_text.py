"""The first promise on real quantized weights: with exact numerics every answer is identical."""

from collections.abc import Iterator

import pytest

from localspec.pair import choose, located
from localspec.params import SamplingParams
from localspec.runtime import Runtime, Wishes
from tests.real.arms import ARMS, divergence, prompt_tokens, write
from tests.real.prompts import PROMPTS

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

N_TOKENS = 128


@pytest.fixture(scope="module")
def pair() -> Iterator[Runtime]:
    with Runtime(located(choose("qwen2.5-coder-1.5b")), Wishes(n_ctx=2048)) as runtime:
        assert runtime.numerics == "exact"
        yield runtime


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("number", range(len(PROMPTS)))
def test_same_text_on_the_true_pair(pair: Runtime, number: int, temperature: float) -> None:
    params = SamplingParams(temperature=temperature, seed=number)
    prompt = prompt_tokens(pair, PROMPTS[number])
    plain = write(pair, "plain", prompt, params, N_TOKENS)
    for arm in ARMS:
        other = write(pair, arm, prompt, params, N_TOKENS)
        assert other.tokens == plain.tokens, (arm, divergence(pair, plain, other, params))
        assert other.stats.drafted > 0 or arm == "lookup"


@pytest.mark.parametrize("name", ["smollm2-135m", "gemma3-270m"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_same_text_past_512_cells_and_past_the_window(name: str, temperature: float) -> None:
    """From 512 cells on llama.cpp splits one-row attention, and a window of 512 has moved on."""
    params = SamplingParams(temperature=temperature, seed=7, repeat_penalty=1.05)
    with Runtime(located(choose(name)), Wishes(n_ctx=2048)) as runtime:
        text = " ".join(PROMPTS * 3)
        prompt = runtime.vocab.tokenize(text, add_bos=True, parse_special=False)
        assert len(prompt) > 500
        plain = write(runtime, "plain", prompt, params, 256)
        other = write(runtime, "lookup", prompt, params, 256)
        assert other.tokens == plain.tokens, divergence(runtime, plain, other, params)
        assert other.stats.accepted > 0
