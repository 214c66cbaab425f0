"""What happens, as values. Everything below yields them; `ui/` draws them and knows nothing else."""

from dataclasses import dataclass
from typing import Literal

from localspec.messages import ToolCall

FinishReason = Literal["stop", "length", "context", "cancelled", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Loading:
    """A model file is being opened. `fraction` runs from 0.0 to 1.0."""

    role: Literal["target", "drafter"]
    name: str
    fraction: float


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Bytes of one file that have arrived.

    Attributes:
        file: name of the file, the key under which progress is drawn.
        done: bytes present, those of an earlier interrupted pull included.
        total: bytes expected, None while unknown.
        resumed: of `done`, the bytes that an earlier pull had left.
    """

    file: str
    done: int
    total: int | None
    resumed: int = 0


@dataclass(frozen=True, slots=True)
class PullFinished:
    """One file is complete and checked.

    Attributes:
        file: the key used in `PullProgress`.
        path: where it lies.
        source: where it came from, as a sentence part ("Hugging Face, Qwen/…", "packages …").
        cached: True if nothing had to be fetched.
    """

    file: str
    path: str
    source: str
    cached: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know, that is no failure."""

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """Prompt tokens read: `cached` of them were still in memory from before."""

    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class LiveNumbers:
    """What the status line shows; every figure was measured in this process.

    Attributes:
        tokens_per_s: over the last seconds of decoding; None before the second token.
        acceptance_rate: accepted / tested draft tokens of this answer; None before the first test.
        tokens_per_round: tokens / verify passes of this answer; None before the first round.
        times_plain: tokens_per_s of this answer / tokens/s of its plain rounds; None until there are enough.
        context_used: tokens of the sequence so far.
        context_size: tokens that fit.
        rounds: verify passes of this answer so far, plain ones included.
        drafted_rounds: of those, rounds that had a draft.
    """

    tokens_per_s: float | None
    acceptance_rate: float | None
    tokens_per_round: float | None
    times_plain: float | None
    context_used: int
    context_size: int
    rounds: int
    drafted_rounds: int


@dataclass(frozen=True, slots=True)
class RoundDone:
    """One verify pass of one sequence is settled; its text follows as deltas."""

    n_drafted: int
    n_accepted: int
    live: LiveNumbers


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Answer text. `drafted` is True if it comes from an accepted draft token."""

    text: str
    drafted: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Text of the thought before the answer, where the template marks one."""

    text: str
    drafted: bool = False


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of a call that the model is writing.

    Attributes:
        name: which tool.
        arguments: JSON text of the arguments, as much as is certain.
        done: all of it is there.
        reason: why it is none after all; its text follows. None as long as it may be one.
    """

    name: str
    arguments: str
    done: bool = False
    reason: str | None = None


@dataclass(slots=True)
class PermissionAsked:
    """A tool is about to be called. Whoever draws this sets `allowed`; else it is refused.

    Attributes:
        name: which tool.
        arguments: JSON text of the arguments.
        origin: where the tool comes from.
        allowed: the answer.
    """

    name: str
    arguments: str
    origin: str
    allowed: bool = False


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """What the model is told of its call.

    Attributes:
        name: which tool.
        arguments: JSON text of the arguments.
        content: the result, or what stands in for one.
        status: "ok", "failed", "refused", "unknown" name, or "repeated" once too often.
        seconds: how long the tool took.
    """

    name: str
    arguments: str
    content: str
    status: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds and rates of one answer; rates are None where nothing was measured."""

    load_s: float
    prefill_s: float
    decode_s: float
    tokens_per_s: float | None
    plain_tokens_per_s: float | None


@dataclass(frozen=True, slots=True)
class Speculation:
    """What speculation did for one answer.

    Attributes:
        drafter: kind of drafter: "none", "lookup", "draft-model", "mtp".
        rounds: verify passes of the decode phase, plain ones included.
        drafted: tokens proposed.
        tested: of those, tokens compared with the target's pick (none after the first rejection).
        accepted: of those, tokens kept.
        acceptance_rate: accepted / tested; None if nothing was tested.
        tokens_per_round: tokens made in the decode phase / rounds; None without a round.
        accepted_per_position: entry i counts drafts whose token i was accepted.
    """

    drafter: str
    rounds: int
    drafted: int
    tested: int
    accepted: int
    acceptance_rate: float | None
    tokens_per_round: float | None
    accepted_per_position: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete.

    Attributes:
        reason: why it ended.
        text: the whole answer, without the reasoning.
        reasoning: the whole thought, None where the template marks none.
        tool_calls: the calls that the model made.
        token_ids: ids of the answer as generated, the end-of-generation token left out.
        prompt_tokens: tokens of the prompt.
        cached_tokens: of those, tokens that were still in memory.
        seed: the seed that repeats this answer.
    """

    reason: FinishReason
    text: str
    reasoning: str | None
    tool_calls: tuple[ToolCall, ...]
    token_ids: tuple[int, ...]
    prompt_tokens: int
    cached_tokens: int
    seed: int
    timing: Timing
    speculation: Speculation
    live: LiveNumbers


PullEvent = PullProgress | PullFinished | Notice
AnswerEvent = (
    PrefillProgress
    | RoundDone
    | TextDelta
    | ReasoningDelta
    | CallDelta
    | PermissionAsked
    | ToolAnswered
    | Notice
    | Finished
)
Event = Loading | PullEvent | AnswerEvent
