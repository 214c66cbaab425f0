"""The engine: one `step` for all running sequences, each with a draft of its own length.

Read this file first. A step drafts, lays one batch, runs one target pass, walks its rows and rolls
memory back to what stays. Reading a prompt is a step too: its pending tokens are simply many.
The engine knows token ids only; `session.py` turns them into text.
"""

from collections.abc import Iterator
from collections.abc import Sequence as ListLike
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from localspec.batch import Batch
from localspec.engine.backend import Model
from localspec.engine.constraint import Constraint
from localspec.engine.depth import DepthPolicy, Outcome, Verdicts
from localspec.engine.drafters.base import Draft, Drafter
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence, common_prefix
from localspec.engine.verify import Verdict, verify

_NOTHING = 0.01
"""Drafting below this part of a round's time does not count."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one step did for one sequence.

    Attributes:
        sequence: the sequence, already updated.
        tokens: new tokens, in order; empty while the prompt is being read.
        n_accepted: how many of them, from the first on, came from the draft.
        draft: what was proposed; its tokens are those that were verified.
        draft_s: seconds spent drafting, for all sequences of the step.
        verify_s: seconds of the target's pass and the walk over its rows.
    """

    sequence: Sequence
    tokens: list[int]
    n_accepted: int
    draft: Draft
    draft_s: float
    verify_s: float


@dataclass(slots=True)
class _Span:
    """The rows of one sequence in a batch: `n_pending` known tokens, then the draft, then its branch."""

    draft: Draft
    n_pending: int
    first_output: int
    reaches_end: bool


@dataclass(slots=True)
class _Slot:
    """A place in the target's memory: the tokens it holds, and who uses it."""

    held: list[int] = field(default_factory=list)
    sequence: Sequence | None = None


class Engine:
    """Runs sequences on a target with one drafter or several.

    Args:
        target: the model whose text this is.
        drafters: propose, the cheapest first; see `drafters/`.
        depth: decides draft lengths.
        ends: end-of-generation tokens.
    """

    def __init__(
        self,
        target: Model,
        drafters: ListLike[Drafter],
        depth: DepthPolicy,
        ends: frozenset[int],
    ) -> None:
        self.target = target
        self.drafters = list(drafters)
        self.depth = depth
        self.ends = ends
        self._slots = [_Slot() for _ in range(target.n_seq_max)]

    @property
    def active(self) -> list[Sequence]:
        """Sequences that are open and not finished, in the order of their seq_id."""
        running = (slot.sequence for slot in self._slots)
        return [s for s in running if s is not None and s.finish is None]

    def open(
        self,
        prompt: list[int],
        sampler: Sampler,
        max_tokens: int | None = None,
        constraint: Constraint | None = None,
    ) -> Sequence:
        """Start a sequence on the free slot that remembers most of the prompt.

        Raises:
            ValueError: empty prompt, a prompt that leaves no room for an answer, or no free slot.
        """
        if not prompt:
            raise ValueError("the prompt has no tokens")
        if len(prompt) >= self.target.n_ctx:
            raise ValueError(f"{len(prompt)} tokens do not fit into {self.target.n_ctx}")
        free = [i for i, slot in enumerate(self._slots) if slot.sequence is None]
        if not free:
            raise ValueError("all sequences are in use")
        seq_id = max(free, key=lambda i: common_prefix(self._slots[i].held, prompt))
        slot = self._slots[seq_id]
        # The last token is always decoded again: its row of logits is gone.
        shared = min(common_prefix(slot.held, prompt), len(prompt) - 1)
        n_past = shared - self.target.memory.keep(seq_id, shared)
        sequence = Sequence(
            seq_id, list(prompt), sampler, max_tokens, len(prompt), n_past, n_past, constraint
        )
        slot.sequence, slot.held = sequence, prompt[:n_past]
        if max_tokens is not None and max_tokens <= 0:
            sequence.finish = "length"
        for drafter in self.drafters:
            drafter.begin(sequence)
        return sequence

    def close(self, sequence: Sequence, n_keep: int | None = None) -> None:
        """Give a sequence's slot back; its tokens stay in memory for the next prompt that shares them.

        Args:
            sequence: an open sequence, finished or not.
            n_keep: tokens to keep if the text ends earlier than the ids do (a stop string).
        """
        slot = self._slots[sequence.seq_id]
        if slot.sequence is not sequence:
            return
        if n_keep is not None:
            del sequence.tokens[n_keep:]
        n_past = min(sequence.n_past, len(sequence.tokens) - 1)
        slot.held, slot.sequence = sequence.tokens[:n_past], None
        for drafter in self.drafters:
            drafter.end(sequence)

    def forget(self) -> None:
        """Drop what is remembered of texts that are over, so that the next prompt is read afresh."""
        for seq_id, slot in enumerate(self._slots):
            if slot.sequence is None and slot.held:
                self.target.memory.drop(seq_id)
                slot.held = []

    def stream(self, sequence: Sequence) -> Iterator[Round]:
        """Step until one sequence is finished, yielding its rounds."""
        while sequence.finish is None:
            for done in self.step():
                if done.sequence is sequence:
                    yield done

    def step(self) -> list[Round]:
        """One round for every active sequence."""
        started = perf_counter()
        active = self.active
        # 1) plan and draft, level by level: after each, the policy says which drafts grow on, and
        #    in the end how much of each is worth verifying
        drafts = self._draft(active)
        drafted = perf_counter()
        # 2) one batch for all, one target pass
        batch, spans = self._lay_out(drafts)
        rows = self.target.decode(batch)
        for drafter in self.drafters:
            drafter.process(batch)
        # 3) walk the rows, 4) roll memory back to what stays, 5) tell drafters and policy
        verdicts = [self._settle(span, rows) for span in spans]
        done = perf_counter()
        draft_s, verify_s = drafted - started, done - drafted
        self._observe(spans, verdicts, len(batch), draft_s, verify_s)
        return [
            Round(v.draft.sequence, tokens, v.n_accepted, v.draft, draft_s, verify_s)
            for tokens, v in verdicts
        ]

    def _draft(self, active: list[Sequence]) -> list[Draft]:
        limits = self._limits(active, self.depth.max_depth)
        drafts = [Draft(s, limit) for s, limit in zip(active, limits, strict=True)]
        self.depth.plan(drafts)
        for i, drafter in enumerate(self.drafters):
            asked = [
                d for d in drafts if d.limit > 0 and not d.tokens and self.depth.starts(d, drafter)
            ]
            for d in asked:
                d.kind = drafter.kind
            self._grow(drafter, asked)
            for other in self.drafters[i + 1 : i + 2]:
                for j, d in enumerate(drafts):
                    if d.tokens and d in asked and not self.depth.prefers(d, other):
                        drafts[j] = Draft(d.sequence, d.limit)
        for d, n_worth in zip(drafts, self.depth.allot(drafts), strict=True):
            d.cut(n_worth)
        if self.target.branches and not any(d.reads_states for d in self.drafters):
            self._branch(drafts)
        return drafts

    def _branch(self, drafts: list[Draft]) -> None:
        """Choose branches, as far as the pass has rows for them."""
        n_rows = sum(d.sequence.n_pending + len(d.tokens) for d in drafts)
        room = min(self.target.n_batch, self.target.n_outputs_max) - n_rows
        for d, i in zip(drafts, self.depth.branches(drafts), strict=True):
            # exact numerics bound the rows of a pass by the depth of a draft
            fits = room > 0 and len(d.tokens) < self.depth.max_depth
            if i is not None and fits and d.runners_up[i][0] >= 0:
                d.branch, room = i, room - 1

    def _grow(self, drafter: Drafter, growing: list[Draft]) -> None:
        """Let drafts grow level by level, as long as the policy wants more of each."""
        n_behind = sum(drafter.n_behind(d.sequence) for d in growing)
        while growing:
            started = perf_counter()
            grown = drafter.draft(growing)
            self.depth.drafted(drafter, len(growing), n_behind, perf_counter() - started)
            if drafter.at_once:
                for d in grown:
                    d.obey()
                break
            growing = [
                d
                for d in grown
                if len(d.tokens) < d.limit and d.tokens[-1] not in self.ends and self.depth.more(d)
            ]
            n_behind = len(growing)

    def _limits(self, active: list[Sequence], depth: int) -> list[int]:
        """Most draft tokens for each sequence: none while it reads its prompt, and never past what
        the answer, the context or the pass has room for, so that the text ends at the same token
        with and without a draft."""
        decoding = sum(not s.prefilling for s in active)
        spare = min(self.target.n_batch, self.target.n_outputs_max) - len(active)
        share = max(spare, 0) // max(decoding, 1)
        limits = []
        for s in active:
            room = self.target.n_ctx - len(s.tokens) - 1
            left = room if s.max_tokens is None else s.max_tokens - s.n_generated - 1
            # What memory had to forget is read again first, in the rows that a draft would have.
            again = s.n_pending - 1
            most = min(depth - again, share - again, room, left)
            limits.append(0 if s.prefilling else max(0, most))
        return limits

    def _lay_out(self, drafts: list[Draft]) -> tuple[Batch, list[_Span]]:
        batch = Batch()
        spans: list[_Span] = []
        n_outputs = 0
        room = self.target.n_batch
        # Answers first, so that a long prompt beside them fills what is left of the pass.
        for draft in sorted(drafts, key=lambda d: d.sequence.prefilling):
            s = draft.sequence
            pending = s.tokens[s.n_past : s.n_past + room - len(batch) - len(draft.tokens)]
            if not pending:
                continue
            reaches_end = s.n_past + len(pending) == len(s.tokens)
            if not reaches_end:
                draft.cut(0)
            wanted = len(draft.tokens) + 1 if reaches_end else 0
            batch.add(pending + draft.tokens, s.n_past, s.seq_id, wanted)
            span = _Span(draft, len(pending), n_outputs, reaches_end)
            spans.append(span)
            n_outputs += wanted
            if draft.tokens:
                self.target.memory.mark(s.seq_id)
            if draft.branch is not None:
                self._lay_branch(batch, span, draft.branch)
                n_outputs += 1
        return batch, spans

    def _lay_branch(self, batch: Batch, span: _Span, index: int) -> None:
        """A row for the other token at a place of a draft: a sequence that shares all before it."""
        s, other = span.draft.sequence, self._branch_id(span.draft)
        self.target.memory.fork(s.seq_id, other)
        first = len(batch) - span.n_pending - len(span.draft.tokens)
        n_shared = span.n_pending + index
        batch.shared |= dict.fromkeys(range(first, first + n_shared), other)
        batch.add([span.draft.alternative], s.n_past + n_shared, other, 1)

    def _branch_id(self, draft: Draft) -> int:
        return self.target.n_seq_max + draft.sequence.seq_id

    def _settle(self, span: _Span, rows: NDArray[np.float32]) -> tuple[list[int], Verdicts]:
        """Decide one sequence's round; returns its new tokens and what became of the draft."""
        s, draft = span.draft.sequence, span.draft
        if not span.reaches_end:
            s.n_past += span.n_pending
            return [], Verdicts(draft, 0, 0, [])
        own = rows[span.first_output : span.first_output + len(draft.tokens) + 1]
        verdict = verify(own, draft.tokens, s.sampler, s.tokens, self.ends, s.constraint)
        s.extend(verdict.tokens)
        s.n_past = len(s.tokens) - 1
        if len(verdict.tokens) <= len(draft.tokens):
            s.n_past -= self.target.memory.keep(s.seq_id, s.n_past)
        self._finish(s)
        if draft.branch is not None:
            self._settle_branch(draft, verdict, rows[span.first_output + len(draft.tokens) + 1])
        for drafter in self.drafters:
            drafter.accept(draft, verdict.n_accepted)
        return verdict.tokens, Verdicts(draft, verdict.n_tested, verdict.n_accepted, verdict.tokens)

    def _settle_branch(self, draft: Draft, verdict: Verdict, row: NDArray[np.float32]) -> None:
        """Where the draft was refused for the branch, the token after that is known too.

        The branch's own place in memory is given up all the same and its token read again: in the place
        where plain decoding would have put it, sums come out the same to the last bit.
        """
        s = draft.sequence
        self.target.memory.drop(self._branch_id(draft))
        refused_for_it = verdict.n_accepted == draft.branch and s.tokens[-1] == draft.alternative
        if refused_for_it and s.finish is None:
            draft.hit = True
            window = s.sampler.window(s.tokens, [])
            place = s.constraint.at([]) if s.constraint else None
            verdict.tokens.append(s.sampler.token(row, len(s.tokens), window, place))
            s.extend(verdict.tokens[-1:])
            self._finish(s)

    def _finish(self, s: Sequence) -> None:
        if s.tokens[-1] in self.ends:
            s.finish = "stop"
        elif s.max_tokens is not None and s.n_generated >= s.max_tokens:
            s.finish = "length"
        elif len(s.tokens) >= self.target.n_ctx:
            s.finish = "context"

    def _observe(
        self,
        spans: list[_Span],
        rounds: list[tuple[list[int], Verdicts]],
        n_rows: int,
        draft_s: float,
        verify_s: float,
    ) -> None:
        """Book a step: its time belongs to every sequence in it, for each waited that long."""
        reading = False
        seconds = draft_s + verify_s
        for span, (tokens, verdict) in zip(spans, rounds, strict=True):
            s, n_drafted = span.draft.sequence, len(span.draft.tokens)
            if not span.reaches_end or s.n_generated == len(tokens):
                s.stats.prefill_s += seconds
                reading = True
                continue
            s.stats.add_round(len(tokens), n_drafted, verdict.n_tested, verdict.n_accepted)
            # A draft of which nothing was worth verifying has cost time that plain decoding has not.
            plain = n_drafted == 0 and len(spans) == 1 and draft_s < _NOTHING * seconds
            s.stats.add_time(seconds, len(tokens), plain=plain)
        if reading:
            self.depth.prefilled(n_rows, verify_s)
        else:
            n_cells = sum(len(span.draft.sequence.tokens) for span in spans)
            self.depth.observe(Outcome(n_rows, n_cells, verify_s, [v for _, v in rounds]))
