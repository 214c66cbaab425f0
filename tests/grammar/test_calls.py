"""Grammars of calls: what they let a model write is read back as calls that keep to their schemas."""

import json

import jsonschema
import pytest

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.pieces import CallPiece
from localspec.chat.reply import reader_of
from localspec.chat.toolcalls.layout import CallLayout
from localspec.grammar.calls import ToolChoice, call_grammar
from localspec.grammar.constraint import GrammarConstraint
from localspec.grammar.tokens import GrammarTokens
from localspec.messages import ToolCall, ToolSpec
from tests.grammar.plain_vocab import PlainVocab
from tests.grammar.walking import walked

DEEP = {
    "type": "object",
    "properties": {
        "near": {"type": "array", "items": {"$ref": "#/$defs/Place"}, "maxItems": 3},
        "exact": {"type": "boolean"},
    },
    "required": ["near"],
    "additionalProperties": False,
}
WEATHER = ToolSpec(
    "get_weather",
    "The weather of a place.",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["C", "F"]},
            "code": {"type": "string", "pattern": "^[a-c]{2}$"},
            "deep": DEEP,
        },
        "required": ["city", "unit"],
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"x": {"type": "number"}, "inner": {"$ref": "#/$defs/Place"}},
                "required": ["x"],
                "additionalProperties": False,
            }
        },
    },
)
NOW = ToolSpec("now", "The time.", {"type": "object", "properties": {}})
TOOLS = (WEATHER, NOW)

THINK = Markers("<think>", "</think>")
FORMS = {
    "json": ChatFormat(THINK),
    "json without a marker": ChatFormat(calls=CallLayout("json", arguments_key="parameters")),
    "json in a list": ChatFormat(
        calls=CallLayout("json", opening="[TOOL_CALLS][", closing="]", id_key="id")
    ),
    "json in a path": ChatFormat(
        calls=CallLayout(
            "json",
            before_name="<call>",
            after_arguments="</call>",
            name_key="function.name",
            arguments_key="function.arguments",
        )
    ),
    "named": ChatFormat(
        THINK,
        CallLayout(
            "named-json",
            opening="<|calls|>",
            closing="<|/calls|>",
            before_name="<|call|>functions.",
            after_name="<|args|>",
            after_arguments="<|/call|>",
        ),
    ),
    "tagged": ChatFormat(
        THINK,
        CallLayout(
            "tagged",
            before_name="<tool_call>\n<function=",
            after_name=">",
            after_arguments="\n</function>\n</tool_call>",
            before_key="\n<parameter=",
            between=">\n",
            between_other=">\n",
            after_value="\n</parameter>",
        ),
    ),
    "tagged by name": ChatFormat(
        calls=CallLayout(
            "tagged",
            opening="<calls>",
            closing="\n</calls>",
            before_name='\n<invoke name="',
            after_name='">',
            after_arguments="</invoke>",
            before_key="<",
            between=">",
            between_other=">",
            after_value="</{key}>",
        )
    ),
    "quoted": ChatFormat(
        Markers("<|channel>thought", "<channel|>"),
        CallLayout(
            "quoted",
            before_name="<|tool_call>call:",
            after_arguments="<tool_call|>",
            quote='<|"|>',
        ),
    ),
    "python": ChatFormat(calls=CallLayout("python", opening="<|start|>[", closing="]<|end|>")),
    "channels": ChatFormat(channels=True),
}
MARKERS = (
    "<|calls|>",
    "<|/calls|>",
    "<|call|>",
    "<|args|>",
    "<|/call|>",
    "<|channel>",
    "<channel|>",
    "<|tool_call>",
    "<tool_call|>",
    '<|"|>',
    "<|start|>",
    "<|end|>",
    "<|channel|>",
    "<|message|>",
    "<|constrain|>",
    "<|other|>",
)
WORDS = ("</think>", "</parameter>", "</city>", "</code>", "<tool_call>", "</calls>")


def vocab_of(form: ChatFormat, *, as_tokens: bool) -> PlainVocab:
    """Markers are tokens of their own in some models, and text like any other in others."""
    return PlainVocab(MARKERS if as_tokens else (), WORDS if as_tokens else (*MARKERS, *WORDS))


def calls_in(form: ChatFormat, text: str, said: str = "") -> list[ToolCall]:
    reader = reader_of(form, TOOLS)
    pieces = reader.feed(said + text) + reader.finish()
    return [piece.call for piece in pieces if isinstance(piece, CallPiece) and piece.done]


def follows(form: ChatFormat, text: str, mode: str = "auto", said: str = "") -> bool:
    """True if the grammar lets a model write the text, and end there."""
    tokens = GrammarTokens(vocab_of(form, as_tokens=True))
    grammar = call_grammar(form, TOOLS, ToolChoice(mode), tokens).source
    constraint = GrammarConstraint(tokens, grammar, said)
    ids = [*tokens.ids(text), max(tokens.ends)]
    return constraint.at([]).n_allowed(ids) == len(ids)


@pytest.mark.parametrize(
    ("name", "as_tokens"),
    # channels are told apart by tokens alone
    [(name, True) for name in FORMS] + [(name, False) for name in FORMS if name != "channels"],
)
def test_what_it_allows_is_a_call_that_keeps_to_its_schema(name: str, as_tokens: bool) -> None:
    form = FORMS[name]
    tokens = GrammarTokens(vocab_of(form, as_tokens=as_tokens))
    made = call_grammar(form, TOOLS, ToolChoice("required"), tokens)
    assert made.notices == ()
    seen: set[str] = set()
    for seed in range(40):
        text = walked(tokens, made.source, seed)
        if text is None:
            continue
        calls = calls_in(form, text)
        assert calls, text
        for call in calls:
            tool = next(tool for tool in TOOLS if tool.name == call.name)
            jsonschema.validate(json.loads(call.arguments), dict(tool.parameters))
            seen.add(call.name)
    assert seen == {"get_weather", "now"}


USUAL = {
    "json": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Ulm", "unit": "C"}}\n</tool_call>',
    "json without a marker": '{"name": "get_weather", "parameters": {"city": "Ulm", "unit": "C"}}',
    "json in a list": '[TOOL_CALLS][{"name": "now", "arguments": {}, "id": "abc123def"},'
    ' {"name": "now", "arguments": {}}]',
    "json in a path": '<call>{"function": {"name": "now", "arguments": {}}}</call>',
    "named": '<|calls|><|call|>functions.get_weather:0<|args|>{"city": "Ulm", "unit": "C"}<|/call|>'
    "<|call|>functions.now:1<|args|>{}<|/call|><|/calls|>",
    "tagged": "<tool_call>\n<function=get_weather>\n<parameter=unit>\nC\n</parameter>"
    "\n<parameter=city>\nUlm\n</parameter>\n</function>\n</tool_call>",
    "tagged by name": '<calls>\n<invoke name="get_weather"><deep><near><item><x>1.5</x></item></near></deep>'
    "<unit>C</unit><city>Ulm</city></invoke>\n</calls>",
    "quoted": '<|tool_call>call:get_weather{city:<|"|>Ulm<|"|>,unit:<|"|>F<|"|>,'
    "deep:{near:[{x:1}]}}<tool_call|>",
    "python": '<|start|>[get_weather(city="Ulm", unit="C"), now()]<|end|>',
    "channels": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
    ' to=functions.get_weather <|constrain|>json<|message|>{"city": "Ulm", "unit": "C"}',
}


@pytest.mark.parametrize("name", USUAL)
def test_it_allows_what_models_write(name: str) -> None:
    form, text = FORMS[name], USUAL[name]
    assert calls_in(form, text)
    assert follows(form, text)
    assert follows(form, text, "required")
    if name != "json in a list":
        assert not follows(form, text, "none")


@pytest.mark.parametrize("name", [name for name in FORMS if name != "channels"])
def test_text_without_a_call_is_free(name: str) -> None:
    form = FORMS[name]
    for text in ("", "Nothing to call.", 'A {"name"} in <tags>, and a marker: <|other|>.\n'):
        assert follows(form, text), text
        assert not follows(form, text, "required"), text
    assert follows(form, "No calls here.", "none")


@pytest.mark.parametrize("name", [name for name in FORMS if FORMS[name].reasoning])
def test_a_thought_is_free(name: str) -> None:
    form = FORMS[name]
    markers = form.reasoning
    assert markers is not None
    thought = f"{markers.start} Should I <call> it? {markers.end}\n"
    assert follows(form, thought + "No.")
    assert follows(form, thought + USUAL[name])
    assert follows(form, thought + USUAL[name], "required")
    # one that the prompt has begun, and one that breaks off
    assert follows(form, f"Hm. {markers.end}{USUAL[name]}", said=markers.start)
    assert follows(form, f"{markers.start} Hm")


def test_a_call_within_a_thought_is_a_thought() -> None:
    assert follows(FORMS["json"], "<think>a <tool_call> b</think> No.")
    assert not follows(FORMS["json"], "<think>a</think> <tool_call> b")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "nothing", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Ulm"}}\n</tool_call>',
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Ulm", "unit": "K"}}\n</tool_call>',
        '<tool_call>\n{"name": "now", "arguments": {"city": "Ulm"}}\n</tool_call>',
        '<tool_call>\n{"name": "now", "arguments": {}}',
        "<tool_call>\nnow()\n</tool_call>",
    ],
)
def test_it_refuses_calls_that_do_not_keep_to_a_schema(text: str) -> None:
    assert not follows(FORMS["json"], text)


def test_a_name_is_the_only_tool() -> None:
    form = FORMS["json"]
    tokens = GrammarTokens(vocab_of(form, as_tokens=False))
    grammar = call_grammar(form, TOOLS, ToolChoice("required", "now"), tokens).source
    for seed in range(10):
        text = walked(tokens, grammar, seed)
        assert text is None or {call.name for call in calls_in(form, text)} == {"now"}


def test_a_schema_that_cannot_be_held_to_is_named_and_its_arguments_are_free() -> None:
    form = FORMS["json"]
    tokens = GrammarTokens(vocab_of(form, as_tokens=False))
    odd = ToolSpec("odd", "", {"type": "object", "properties": {"a": {"not": {"type": "null"}}}})
    made = call_grammar(form, [odd, NOW], ToolChoice("auto"), tokens)
    (notice,) = made.notices
    assert "odd" in notice.message and '"not"' in notice.message
    text = '<tool_call>\n{"name": "odd", "arguments": {"a": 5}}\n</tool_call>'
    constraint = GrammarConstraint(tokens, made.source)
    assert constraint.at([]).n_allowed(tokens.ids(text)) == len(tokens.ids(text))
