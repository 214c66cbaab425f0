"""The longest earlier match of a text's own end, kept up to date token by token.

A suffix tree grown online (Ukkonen, "On-line construction of suffix trees", Algorithmica 14, 1995):
its active point *is* the longest suffix that occurred before, of any length. Which occurrence was
the most recent is noted in the tree only when somebody asks (`_note_leaves`). Knows token ids only;
what a match is worth and what is proposed after it is the look-up drafter's business.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

_STRIDE = (1 << 24) + 43
"""Edge key = node * _STRIDE + token. Above every vocabulary; odd, or the keys of few-token texts
would all share their low bits, which a dict takes for its hash."""

_ROOT = 0
_AT_NODE = -1
"""`_end` while the active point is at a node; otherwise it lies inside the edge to `_child`."""

_OPEN = -2
"""`_end` of an edge to a leaf: it runs to the end of the text, so nobody gets there."""


@dataclass(frozen=True, slots=True)
class Match:
    """The longest suffix of a text that also occurs earlier in it, overlap allowed.

    Attributes:
        length: its tokens, at least 1.
        follow: index in the text of the token after its most recent earlier occurrence.
    """

    length: int
    follow: int


class SuffixIndex:
    """A growing text and its longest earlier match; about two microseconds a token.

    Nodes are numbered from 0 (the root). A child is a node, or `~start` for the leaf of the
    suffix that begins at `start`. Leaves come into being in the order of their starts.

    Attributes:
        tokens: the text so far, ids in 0 .. 2**24 - 1. Grow it with `extend` only.
    """

    __slots__ = (
        "_at",
        "_child",
        "_depth",
        "_edges",
        "_end",
        "_holders",
        "_latest",
        "_link",
        "_node",
        "_parent",
        "_start",
        "tokens",
    )

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._edges: dict[int, int] = {}
        # One entry a node: tokens from the root to it, its suffix link, its parent, and the start
        # of an occurrence of it (the most recent one, once all leaves are noted).
        self._depth = array("i", [0])
        self._link = array("i", [_ROOT])
        self._parent = array("i", [_ROOT])
        self._latest = array("i", [-1])
        # For each leaf not yet noted in `_latest`, the last ones made: the node it was hung on.
        self._holders: list[int] = []
        # The active point: the suffix from `_start` on. `_node` is the last node on its way down;
        # inside an edge, `tokens[_at]` comes next on it and the edge ends before `_end`.
        self._start = 0
        self._node = _ROOT
        self._child = _ROOT
        self._at = 0
        self._end = _AT_NODE

    def __len__(self) -> int:
        return len(self.tokens)

    def extend(self, tokens: Iterable[int]) -> None:
        """Append tokens to the text."""
        for token in tokens:
            self.append(token)

    @property
    def match_length(self) -> int:
        """Length of the longest suffix that also occurs earlier, 0 if there is none."""
        return len(self.tokens) - self._start

    def match(self) -> Match | None:
        """The longest earlier match of the text's end, None if its last token is new."""
        length = self.match_length
        if length == 0:
            return None
        below = self._node if self._end == _AT_NODE else self._child
        if below < 0:
            return Match(length, ~below + length)
        self._note_leaves()
        return Match(length, self._latest[below] + length)

    def continuation(self, match: Match, n: int) -> list[int]:
        """The `n` tokens after a match; past the end of the text it goes on in what it gave."""
        found = self.tokens[match.follow : match.follow + n]
        period = len(self.tokens) - match.follow
        for i in range(len(found), n):
            found.append(found[i - period])
        return found

    def append(self, token: int) -> None:
        """Append one: a phase of Ukkonen, hang leaves on ever shorter suffixes until `token` is found."""
        tokens = self.tokens
        here = len(tokens)
        tokens.append(token)
        unlinked = _ROOT
        while True:
            if self._end != _AT_NODE:
                if tokens[self._at] == token:
                    break
                holder = self._split(here - self._start)
            elif self._node * _STRIDE + token in self._edges:
                self._enter(self._edges[self._node * _STRIDE + token], self._depth[self._node])
                break
            else:
                holder = self._node
            self._edges[holder * _STRIDE + token] = ~self._start
            self._holders.append(holder)
            if unlinked:
                self._link[unlinked] = holder
            unlinked = holder if holder != self._node else _ROOT
            self._start += 1
            if self._start > here:
                return
            self._descend(here)
        # A suffix of a node just made has its two continuations too: it is a node.
        if unlinked:
            self._link[unlinked] = self._node
        self._at += 1
        if self._at == self._end:
            self._node = self._child
            self._end = _AT_NODE

    def _enter(self, child: int, depth: int) -> None:
        """Move the active point into the edge to `child`, at `depth` tokens from the root."""
        self._child = child
        if child < 0:
            self._at = ~child + depth
            self._end = _OPEN
        else:
            self._at = self._latest[child] + depth
            self._end = self._latest[child] + self._depth[child]

    def _split(self, depth: int) -> int:
        """Make a node of the active point, which lies inside an edge; the point does not move."""
        node = len(self._depth)
        child, tokens = self._child, self.tokens
        start = self._at - depth
        self._depth.append(depth)
        self._link.append(_ROOT)
        self._parent.append(self._node)
        self._latest.append(start if child < 0 else self._latest[child])
        if child >= 0:
            self._parent[child] = node
        self._edges[self._node * _STRIDE + tokens[start + self._depth[self._node]]] = node
        self._edges[node * _STRIDE + tokens[self._at]] = child
        return node

    def _descend(self, here: int) -> None:
        """Go to the place of `tokens[_start:here]`, one token shorter than the place before."""
        length = here - self._start
        self._node = node = self._link[self._node]
        self._end = _AT_NODE
        while (depth := self._depth[node]) < length:
            child = self._edges[node * _STRIDE + self.tokens[self._start + depth]]
            if child < 0 or self._depth[child] > length:
                self._enter(child, length)
                return
            self._node = node = child

    def _note_leaves(self) -> None:
        """Make `_latest` the highest start of any leaf below, for every node.

        From the last leaf back: a node that has a later start already has passed it on to all
        nodes above it, so the walk ends there. A prompt is noted in one go at one step a node,
        and so is the run of leaves at the break of a periodic text.
        """
        latest, parent = self._latest, self._parent
        start = self._start
        for node in reversed(self._holders):
            start -= 1
            while latest[node] < start:
                latest[node] = start
                node = parent[node]
        self._holders.clear()
