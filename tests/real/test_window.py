"""A sliding window of real weights: 1,500 tokens written with drafts, which cross it several times."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from localspec.engine.depth import FixedDepth, NoDraft
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import plan_numerics
from localspec.llama.threads import usable_cores
from localspec.pair import choose, located
from localspec.params import SamplingParams, Threads
from localspec.store.header import read_header
from tests.real.prompts import PROMPTS

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

N_TOKENS, WINDOW, DEEPEST = 1500, 512, 16
NO_END: frozenset[int] = frozenset()
PARAMS = SamplingParams(temperature=0.0)


@pytest.fixture(scope="module")
def target() -> Iterator[LlamaContext]:
    path = located(choose("gemma3-270m", "none")).target
    header = read_header(path)
    assert header.sliding_window == WINDOW
    plan = plan_numerics("exact", header.products)
    threads = Threads(usable_cores(), usable_cores())
    settings = ContextSettings(4096, 1, 256, DEEPEST + 1, threads, replace(plan, max_rows=None))
    with (
        LlamaModel(path, use_extra_bufts=False) as model,
        LlamaContext(model, settings) as context,
    ):
        assert model.n_swa == WINDOW
        yield context


@pytest.fixture(scope="module")
def prompt(target: LlamaContext) -> list[int]:
    path = located(choose("gemma3-270m", "none")).target
    with LlamaModel(path, use_extra_bufts=False) as model:
        return model.vocab.tokenize(" ".join(PROMPTS), add_bos=True, parse_special=False)


def write(target: LlamaContext, prompt: list[int], depth: int, n: int = N_TOKENS) -> Sequence:
    target.memory.drop(0)
    engine = Engine(
        target,
        [LookupDrafter()] if depth else [],
        FixedDepth(depth) if depth else NoDraft(),
        NO_END,
    )
    sequence = engine.open(prompt, Sampler(PARAMS), n)
    while engine.active:
        engine.step()
    engine.close(sequence)
    return sequence


@pytest.fixture(scope="module")
def plain(target: LlamaContext, prompt: list[int]) -> list[int]:
    return write(target, prompt, 0).tokens


@pytest.mark.parametrize("depth", [4, DEEPEST])
def test_equal_text_across_the_window(
    target: LlamaContext, prompt: list[int], plain: list[int], depth: int
) -> None:
    other = write(target, prompt, depth)
    assert len(other.tokens) > 3 * WINDOW
    assert other.stats.accepted > 100
    assert other.stats.drafted > other.stats.accepted
    assert other.tokens == plain


@pytest.mark.parametrize("n_shared", [300, 1200])
def test_a_prefix_from_before_the_window_is_read_again(
    target: LlamaContext, prompt: list[int], plain: list[int], n_shared: int
) -> None:
    """The cells of the window before it are gone, although llama.cpp says that it cut."""
    text = plain[:n_shared] + prompt[:20]
    expected = write(target, text, 0, n=40).tokens
    target.memory.drop(0)
    engine = Engine(target, [LookupDrafter()], FixedDepth(4), NO_END)
    first = engine.open(plain[:-1], Sampler(PARAMS), 8)
    while engine.active:
        engine.step()
    engine.close(first)
    second = engine.open(text, Sampler(PARAMS), 40)
    assert second.n_cached == 0
    while engine.active:
        engine.step()
    engine.close(second)
    assert second.tokens == expected
