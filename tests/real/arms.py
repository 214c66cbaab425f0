"""One prompt written by several drafters on the same weights, and where the texts part."""

from dataclasses import dataclass

import numpy as np

from localspec.batch import Batch
from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft
from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence, common_prefix
from localspec.messages import Message
from localspec.params import SamplingParams
from localspec.runtime import Runtime
from tests.engine.branching import AlwaysBranching

ARMS = ("draft-model", "lookup", "branch")


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a text left the plain one.

    Attributes:
        position: index of the first differing token of the answer.
        gap: difference of the two best scores (logit + noise) there, in the plain pass.
    """

    position: int
    gap: float


def prompt_tokens(runtime: Runtime, text: str) -> list[int]:
    """The prompt in the model's own template."""
    template, _ = runtime.chat()
    prompt = template.render([Message("user", text)])
    add_bos = not template.starts_with_bos(prompt)
    return runtime.vocab.tokenize(prompt, add_bos=add_bos, parse_special=True)


def write(
    runtime: Runtime, arm: str, prompt: list[int], params: SamplingParams, n: int
) -> Sequence:
    """The answer of one arm, from an empty memory."""
    target = runtime.engine.target
    target.memory.drop(0)
    drafters: list[Drafter]
    policy: DepthPolicy = FixedDepth(min(4, runtime.max_depth))
    match arm:
        case "plain":
            drafters, policy = [], NoDraft()
        case "draft-model":
            drafters = [runtime.drafters["draft-model"]]
        case "branch":
            drafters = [runtime.drafters["draft-model"]]
            policy = AlwaysBranching(min(4, runtime.max_depth - 1))
        case _:
            drafters = [LookupDrafter()]
    engine = Engine(target, drafters, policy, runtime.vocab.ends)
    sequence = engine.open(prompt, Sampler(params), n)
    for _ in engine.stream(sequence):
        pass
    engine.close(sequence)
    return sequence


def divergence(
    runtime: Runtime, plain: Sequence, other: Sequence, params: SamplingParams
) -> Divergence | None:
    """Where `other` left `plain`; None if it never did."""
    if plain.tokens == other.tokens:
        return None
    n = common_prefix(plain.tokens, other.tokens)
    target = runtime.engine.target
    target.memory.drop(0)
    rows: np.ndarray = np.empty((0, 0))
    for start in range(0, plain.n_prompt, target.n_batch):
        batch = Batch()
        batch.add(plain.tokens[start : min(start + target.n_batch, plain.n_prompt)], start, 0, 1)
        rows = target.decode(batch)
    for position in range(plain.n_prompt, n):
        batch = Batch()
        batch.add([plain.tokens[position]], position, 0, 1)
        rows = target.decode(batch)
    sampler = Sampler(params)
    scores = sampler.candidates(rows[0], n, sampler.window(plain.tokens[:n], [])).scores
    first, second = np.sort(scores)[:-3:-1] if len(scores) > 1 else (0.0, -np.inf)
    return Divergence(n - plain.n_prompt, float(first - second))
