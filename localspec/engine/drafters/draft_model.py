"""A small model of the same vocabulary drafts (Leviathan et al. 2023).

It keeps its memory across rounds: what was drafted and accepted is never evaluated again, only the
one or two tokens it has not seen yet are. Proposals are drawn with the target's sampler and noise.
"""

from localspec.batch import Batch
from localspec.engine.backend import Model
from localspec.engine.drafters.base import Draft
from localspec.engine.sequence import Sequence, common_prefix


class DraftModel:
    """Drafts with a model of its own, all sequences of a level in one pass.

    Args:
        model: the drafter's model; its vocabulary must match the target's (`store/pairing.py`).
        n_vocab: size of the target's vocabulary; ids beyond it are never proposed.
        relative_cost: see `Drafter`.
    """

    kind = "draft-model"
    at_once = False
    reads_states = False

    def __init__(self, model: Model, n_vocab: int, relative_cost: float = 0.3) -> None:
        self._model = model
        self.relative_cost = relative_cost
        self._n_vocab = n_vocab
        self._held: dict[int, list[int]] = {}

    def begin(self, sequence: Sequence) -> None:
        """Keep what the last text in this place has in common with the new one.

        The rest is read when the first draft is asked for, so plain rounds never pay for it.
        """
        held = self._held.get(sequence.seq_id, [])
        n = common_prefix(held, sequence.tokens)
        # The last token is always read again: its row of logits is gone.
        self._keep(sequence.seq_id, min(n, len(sequence.tokens) - 1))

    def n_behind(self, sequence: Sequence) -> int:
        """What was said and accepted since it last drafted, and the token that goes before its draft."""
        return len(sequence.tokens) - len(self._held.get(sequence.seq_id, []))

    def process(self, batch: Batch) -> None:
        """Nothing: it reads the text alone."""

    def draft(self, drafts: list[Draft]) -> list[Draft]:
        """One more proposal for each draft, from one pass (several while catching up)."""
        ready: list[Draft] = []
        while len(ready) < len(drafts):
            batch = Batch()
            rows: list[Draft] = []
            for d in drafts:
                if d in ready:
                    continue
                if self._feed(batch, d):
                    rows.append(d)
            logits = self._model.decode(batch)
            for d, row in zip(rows, logits, strict=True):
                d.propose_from(row[: self._n_vocab])
            ready += rows
        return drafts

    def accept(self, draft: Draft, n_accepted: int) -> None:
        """Forget the proposals that were refused."""
        s = draft.sequence
        # What the target wrote itself is new, even where it equals a proposal that was not verified.
        n_own = 2 if draft.hit else 1
        n_valid = len(s.tokens) - n_own
        if len(self._held.get(s.seq_id, [])) > n_valid:
            self._keep(s.seq_id, n_valid)

    def end(self, sequence: Sequence) -> None:
        """Nothing to do: what is held serves the next text that starts alike."""

    def _feed(self, batch: Batch, draft: Draft) -> bool:
        """Add what the model has not seen of one sequence; True if that reaches its end."""
        s = draft.sequence
        held = self._held.setdefault(s.seq_id, [])
        n_known = len(s.tokens)
        missing = s.tokens[len(held) :] + draft.tokens[max(0, len(held) - n_known) :]
        if len(held) == n_known:
            # what follows are proposals, which may be taken back
            self._model.memory.mark(s.seq_id)
        chunk = missing[: self._model.n_batch - len(batch)]
        complete = len(chunk) == len(missing)
        if chunk:
            batch.add(chunk, len(held), s.seq_id, int(complete))
            held += chunk
        return complete and bool(chunk)

    def _keep(self, seq_id: int, n: int) -> None:
        held = self._held.setdefault(seq_id, [])
        again = self._model.memory.keep(seq_id, n)
        del held[n - again :]
