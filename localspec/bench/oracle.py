"""What could have been had at most: the best depth of each round, known afterwards.

Two measures. The oracle knows which proposals are right, which nobody can. Foresight knows only what a
drafter's confidence will be for all proposals, before they are made: no policy that goes by confidence
can do better where `prior` is right for the pair, so what lies between the two is not a policy's to have.
"""

from localspec.bench.machines import Machine
from localspec.bench.proposals import DEPTH, Answer
from localspec.engine.calibration import prior
from localspec.engine.suffix import SuffixIndex

_REPETITIONS = 5


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


def foresight_rate(answer: Answer, machine: Machine) -> float:
    """The rate of a policy that knows all confidences beforehand; never less than plain.

    Each round it takes the depth with the most expected tokens over what its time is worth. What time
    is worth is found by repetition (Dinkelbach 1967). Confidences are taken at `prior`'s word.
    """
    n = len(answer.tokens)
    confidences = [_confidences(answer, place) for place in range(n)]
    best = rate = 1.0
    for _ in range(_REPETITIONS):
        place, seconds = 1, machine.reading * len(answer.prompt_tokens)
        while place < n:
            gain, depth = 1.0 - rate * machine.pass_s(1), 0
            tokens = chance = 1.0
            for d, confidence in enumerate(confidences[place], 1):
                chance *= prior(confidence)
                tokens += chance
                worth = tokens - rate * (d * machine.level + machine.pass_s(d + 1))
                if worth > gain:
                    gain, depth = worth, d
            seconds += depth * machine.level + machine.pass_s(depth + 1)
            place += answer.n_right(place, depth) + 1
        rate = (n - 1) / seconds if seconds else 1.0
        best = max(best, rate)
    return best


def _confidences(answer: Answer, place: int) -> list[float]:
    """Of the proposals that a draft from this place on would get."""
    drafted: list[int] = []
    found: list[float] = []
    while len(drafted) < min(DEPTH, len(answer.tokens) - place - 1):
        proposal = answer.after(place, drafted)
        if proposal is None:
            break
        drafted.append(proposal.token)
        found.append(proposal.confidence)
    return found


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
