"""What a drafter would have proposed at each place of a recorded answer.

Noise is shared (`engine/noise.py`), so a drafter model's proposal after the true text is the same
whatever the round and the depth it was made at: the rounds of a trace, put together, tell it for
nearly every place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.bench.trace import RecordedPrompt
from localspec.engine.sequence import common_prefix

DEPTH = 16
"""Most tokens of a draft, for policies that do not fix it, and for the oracle."""

LOOKUP = "lookup"
"""The drafter that needs no recording: what it proposes follows from the text."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One token that a drafter proposed, and its confidence 0..1."""

    token: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer and the drafter model's proposals for it.

    Attributes:
        prompt_id: which prompt.
        prompt_class: its class.
        temperature: of the recording.
        prompt_tokens: ids of the prompt.
        tokens: ids of the answer.
        kind: the drafter model's kind, "" if none proposed anything.
        proposals: for each place of the answer what was proposed after the true text before it;
            None where nobody did.
        tails: for places where that was wrong, what was proposed after it.
    """

    prompt_id: str
    prompt_class: str
    temperature: float
    prompt_tokens: list[int]
    tokens: list[int]
    kind: str
    proposals: list[Proposal | None]
    tails: dict[int, list[Proposal]]

    def right(self, place: int) -> bool:
        """True if the proposal for this place was right."""
        proposal = self.proposals[place]
        return proposal is not None and proposal.token == self.tokens[place]

    def n_right(self, place: int, limit: int) -> int:
        """How many proposals from this place on are right, up to `limit`."""
        n = 0
        while n < limit and place + n < len(self.tokens) and self.right(place + n):
            n += 1
        return n

    @property
    def acceptance(self) -> float | None:
        """Right proposals / known ones, 0..1; None if nothing is known."""
        known = [i for i, proposal in enumerate(self.proposals) if proposal is not None]
        return sum(self.right(i) for i in known) / len(known) if known else None

    @property
    def coverage(self) -> float:
        """Part of the places after the first with a known proposal, 0..1."""
        return sum(p is not None for p in self.proposals[1:]) / max(len(self.tokens) - 1, 1)

    def after(self, place: int, drafted: Sequence[int]) -> Proposal | None:
        """The next proposal of a draft that begins at `place`; None if it is not known.

        After a wrong proposal it matters only what the drafter's confidence looks like; where that
        was not recorded, it is taken from the same place of the true text.
        """
        here = place + len(drafted)
        n_right = common_prefix(list(drafted), self.tokens[place:here])
        known = self.proposals[here] if here < len(self.proposals) else None
        if n_right == len(drafted):
            return known
        tail = self.tails.get(place + n_right, [])
        into = len(drafted) - n_right - 1
        return tail[into] if into < len(tail) else known


def recall(prompts: Iterable[RecordedPrompt]) -> list[Answer]:
    """The answers of one trace, one for each prompt, in the order they first came.

    A prompt that was answered several times, by several arms, is put together from all of them as far
    as their texts agree with the longest.
    """
    by_prompt: dict[str, list[RecordedPrompt]] = {}
    for prompt in prompts:
        by_prompt.setdefault(prompt.prompt_id, []).append(prompt)
    return [_together(same) for same in by_prompt.values()]


def _together(same: list[RecordedPrompt]) -> Answer:
    longest = max(same, key=lambda prompt: len(prompt.answer))
    tokens = longest.answer
    kinds = [r.drafter for p in same for r in p.rounds if r.proposals and r.drafter != LOOKUP]
    answer = Answer(
        longest.prompt_id,
        longest.prompt_class,
        longest.temperature,
        longest.prompt_tokens,
        tokens,
        max(set(kinds), key=kinds.count) if kinds else "",
        [None] * len(tokens),
        {},
    )
    for prompt in same:
        if prompt.prompt_tokens == longest.prompt_tokens:
            _take(answer, prompt)
    return answer


def _take(answer: Answer, prompt: RecordedPrompt) -> None:
    agreed = common_prefix(prompt.answer, answer.tokens)
    for done in prompt.rounds:
        start = done.position - len(prompt.prompt_tokens)
        if start > agreed or done.drafter != answer.kind:
            continue
        made = [
            Proposal(token, confidence)
            for token, confidence in zip(done.proposals, done.confidences, strict=True)
        ]
        for i, proposal in enumerate(made):
            place = start + i
            if place >= len(answer.tokens):
                break
            answer.proposals[place] = proposal
            if proposal.token != answer.tokens[place]:
                if len(made) - i - 1 > len(answer.tails.get(place, [])):
                    answer.tails[place] = made[i + 1 :]
                break
