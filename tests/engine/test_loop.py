"""The engine beyond equal text: how answers end, what memory keeps, and what a stop leaves behind."""

from dataclasses import replace

import numpy as np
import pytest

from localspec.batch import Batch
from localspec.engine.depth import FixedDepth, NoDraft
from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.engine.stats import SequenceStats
from localspec.llama.context import LlamaContext
from localspec.params import SamplingParams
from tests.engine.running import NO_END, generate, opened, prompts
from tests.engine.scripted import ScriptedDrafter
from tests.tiny import TinyModels, Variant

SAMPLED = SamplingParams(temperature=1.0, seed=5)
PROMPT = prompts(1)[0]


def plain(target: LlamaContext, prompt: list[int], n: int) -> list[int]:
    return generate(target, None, [prompt], SAMPLED, lengths=[n])[0].tokens


def oracle(text: list[int], hit_rate: float = 1.0) -> ScriptedDrafter:
    return ScriptedDrafter({tuple(PROMPT): text}, hit_rate, burst=8)


@pytest.mark.parametrize("depth", [0, 1, 4, 8])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_length_is_kept_to_the_token(tiny: TinyModels, depth: int, n: int) -> None:
    """A draft must not carry an answer past its limit (drafts once counted twice elsewhere)."""
    with opened(tiny("llama")) as target:
        text = plain(target, PROMPT, 40)
        found = generate(target, oracle(text), [PROMPT], SAMPLED, depth=depth, lengths=[n])[0]
        assert found.finish == "length"
        assert found.tokens == text[: len(PROMPT) + n]


@pytest.mark.parametrize("hit_rate", [0.0, 1.0])
@pytest.mark.parametrize("depth", [0, 3, 8])
@pytest.mark.parametrize("target_name", ["llama", "gemma3"])
def test_full_context_ends_the_answer(
    tiny: TinyModels, target_name: str, depth: int, hit_rate: float
) -> None:
    """The context fills to its last token, with the reason said, and nothing aborts."""
    with opened(tiny(target_name), n_ctx=256) as target:
        text = plain(target, PROMPT, 1000)
        assert len(text) == 256
        found = generate(
            target, oracle(text, hit_rate), [PROMPT], SAMPLED, depth=depth, lengths=[1000]
        )[0]
        assert found.finish == "context"
        assert found.tokens == text


@pytest.mark.parametrize("depth", [0, 3, 8])
def test_nothing_follows_an_end_token(tiny: TinyModels, depth: int) -> None:
    """Drafts accepted behind an end-of-generation token would put text after the end."""
    with opened(tiny("llama")) as target:
        text = plain(target, PROMPT, 60)
        end = text[len(PROMPT) + 30]
        stop = text.index(end, len(PROMPT)) + 1
        found = generate(
            target,
            oracle(text),
            [PROMPT],
            SAMPLED,
            depth=depth,
            lengths=[60],
            ends=frozenset({end}),
        )[0]
        assert found.finish == "stop"
        assert found.tokens == text[:stop]


@pytest.mark.parametrize("target_name", ["llama", "gemma3", "gemma4", "mamba", "lfm2", "qwen35"])
def test_memory_is_reused_up_to_the_common_prefix(tiny: TinyModels, target_name: str) -> None:
    """A second turn that shares a prefix must give what a fresh start gives, for any memory kind.

    For the sliding windows the shared prefix lies beyond the window, where llama.cpp says the cells
    are there although they are gone.
    """
    follow_up = prompts(3)[2]
    with opened(tiny(target_name)) as target:
        engine = Engine(target, [], NoDraft(), NO_END)
        first = engine.open(PROMPT, Sampler(SAMPLED), 150)
        for _ in engine.stream(first):
            pass
        engine.close(first)
        for cut in (len(first.tokens), len(PROMPT) + 100, len(PROMPT), 5):
            prompt = first.tokens[:cut] + follow_up
            again = engine.open(prompt, Sampler(SAMPLED), 30)
            if target_name == "llama":
                assert again.n_cached == min(cut, len(first.tokens) - 1)
            for _ in engine.stream(again):
                pass
            engine.close(again)
            found = again.tokens
            with opened(tiny(target_name)) as fresh:
                assert plain(fresh, prompt, 30) == found


@pytest.mark.parametrize("kind", ["none", "lookup", "draft-model"])
@pytest.mark.parametrize("stop_after", [0, 1, 3, 9])
def test_stopping_leaves_the_engine_usable(tiny: TinyModels, kind: str, stop_after: int) -> None:
    """Closing the stream anywhere, then asking again, gives the text of an untouched engine."""
    path = tiny("gemma3")
    with opened(path) as target, opened(tiny("gemma3", Variant(eps=0.15))) as model:
        drafters: dict[str, list[Drafter]] = {
            "none": [],
            "lookup": [LookupDrafter()],
            "draft-model": [DraftModel(model, model.n_vocab)],
        }
        engine = Engine(target, drafters[kind], FixedDepth(4), NO_END)
        stopped = engine.open(PROMPT * 4, Sampler(SAMPLED), 100)
        stream = engine.stream(stopped)
        for _ in range(stop_after):
            next(stream)
        stream.close()
        engine.close(stopped, stopped.n_prompt + stopped.n_generated // 2)
        assert engine.active == []
        for prompt in (PROMPT * 4, PROMPT, stopped.tokens + PROMPT):
            sequence = engine.open(prompt, Sampler(SAMPLED), 60)
            for _ in engine.stream(sequence):
                pass
            engine.close(sequence)
            with opened(path) as fresh:
                assert sequence.tokens == plain(fresh, prompt, 60)


def test_sequences_join_and_leave(tiny: TinyModels) -> None:
    """One sequence reads a long prompt while others decode; each still writes its own text."""
    texts = prompts(5)
    with opened(tiny("llama"), n_seq_max=3) as target:
        alone = [plain(target, prompt, 50) for prompt in texts]
        engine = Engine(target, [LookupDrafter()], FixedDepth(5), NO_END)
        waiting = list(texts)
        running, done = [], []
        while waiting or running:
            if waiting and len(running) < 3:
                running.append(engine.open(waiting.pop(0), Sampler(SAMPLED), 50))
            engine.step()
            for sequence in [s for s in running if s.finish]:
                engine.close(sequence)
                running.remove(sequence)
                done.append(sequence.tokens)
        assert sorted(done) == sorted(alone)


def test_refuses_what_llama_cpp_would_abort_on(tiny: TinyModels) -> None:
    with opened(tiny("llama"), n_ctx=256) as target:
        engine = Engine(target, [], NoDraft(), NO_END)
        with pytest.raises(ValueError, match="no tokens"):
            engine.open([], Sampler(SAMPLED))
        with pytest.raises(ValueError, match="do not fit"):
            engine.open([1] * 256, Sampler(SAMPLED))
        engine.open([1, 2, 3], Sampler(SAMPLED))
        with pytest.raises(ValueError, match="in use"):
            engine.open([1, 2, 3], Sampler(SAMPLED))


@pytest.mark.parametrize("kind", ["draft-model", "scripted"])
def test_speculative_sampling_follows_the_targets_distribution(tiny: TinyModels, kind: str) -> None:
    """Chi-square of 20,000 tokens drawn in rounds with a draft against the target's own probabilities.

    Every draw continues the same prompt by two tokens under a seed of its own; the second is drawn
    in a round with a draft. Its distribution, given the first, must be the target's.
    """
    params = SamplingParams(temperature=1.5, top_k=6, top_p=1.0, min_p=0.0)
    prompt = PROMPT[:8]
    with (
        opened(tiny("llama"), n_ctx=256) as target,
        opened(tiny("llama", Variant(eps=0.1))) as near,
    ):
        drafter: Drafter = DraftModel(near, near.n_vocab)
        if kind == "scripted":
            # Always the same proposals, whatever the noise says.
            greedy = SamplingParams(temperature=0.0)
            text = generate(target, None, [prompt], greedy, lengths=[4])[0].tokens
            drafter = ScriptedDrafter({tuple(prompt): text}, 1.0)
        engine = Engine(target, [drafter], FixedDepth(2), NO_END)
        counts: dict[tuple[int, ...], int] = {}
        n_draws, n_kept, expected = 20_000, 0, {}
        for seed in range(n_draws):
            sequence = engine.open(prompt, Sampler(replace(params, seed=seed)), 4)
            for _ in engine.stream(sequence):
                pass
            engine.close(sequence)
            n_kept += sequence.stats.accepted
            for i in range(1, 4):
                key = (i, *sequence.tokens[len(prompt) : len(prompt) + i + 1])
                counts[key] = counts.get(key, 0) + 1
        assert n_kept > 0
        expected = exact_probabilities(target, prompt, Sampler(params))
    statistic, freedom = 0.0, 0
    for first, (p_first, second) in expected.items():
        for token, p in second.items():
            mean = n_draws * p_first * p
            if mean < 5:
                continue
            statistic += (counts.get((1, first, token), 0) - mean) ** 2 / mean
            freedom += 1
    # The 99.99 % quantile of chi-square by Wilson and Hilferty's approximation.
    limit = freedom * (1 - 2 / (9 * freedom) + 3.72 * np.sqrt(2 / (9 * freedom))) ** 3
    assert freedom >= 20
    assert statistic < limit


def exact_probabilities(
    target: LlamaContext, prompt: list[int], sampler: Sampler
) -> dict[int, tuple[float, dict[int, float]]]:
    """First token -> (its probability, second token -> probability), from the target's rows."""

    def row(tokens: list[int]) -> dict[int, float]:
        target.memory.drop(0)
        batch = Batch()
        batch.add(tokens, 0, 0, 1)
        found = sampler.candidates(target.decode(batch)[0], 0, [])
        return dict(zip(found.ids.tolist(), found.probabilities.tolist(), strict=True))

    return {first: (p, row([*prompt, first])) for first, p in row(prompt).items()}


def test_nothing_drafted_is_compared_with_nothing() -> None:
    """Without a draft the rate is the plain rate, and a ratio of the two would be noise or load."""
    stats = SequenceStats()
    for seconds in (0.1, 0.1, 0.1, 0.9):
        stats.add_round(1, 0, 0, 0)
        stats.add_time(seconds, 1, plain=True)
    assert stats.plain_tokens_per_s == pytest.approx(10.0)
    assert stats.times_plain is None
    stats.add_round(4, 3, 3, 3)
    stats.add_time(0.2, 4, plain=False)
    # eight tokens in four plain rounds of 0.1 s and one of 0.2 s: the stall of 0.9 s is nobody's doing
    assert stats.times_plain == pytest.approx(8 / 0.6 / 10.0)


def test_drafts_that_brought_nothing_are_no_gain() -> None:
    """Plain rounds of unlike length must not turn a loss into a gain."""
    stats = SequenceStats()
    for seconds in (0.1, 0.3, 0.3, 0.05, 0.3):
        stats.add_round(1, 0, 0, 0)
        stats.add_time(seconds, 1, plain=True)
    stats.add_round(1, 2, 1, 0)
    stats.add_time(0.35, 1, plain=False)
    assert stats.times_plain is not None
    assert stats.times_plain < 1.0
