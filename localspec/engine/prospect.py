"""What letting a draft grow is expected to bring, in tokens: the sums behind `margin.py`."""

from typing import NamedTuple

from localspec.engine.calibration import Outlook


class Prospect(NamedTuple):
    """What drafting is expected to bring.

    Attributes:
        gain: tokens, less those that its time is worth.
        tokens: of the draft, accepted.
    """

    gain: float
    tokens: float


NO_PROSPECT = Prospect(float("-inf"), 0.0)


def share_of_rest(confidence: float, second: float) -> float:
    """A runner-up's share of what the proposal leaves, 0..1."""
    rest = 1.0 - confidence
    return min(second / rest, 1.0) if rest > 0 else 0.0


def expected(
    outlook: Outlook,
    acceptances: list[float],
    start: tuple[float, int],
    levels: list[float],
    row: float,
) -> Prospect:
    """What letting a draft grow by `depth` tokens is worth, if it ends early where it does not pay.

    A proposal is drafted before its confidence is known and verified only if that is worth a row. So
    what counts is not how likely it is on average, but how often it will be worth verifying, and how
    likely it is then.

    Args:
        outlook: how confident the next proposals will be.
        acceptances: what each bin of confidence is worth.
        start: chance that all of the draft so far is accepted, and its place in the outlook.
        levels: cost of each proposal that may be made, in tokens.
        row: cost of verifying one, in tokens.
    """
    chance, place = start
    reached, gain, tokens = 1.0, 0.0, 0.0
    for level in levels:
        gain -= reached * level
        shares = outlook.shares[place]
        worth = brought = most = 0.0
        for i, share in enumerate(shares):
            kept = chance * acceptances[i]
            if kept > row:
                worth += share
                brought += share * kept
                if share > most:
                    most, place = share, i
        if not worth:
            break
        gain += reached * (brought - worth * row)
        tokens += reached * brought
        chance, reached = brought / worth, reached * worth
    return Prospect(gain, tokens)


def by_chance(chances: list[list[float]]) -> list[tuple[float, int]]:
    """All proposals as (chance, draft), likeliest first; those of a draft stay in their order."""
    flat = [(chance, i) for i, of_draft in enumerate(chances) for chance in of_draft]
    return sorted(flat, key=lambda item: -item[0])
