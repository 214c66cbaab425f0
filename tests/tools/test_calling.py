"""Whatever a model writes as a call is answered, and only what may be run is run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.messages import ToolCall
from localspec.tools.base import Tool, Toolbox, ToolFailedError, ToolTimeoutError
from localspec.tools.calling import REFUSED, RepeatGuard, ToolAnswer, planned
from tests.tools.test_base import Echo


def answered(call: ToolCall, *tools: Tool, guard: RepeatGuard | None = None) -> ToolAnswer:
    plan = planned(Toolbox(tools or [Echo()]), call, guard or RepeatGuard())
    return plan if isinstance(plan, ToolAnswer) else plan.run(5)


def raising(error: BaseException) -> Echo:
    def answer(arguments: dict[str, object]) -> str:
        raise error

    return Echo(answer=answer)


def test_a_call_is_answered() -> None:
    answer = answered(ToolCall("echo", '{"city": "Ulm", "days": 2}'))
    assert answer == ToolAnswer("{'city': 'Ulm', 'days': 2}", "ok")


@pytest.mark.parametrize(
    ("written", "arguments"),
    [("", {}), (" \n", {}), ("{}", {}), ('{"text": "two\nlines"}', {"text": "two\nlines"})],
)
def test_arguments_as_models_write_them(written: str, arguments: dict[str, object]) -> None:
    assert answered(ToolCall("echo", written)) == ToolAnswer(str(arguments), "ok")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('{"city": Ulm}', "line 1, column 10"),
        ('{"city": "Ulm"', "line 1"),
        ('"{}"', "they are a string"),
        ("[1]", "they are a list"),
        ("null", "they are null"),
        ("true", "they are true or false"),
        ("3", "they are a number"),
        ('{"x": NaN}', "number that cannot be read: NaN"),
        ('{"x": ' + "9" * 5000 + "}", "number that cannot be read"),
        ('{"x":' * 100_000, "nested too deeply"),
    ],
)
def test_arguments_that_are_no_object(written: str, words: str) -> None:
    answer = planned(Toolbox([Echo()]), ToolCall("echo", written), RepeatGuard())
    assert isinstance(answer, ToolAnswer)
    assert answer.status == "failed"
    assert answer.content.startswith("Error: the arguments must be one JSON object, but ")
    assert words in answer.content


def test_a_name_that_is_not_known() -> None:
    answer = answered(ToolCall("get_wether", "{}"), Echo("get_weather"), Echo("add"))
    assert answer.status == "unknown"
    assert answer.content == (
        "Error: there is no tool named 'get_wether'. Did you mean get_weather? "
        "The tools are: get_weather, add"
    )
    assert "mean" not in answered(ToolCall("zzz", "{}"), Echo("add")).content


def test_what_is_refused_is_told_to_the_model() -> None:
    assert ToolAnswer("Error: the user did not allow this call", "refused") == REFUSED


@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ToolFailedError("no such city"), "Error: no such city"),
        (ToolTimeoutError(5), "Error: no result within 5 seconds"),
        (KeyError("x"), "Error: KeyError: 'x'"),
    ],
)
def test_a_failure_is_told_to_the_model(error: Exception, content: str) -> None:
    assert answered(ToolCall("echo", "{}"), raising(error)) == ToolAnswer(content, "failed")


def test_ctrl_c_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        answered(ToolCall("echo", "{}"), raising(KeyboardInterrupt()))


def test_the_third_identical_call_is_not_run() -> None:
    guard = RepeatGuard()
    same = [ToolCall("echo", '{"a": 1, "b": [2]}'), ToolCall("echo", ' {"b":[2],"a":1}')]
    other = ToolCall("echo", '{"a": 2, "b": [2]}')
    calls = [same[0], same[1], other, same[0], other, same[1]]
    statuses = [answered(call, guard=guard).status for call in calls]
    assert statuses == ["ok", "ok", "ok", "repeated", "ok", "repeated"]
    assert "stands above" in answered(same[0], guard=guard).content


def test_faulty_calls_are_counted_too() -> None:
    guard = RepeatGuard()
    statuses = [answered(ToolCall("echo", "{"), guard=guard).status for _ in range(3)]
    assert statuses == ["failed", "failed", "repeated"]


def test_a_long_result_is_cut() -> None:
    content = answered(ToolCall("echo", "{}"), Echo(answer=lambda a: "x" * 50_000)).content
    assert len(content) <= 16_000
    assert "characters left out" in content


@given(name=st.text(), arguments=st.text() | st.from_type(dict).map(str))
def test_nothing_a_model_writes_raises(name: str, arguments: str) -> None:
    answer = answered(ToolCall(name, arguments), Echo(), Echo("add"))
    answer.content.encode("utf-8")
    assert answer.status == "ok" or answer.content.startswith("Error: ")


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans()))
def test_what_is_an_object_arrives(arguments: dict[str, object]) -> None:
    got: list[dict[str, object]] = []
    tool = Echo(answer=lambda a: got.append(a) or "")
    assert answered(ToolCall("echo", json.dumps(arguments)), tool).status == "ok"
    assert got == [arguments]
