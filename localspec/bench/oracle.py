"""What could have been had at most: the best depth of each round, known afterwards."""

from localspec.bench.machines import Machine
from localspec.bench.proposals import DEPTH, Answer
from localspec.engine.suffix import SuffixIndex


def oracle_rate(answer: Answer, machine: Machine, *, look_up: bool = False) -> float:
    """The rate with the best depth each round, known afterwards; never less than plain.

    Args:
        answer: what was written.
        machine: what it costs.
        look_up: look-ups may be taken too, where they are worth more.
    """
    n = len(answer.tokens)
    looked_up = _looked_up(answer) if look_up else [0] * n
    best = 1.0
    for drafts in (False, True):
        place, seconds = 1, machine.reading * len(answer.prompt_tokens) if drafts else 0.0
        while place < n:
            n_right = answer.n_right(place, min(DEPTH, n - place - 1)) if drafts else 0
            ways = [
                (depth, depth * machine.level + machine.pass_s(depth + 1))
                for depth in range(n_right + 1)
            ]
            ways += [(depth, machine.pass_s(depth + 1)) for depth in range(looked_up[place] + 1)]
            depth, cost = max(ways, key=lambda way: (way[0] + 1) / way[1])
            place, seconds = place + depth + 1, seconds + cost
        best = max(best, (n - 1) / seconds)
    return best


def _looked_up(answer: Answer) -> list[int]:
    """For each place, how many tokens from there on a look-up would have got right."""
    index, found = SuffixIndex(), []
    index.extend(answer.prompt_tokens)
    for place, token in enumerate(answer.tokens):
        coming = answer.tokens[place : min(place + DEPTH, len(answer.tokens) - 1)]
        match = index.match()
        offered = index.continuation(match, len(coming)) if match else []
        wrong = [i for i, (a, b) in enumerate(zip(offered, coming, strict=False)) if a != b]
        found.append(wrong[0] if wrong else len(offered))
        index.extend([token])
    return found
