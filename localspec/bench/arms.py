"""The arms of a benchmark: who drafts, and who decides how deep.

`plain` is decoding without drafts, to which all others are compared; `none` has the drafter open but
never asks it. `lookup` decides by measured costs as `auto` does, with the text as its only source.
"""

import difflib
from dataclasses import dataclass, field

from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.margin import MarginDepth
from localspec.engine.recording import Recording
from localspec.errors import UsageError
from localspec.pair import DrafterKind
from localspec.runtime import Runtime

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


@dataclass(slots=True)
class Arm:
    """An arm on an opened runtime; what it learns stays with it for the whole benchmark.

    Attributes:
        name: as asked for.
        kind: who drafts.
        policy: decides draft lengths.
        lookup: its own source of look-ups, since that learns too.
    """

    name: str
    kind: DrafterKind
    policy: DepthPolicy
    lookup: LookupDrafter = field(default_factory=LookupDrafter)

    def take_over(self, runtime: Runtime, *, record_all: bool = False) -> None:
        """Have the next answer written by this arm.

        Args:
            runtime: the opened models.
            record_all: let the drafter propose to full depth each round, for a trace.
        """
        if "lookup" in runtime.drafters:
            runtime.drafters["lookup"] = self.lookup
        runtime.use(self.kind, self.policy)
        if record_all and self.kind != "none":
            engine = runtime.engine
            engine.depth = Recording(self.policy, n_ctx=engine.target.n_ctx)


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
        case "draft-model":
            return parse_arms("plain,auto,fixed:4,lookup")
        case "lookup":
            return parse_arms("plain,auto,fixed:4")
        case "none":
            return parse_arms("plain")


def open_arms(specs: list[ArmSpec], runtime: Runtime) -> list[Arm]:
    """The arms on an opened runtime.

    Raises:
        UsageError: the model cannot be rolled back, so nothing can draft, or an arm drafts deeper
            than the runtime was opened for.
    """
    for spec in specs:
        if spec.name not in (PLAIN, NONE) and not runtime.drafters:
            raise UsageError(
                f"{runtime.header.name} cannot take back a draft, so {spec.name} cannot run on it.",
                "--arms plain",
            )
        if spec.depth is not None and spec.depth > runtime.max_depth:
            exact = ", or --numerics fast" if runtime.numerics == "exact" else ""
            raise UsageError(
                f"{spec.name} is deeper than the {runtime.max_depth} tokens a draft may have here.",
                f"Name a smaller depth: fixed:{runtime.max_depth}{exact}",
            )
    return [_open(spec, runtime) for spec in specs]


def _open(spec: ArmSpec, runtime: Runtime) -> Arm:
    # a pair without a drafter model can still look up
    kind: DrafterKind = "draft-model" if "draft-model" in runtime.drafters else "lookup"
    if not runtime.drafters:
        kind = "none"
    if spec.depth is not None:
        return Arm(spec.name, kind, FixedDepth(spec.depth))
    if spec.threshold is not None:
        return Arm(spec.name, kind, ThresholdDepth(runtime.max_depth, spec.threshold))
    match spec.name:
        case "plain":
            return Arm(spec.name, "none", NoDraft())
        case "none":
            return Arm(spec.name, kind, NoDraft())
        case "lookup":
            return Arm(spec.name, "lookup", MarginDepth(runtime.max_depth))
    # The runtime's own policy knows what earlier starts have learned, unless --no-profile.
    own = runtime.engine.depth
    return Arm(
        spec.name, kind, own if isinstance(own, MarginDepth) else MarginDepth(runtime.max_depth)
    )


def _parse(word: str) -> ArmSpec:
    name, colon, number = word.lower().partition(":")
    if name == "fixed" and colon:
        digits = number.lstrip("0") or number[:1]
        if digits.isascii() and digits.isdigit() and len(digits) <= 2 and int(digits) <= _DEEPEST:
            return ArmSpec(f"fixed:{int(digits)}", depth=int(digits))
        raise UsageError(
            f"The arm '{word}' needs a whole depth of 0 to {_DEEPEST}.", "--arms fixed:4"
        )
    if name == "threshold" and colon:
        threshold = _number(number)
        if threshold is not None and 0.0 <= threshold <= 1.0:
            return ArmSpec(f"threshold:{threshold:g}", threshold=threshold)
        raise UsageError(f"The arm '{word}' needs a probability of 0 to 1.", "--arms threshold:0.5")
    if word.lower() in (PLAIN, AUTO, LOOKUP, NONE):
        return ArmSpec(word.lower())
    by_name = {example.partition(":")[0]: example for example in _EXAMPLES}
    close = difflib.get_close_matches(name, by_name, n=1, cutoff=0.5)
    meant = f"Did you mean {by_name[close[0]]}? " if close else ""
    raise UsageError(f"There is no arm '{word}'.", f"{meant}Arms: {', '.join(FORMS)}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
