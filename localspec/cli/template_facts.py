"""What a chat template can do and how replies to it are written, found out for `inspect --template`."""

from collections.abc import Sequence

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.template import ChatTemplate
from localspec.errors import LocalspecError, UnsupportedFileError
from localspec.messages import Message, ToolCall, ToolSpec
from localspec.ui.template_facts import Marks, TemplateFacts

_CITY = {"type": "string", "description": "Which city."}
_WEATHER = ToolSpec(
    "weather", "Tells the weather.", {"type": "object", "properties": {"city": _CITY}}
)
_CALL = ToolCall("weather", '{"city": "Oslo"}', "call00001")
_ASK = Message("user", "How is the weather in Oslo?")
_CALLING = Message("assistant", "", tool_calls=(_CALL,))
_ANSWER = Message("tool", "18 degrees", tool_name="weather", tool_call_id=_CALL.id)


def describe(template: ChatTemplate) -> TemplateFacts:
    """Find out about a template by rendering.

    Raises:
        LocalspecError: it refuses even a question.
        UnsupportedFileError: rendering takes too much time or memory.
    """
    able, form = template.abilities, ChatFormat.derive(template)
    return TemplateFacts(
        system=able.system,
        tools=able.tools,
        calls=able.calls,
        parallel_calls=able.parallel_calls,
        arguments="text" if able.argument_text else "object",
        content="parts" if able.parts else "text",
        thinking_switch=template.thinking_switch,
        header=form.header,
        end=form.end,
        reasoning=_marks(form.reasoning),
        answer=_marks(form.content),
        call_shape="channels" if form.channels else form.calls.shape,
        call=_written_call(template, form),
        example=_example(template),
    )


def _marks(markers: Markers | None) -> Marks | None:
    return Marks(markers.start, markers.end) if markers else None


def _written_call(template: ChatTemplate, form: ChatFormat) -> str | None:
    """A call as it stands in a turn of the model."""
    try:
        text = template.render([_ASK, _CALLING], tools=[_WEATHER], add_generation_prompt=False)
    except UnsupportedFileError:
        raise
    except LocalspecError:
        return None
    turn = text.rpartition(_ASK.content)[2]
    if form.header and form.header in turn:
        turn = turn.partition(form.header)[2]
    written = turn.strip().removesuffix(form.end.strip()).strip()
    return written if _CALL.name in written else None


def _example(template: ChatTemplate) -> str:
    """The longest of some conversations that the template takes."""
    system = Message("system", "Be brief.")
    for talk in ([system, _ASK, _CALLING, _ANSWER], [system, _ASK]):
        text = _rendered(template, talk, [_WEATHER])
        if text and all(m.content in text for m in talk):
            return text
    return template.render([_ASK])


def _rendered(
    template: ChatTemplate,
    talk: Sequence[Message],
    tools: Sequence[ToolSpec],
) -> str:
    """The prompt, empty where the template refuses."""
    try:
        return template.render(talk, tools=tools)
    except UnsupportedFileError:
        raise
    except LocalspecError:
        return ""
