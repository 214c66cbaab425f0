"""Parameters as plain values; what they mean is the business of the room that reads them."""

from dataclasses import dataclass
from typing import Literal

Numerics = Literal["exact", "fast"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a token is chosen from the target's distribution.

    The order is llama.cpp's: penalties, top-k, top-p, min-p, then temperature.

    Attributes:
        temperature: 0 picks the most likely token; above 0 flattens the distribution.
        top_k: keep the k most likely tokens; 0 keeps all.
        top_p: keep the smallest set of most likely tokens with this probability; 1 keeps all.
        min_p: keep tokens at least this fraction as likely as the most likely one; 0 keeps all.
        repeat_penalty: divides positive (multiplies negative) logits of recent tokens; 1 is off.
        presence_penalty: subtracted once from the logit of each recent token; 0 is off.
        frequency_penalty: subtracted from a logit per recent occurrence; 0 is off.
        penalty_window: number of most recent tokens the penalties look at.
        seed: with the position and the token, it fixes the noise of every choice.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    seed: int = 0


@dataclass(frozen=True, slots=True)
class DepthParams:
    """How deep to draft.

    Attributes:
        depth: fixed number of draft tokens a round; None lets measured costs decide.
        max_depth: upper bound of a draft, in tokens.
        threshold: draft on while the drafter's probability is at least this; None leaves it to `depth`.
    """

    depth: int | None = None
    max_depth: int = 16
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Threads:
    """CPU threads of a pass; the best number is not the same for all of them.

    Attributes:
        decode: where it has one token.
        verify: where it has several: a draft, or a prompt.
    """

    decode: int
    verify: int
