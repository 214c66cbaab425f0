"""Picking tokens: the same survivors as llama.cpp's own samplers, and the right distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.engine.candidates import most_likely
from localspec.engine.noise import gumbel
from localspec.engine.sampling import Sampler
from localspec.engine.shortlist import pick_near
from localspec.errors import LocalspecError
from localspec.params import SamplingParams
from tests.engine.reference import llama_cpp_distribution


def row_of(n: int, seed: int, spread: float = 3.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(n) * spread).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 9000), k=st.integers(0, 200), seed=st.integers(0, 99), ties=st.booleans())
def test_most_likely_is_a_stable_sort(n: int, k: int, seed: int, ties: bool) -> None:
    """The short cut over column maxima must not lose a candidate, nor reorder equal ones."""
    row = row_of(n, seed)
    if ties:
        row = np.round(row)
    expected = np.argsort(-row, kind="stable")[: k or None]
    assert most_likely(row, k).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=0.8),
        SamplingParams(temperature=1.3, top_k=5, top_p=1.0, min_p=0.0),
        SamplingParams(temperature=1.0, top_k=0, top_p=0.7, min_p=0.0),
        SamplingParams(temperature=1.0, top_k=0, top_p=0.99, min_p=0.0),
        SamplingParams(temperature=0.6, top_k=0, top_p=1.0, min_p=0.1),
        SamplingParams(temperature=0.6, top_k=0, top_p=1.0, min_p=0.0),
        SamplingParams(temperature=0.7, repeat_penalty=1.2),
        SamplingParams(temperature=0.7, top_k=0, presence_penalty=0.9, frequency_penalty=0.4),
        SamplingParams(temperature=1.0, repeat_penalty=1.3, penalty_window=5, min_p=0.2),
    ],
)
@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_distribution_is_llama_cpps(params: SamplingParams, spread: float) -> None:
    """Users compare with llama.cpp: same survivors, same probabilities, same order of samplers."""
    for seed in range(5):
        row = row_of(5000, seed, spread)
        window = np.random.default_rng(seed).integers(0, 5000, 64).tolist()
        window += np.argsort(-row)[:10].tolist()
        sampler = Sampler(params)
        found = sampler.candidates(row, 7, sampler.window(window, []))
        expected = llama_cpp_distribution(row, params, window)
        assert set(found.ids.tolist()) == set(expected)
        for token, p in zip(found.ids.tolist(), found.probabilities.tolist(), strict=True):
            assert p == pytest.approx(expected[token], rel=1e-4, abs=1e-9)


def test_pick_is_the_best_candidate() -> None:
    """`pick`, `token` and `candidates` must never disagree: one verifies, one drafts, one explains."""
    for params in (SamplingParams(temperature=0.0), SamplingParams(), SamplingParams(top_k=0)):
        sampler = Sampler(params)
        for position in range(50):
            row = row_of(3000, position)
            found = sampler.candidates(row, position, [])
            best = int(found.ids[found.scores.argmax()])
            assert sampler.token(row, position, []) == best
            assert sampler.pick(row, position, []).token == best


def test_suppressed_tokens_are_never_picked() -> None:
    row = row_of(100, 1)
    best = int(row.argmax())
    assert Sampler(SamplingParams(temperature=0.0), [best]).token(row, 0, []) != best
    assert row[best] == row.max(), "the model's own buffer must stay as it is"


def test_noise_is_gumbel_and_independent() -> None:
    """Mean, variance and correlations of the noise, over ids, positions and seeds."""
    ids = np.arange(200_000)
    a = gumbel(1, 5, ids)
    assert a.mean() == pytest.approx(np.euler_gamma, abs=0.01)
    assert a.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
    for other in (gumbel(2, 5, ids), gumbel(1, 6, ids), np.roll(a, 1)):
        assert abs(np.corrcoef(a, other)[0, 1]) < 0.01
    positions = np.array([gumbel(3, i, np.array([42]))[0] for i in range(20_000)])
    assert positions.mean() == pytest.approx(np.euler_gamma, abs=0.04)
    assert np.array_equal(gumbel(2**64 + 1, 5, ids[:9]), a[:9])


def test_extreme_rows_do_not_break_the_pick() -> None:
    """Infinities and equal logits come out of real models (masked vocabularies)."""
    row = np.full(1000, -np.inf, np.float32)
    row[17] = 3.0
    for params in (SamplingParams(temperature=0.0), SamplingParams(), SamplingParams(top_k=0)):
        assert Sampler(params).token(row, 3, []) == 17
    flat = np.zeros(1000, np.float32)
    assert 0 <= Sampler(SamplingParams(top_k=0, top_p=1.0, min_p=0.0)).token(flat, 3, []) < 1000


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.sampled_from([3, 40, 5000]),
    spread=st.sampled_from([0.1, 1.0, 3.0, 6.0, 12.0]),
    temperature=st.sampled_from([0.0, 0.3, 0.8, 1.5]),
    top_k=st.sampled_from([0, 1, 2, 20, 40]),
    top_p=st.sampled_from([0.3, 0.8, 0.95, 0.999, 1.0]),
    min_p=st.sampled_from([0.0, 0.0001, 0.05, 0.4]),
    ties=st.booleans(),
)
def test_the_short_cut_picks_what_the_definition_does(
    seed: int, n: int, spread: float, ties: bool, **given_params: float
) -> None:
    """The everyday pick looks at a few tokens only; where more could matter it must say so."""
    row = row_of(n, seed, spread)
    row = np.round(row) if ties else row
    params = SamplingParams(seed=seed, **given_params)
    found = pick_near(row, params, seed)
    if found is not None:
        definition = Sampler(params).candidates(row, seed, []).pick()
        assert found.token == definition.token
        assert found.probability == pytest.approx(definition.probability, rel=1e-9)


def test_the_short_cut_is_taken_on_everyday_rows() -> None:
    """It is worth its lines only if it answers nearly always, for the defaults of most models."""
    for params in (
        SamplingParams(temperature=0.0),
        SamplingParams(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05),
        SamplingParams(temperature=0.7, top_k=20, top_p=0.8, min_p=0.0),
        SamplingParams(temperature=1.0, top_k=64, top_p=0.95, min_p=0.0),
    ):
        rows = [row_of(50_000, seed, 1.0) for seed in range(60)]
        for seed, row in enumerate(rows):
            row[seed : seed + 6] = [14.0, 13.0, 12.0, 10.0, 9.0, 7.0]
        taken = sum(pick_near(row, params, 5) is not None for row in rows)
        assert taken >= 55, params


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("top_k", [0, 40])
def test_a_row_that_is_not_numbers_is_an_error(temperature: float, top_k: int) -> None:
    """A damaged tensor gives NaN, of which any pick would be made up."""
    row = row_of(500, 1)
    row[7] = np.nan
    sampler = Sampler(SamplingParams(temperature=temperature, top_k=top_k))
    for pick in (sampler.pick, sampler.token, sampler.candidates):
        with pytest.raises(LocalspecError, match="not numbers"):
            pick(row, 0, [])


def test_the_short_cut_sees_that_many_small_tokens_weigh_something() -> None:
    """5,000 tokens just out of sight weigh more than the two in sight: top-p must count them."""
    row = np.full(5000, -8.1, np.float32)
    row[[3, 9]] = [0.0, -1.0]
    params = SamplingParams(temperature=0.8, top_k=0, top_p=0.9, min_p=0.0)
    assert len(Sampler(params).candidates(row, 0, []).ids) > 2
    assert pick_near(row, params, 0) is None
