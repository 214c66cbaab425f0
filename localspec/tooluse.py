"""Calls of tools in a conversation: who may be called, who is asked, what the model is told."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from localspec.events import PermissionAsked, ToolAnswered
from localspec.grammar.calls import ToolChoice
from localspec.messages import Message, ToolCall
from localspec.tools.approval import Allowed
from localspec.tools.base import Toolbox
from localspec.tools.calling import REFUSED, RepeatGuard, ToolAnswer, planned

STOPPED = "Error: the user stopped before this call was answered."


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a model may call in a conversation, and how.

    Attributes:
        toolbox: the tools.
        choice: whether it may, must or may not call; for the first answer to a question.
        held: a grammar holds calls to the schemas of their tools.
        allowed: tools that are called without asking.
        seconds: how long a call may take.
        most_rounds: rounds of calls to one question; then the model must answer.
        runs: calls are run; else they are given back to whoever asked.
    """

    toolbox: Toolbox
    choice: ToolChoice = field(default_factory=ToolChoice)
    held: bool = True
    allowed: Allowed = field(default_factory=Allowed)
    seconds: float = 60.0
    most_rounds: int = 10
    runs: bool = True

    def choice_in(self, round: int) -> ToolChoice:
        """Whether the model may call in this round, counted from 0."""
        if round >= self.most_rounds:
            return ToolChoice("none")
        return self.choice if round == 0 or self.choice.mode == "none" else ToolChoice()


def answer_calls(
    calls: Sequence[ToolCall], use: ToolUse, guard: RepeatGuard, messages: list[Message]
) -> Generator[PermissionAsked | ToolAnswered, None, None]:
    """Run calls one after the other, and add what the model is told of each to the conversation.

    Closing it leaves no call without an answer.

    Args:
        calls: as the model wrote them.
        use: what may be called.
        guard: of this exchange.
        messages: the conversation, which ends with the calls.
    """
    n_answered = 0
    try:
        for call in calls:
            answer, seconds = yield from _answer(call, use, guard)
            messages.append(Message("tool", answer.content, None, (), call.name, call.id))
            n_answered += 1
            yield ToolAnswered(call.name, call.arguments, answer.content, answer.status, seconds)
    finally:
        for call in calls[n_answered:]:
            messages.append(Message("tool", STOPPED, None, (), call.name, call.id))


def _answer(
    call: ToolCall, use: ToolUse, guard: RepeatGuard
) -> Generator[PermissionAsked, None, tuple[ToolAnswer, float]]:
    plan = planned(use.toolbox, call, guard)
    if isinstance(plan, ToolAnswer):
        return plan, 0.0
    if not use.allowed.allows(call.name):
        asked = PermissionAsked(call.name, call.arguments, plan.tool.origin)
        yield asked
        if not asked.allowed:
            return REFUSED, 0.0
    started = perf_counter()
    return plan.run(use.seconds), perf_counter() - started
