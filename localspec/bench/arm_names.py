"""What arms are called: those of a benchmark, and those of its kinds that have a number."""

import difflib
from dataclasses import dataclass

from localspec.errors import UsageError
from localspec.pair import DrafterKind

PLAIN, AUTO, LOOKUP, NONE, PEER = "plain", "auto", "lookup", "none", "peer"
FORMS = ("plain", "auto", "lookup", "none", "fixed:N", "threshold:P")
_EXAMPLES = ("plain", "auto", "lookup", "none", "fixed:4", "threshold:0.5")
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class ArmSpec:
    """An arm as it was asked for.

    Attributes:
        name: "plain", "auto", "lookup", "none", "fixed:4", "threshold:0.5".
        depth: N of fixed:N.
        threshold: P of threshold:P.
    """

    name: str
    depth: int | None = None
    threshold: float | None = None


def parse_arms(text: str) -> list[ArmSpec]:
    """The arms of `--arms A,B,…`, each once; plain comes first if it is not among them.

    Raises:
        UsageError: one is unknown or has a wrong number.
    """
    specs: dict[str, ArmSpec] = {}
    for word in text.split(","):
        if word.strip():
            spec = _parse(word.strip())
            specs.setdefault(spec.name, spec)
    if not specs:
        raise UsageError("--arms names no arm.", f"Arms: {', '.join(FORMS)}")
    if PLAIN not in specs:
        specs = {PLAIN: ArmSpec(PLAIN), **specs}
    return list(specs.values())


def default_arms(kind: DrafterKind) -> list[ArmSpec]:
    """What is compared unless --arms says otherwise.

    Args:
        kind: who drafts for the pair. Where only the text does, "lookup" would be "auto" again.
    """
    match kind:
        case "lookup":
            return parse_arms("plain,auto,fixed:4")
        case "none":
            return parse_arms("plain")
        case _:
            return parse_arms("plain,auto,fixed:4,lookup")


def numbered(word: str, what: str = "arm", option: str = "--arms") -> ArmSpec | None:
    """What "fixed:N" and "threshold:P" say; None for any other word.

    Args:
        word: one of a list on the command line.
        what: what it is a list of.
        option: which option has it.

    Raises:
        UsageError: the number is wrong.
    """
    name, colon, number = word.lower().partition(":")
    if name == "fixed" and colon:
        digits = number.lstrip("0") or number[:1]
        if digits.isascii() and digits.isdigit() and len(digits) <= 2 and int(digits) <= _DEEPEST:
            return ArmSpec(f"fixed:{int(digits)}", depth=int(digits))
        raise UsageError(
            f"The {what} '{word}' needs a whole depth of 0 to {_DEEPEST}.", f"{option} fixed:4"
        )
    if name == "threshold" and colon:
        threshold = _number(number)
        if threshold is not None and 0.0 <= threshold <= 1.0:
            return ArmSpec(f"threshold:{threshold:g}", threshold=threshold)
        raise UsageError(
            f"The {what} '{word}' needs a probability of 0 to 1.", f"{option} threshold:0.5"
        )
    return None


def _parse(word: str) -> ArmSpec:
    spec = numbered(word)
    if spec is not None:
        return spec
    if word.lower() in (PLAIN, AUTO, LOOKUP, NONE):
        return ArmSpec(word.lower())
    by_name = {example.partition(":")[0]: example for example in _EXAMPLES}
    close = difflib.get_close_matches(word.lower().partition(":")[0], by_name, n=1, cutoff=0.5)
    meant = f"Did you mean {by_name[close[0]]}? " if close else ""
    raise UsageError(f"There is no arm '{word}'.", f"{meant}Arms: {', '.join(FORMS)}")


def _number(text: str) -> float | None:
    # float() takes more: digits of other scripts, 1_0
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None
