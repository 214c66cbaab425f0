"""The arms of a benchmark: who drafts, and who decides how deep.

`plain` is decoding without drafts, to which all others are compared; `none` has the drafter open but
never asks it. `lookup` decides by measured costs as `auto` does, with the text as its only source.
"""

from dataclasses import dataclass, field

from localspec.bench.arm_names import ArmSpec
from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.margin import MarginDepth
from localspec.engine.recording import Recording
from localspec.errors import UsageError
from localspec.pair import DrafterKind
from localspec.runtime import Runtime


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


def open_arms(specs: list[ArmSpec], runtime: Runtime) -> list[Arm]:
    """The arms on an opened runtime.

    Raises:
        UsageError: an arm drafts deeper than the runtime was opened for.
    """
    for spec in specs:
        if spec.depth is not None and spec.depth > runtime.max_depth:
            exact = ", or --numerics fast" if runtime.numerics == "exact" else ""
            raise UsageError(
                f"{spec.name} is deeper than the {runtime.max_depth} tokens a draft may have here.",
                f"Name a smaller depth: fixed:{runtime.max_depth}{exact}",
            )
    return [_open(spec, runtime) for spec in specs]


def _open(spec: ArmSpec, runtime: Runtime) -> Arm:
    # a pair without a drafter model can still look up
    kind: DrafterKind = next((kind for kind in runtime.drafters if kind != "lookup"), "lookup")
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
