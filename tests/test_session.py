"""A conversation on a tiny model: turns, reuse of the cache, stops, thoughts, what a Ctrl-C leaves."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localspec.engine.loop import Round
from localspec.errors import LocalspecError, UnsupportedFileError, UsageError
from localspec.events import (
    AnswerEvent,
    Finished,
    PrefillProgress,
    ReasoningDelta,
    RoundDone,
    TextDelta,
)
from localspec.messages import Message
from localspec.pair import choose, located
from localspec.params import DepthParams, SamplingParams
from localspec.runtime import Runtime, Wishes
from localspec.session import AnswerLimits, Session
from localspec.store.header import read_header
from tests.tiny import CHATML, TinyModels, Variant

SAMPLED = SamplingParams(temperature=1.0, seed=3)
THINKING = CHATML.replace(
    "<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n<think>\n{% endif %}"
).replace("{{ m['content'] }}", "{{ m['content'].split('</think>')[-1] }}")
assert "</think>" in THINKING


@contextmanager
def session(
    path: Path,
    drafter: str = "lookup",
    *,
    limits: AnswerLimits | None = None,
    n_ctx: int = 1024,
    system: str | None = None,
) -> Iterator[Session]:
    pair = located(choose(str(path), drafter))
    with Runtime(pair, Wishes(DepthParams(4), n_ctx=n_ctx, n_threads=1)) as runtime:
        yield Session(runtime, SAMPLED, limits or AnswerLimits(20), system)


def finished(events: Iterator[AnswerEvent]) -> Finished:
    last = list(events)[-1]
    assert isinstance(last, Finished)
    return last


def test_the_events_of_an_answer(tiny: TinyModels) -> None:
    with session(tiny("llama")) as talk:
        events = list(talk.send("Hello"))
    assert isinstance(events[0], PrefillProgress)
    assert any(isinstance(event, RoundDone) for event in events)
    last = events[-1]
    assert isinstance(last, Finished)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == last.text
    assert len(last.token_ids) == 20


def test_rounds_are_told_before_their_events(tiny: TinyModels) -> None:
    told: list[Round] = []
    with session(tiny("llama"), str(tiny("llama", Variant(eps=0.05)))) as talk:
        talk.on_round = told.append
        n_rounds = 0
        for event in talk.send("Hello"):
            n_rounds += isinstance(event, RoundDone)
            if isinstance(event, TextDelta | RoundDone):
                assert len([done for done in told if done.tokens]) >= max(n_rounds, 1)
        assert talk.last is not None
        assert tuple(t for done in told for t in done.tokens) == talk.last.token_ids
        assert talk.last.speculation.accepted == sum(done.n_accepted for done in told) > 0
        talk.on_round = None
        n_told = len(told)
        finished(talk.send("And then?"))
        assert len(told) == n_told


def test_the_next_turn_reads_only_what_is_new(tiny: TinyModels) -> None:
    """Six turns: each must find all of the turns before it still in memory."""
    with session(tiny("llama")) as talk:
        before = 0
        for turn in range(6):
            last = finished(talk.send(f"Question {turn}"))
            if turn:
                assert last.cached_tokens >= before - 1
            before = last.prompt_tokens + len(last.token_ids) - 1
        assert len(talk.messages) == 12


@pytest.mark.parametrize("drafter", ["none", "lookup", "near"])
@pytest.mark.parametrize("target", ["llama", "gemma3"])
def test_turns_are_the_same_whatever_drafts(tiny: TinyModels, target: str, drafter: str) -> None:
    """Cache reuse and speculation together must not change a later turn."""
    near = str(tiny(target, Variant(eps=0.1)))
    with session(tiny(target), near if drafter == "near" else drafter) as talk:
        texts = [finished(talk.send(f"Question {turn}")).token_ids for turn in range(4)]
    with session(tiny(target), "none") as fresh:
        for turn in range(4):
            expected = finished(fresh.send(f"Question {turn}")).token_ids
            assert texts[turn] == expected


def test_a_stopped_answer_is_kept_and_talked_on(tiny: TinyModels) -> None:
    with session(tiny("llama"), limits=AnswerLimits(200)) as talk:
        stream = talk.send("Hello")
        shown = ""
        for event in stream:
            shown += event.text if isinstance(event, TextDelta) else ""
            if len(shown) > 10:
                break
        stream.close()  # type: ignore[attr-defined]
        assert talk.messages[-1].role == "assistant"
        assert talk.messages[-1].content.startswith(shown)
        assert talk.last is not None
        assert talk.last.reason == "cancelled"
        assert finished(talk.send("Go on")).text


def test_a_question_that_fails_is_taken_back(tiny: TinyModels) -> None:
    with session(tiny("llama"), n_ctx=256) as talk:
        with pytest.raises(LocalspecError, match="context holds"):
            list(talk.send("x" * 400))
        assert talk.messages == []
        assert finished(talk.send("short")).text


def test_regenerate_writes_another_answer_to_the_same_question(tiny: TinyModels) -> None:
    with session(tiny("llama")) as talk:
        with pytest.raises(UsageError):
            list(talk.regenerate())
        first = finished(talk.send("Hello"))
        second = finished(talk.regenerate())
        assert second.token_ids != first.token_ids
        assert [message.role for message in talk.messages] == ["user", "assistant"]
        stream = talk.regenerate()
        stream.close()  # type: ignore[attr-defined]
        assert [message.role for message in talk.messages] == ["user", "assistant"]


def test_thought_is_kept_apart(tiny: TinyModels) -> None:
    """The prompt opens the thought, so the answer is inside it until the end tag."""
    with session(tiny("llama", Variant(template=THINKING)), limits=AnswerLimits(30)) as talk:
        events = list(talk.send("Hello"))
        last = events[-1]
        assert isinstance(last, Finished)
        assert any(isinstance(event, ReasoningDelta) for event in events)
        assert last.reasoning
        assert last.text == ""


def test_system_prompt_is_read_and_can_change(tiny: TinyModels) -> None:
    with session(tiny("llama"), system="Be brief.") as talk:
        one = finished(talk.send("Hello"))
        talk.reset()
        talk.system = "Be long."
        other = finished(talk.send("Hello"))
        talk.reset()
        talk.system = None
        none = finished(talk.send("Hello"))
    assert none.prompt_tokens < one.prompt_tokens
    assert one.token_ids != other.token_ids


def test_conversation_survives_a_file(tiny: TinyModels, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    with session(tiny("llama"), system="Be brief.") as talk:
        list(talk.send("Hello"))
        talk.save(path)
        said = list(talk.messages)
    with session(tiny("llama")) as fresh:
        fresh.load(path)
        assert fresh.messages == said
        assert fresh.system == "Be brief."
        assert finished(fresh.send("And then?")).token_ids


def test_stop_string_across_tokens_and_drafts(tiny: TinyModels) -> None:
    with session(tiny("llama"), "none") as talk:
        whole = finished(talk.send("Hello")).text
    stop = whole[8:11]
    for drafter in ("none", "lookup", str(tiny("llama", Variant(eps=0.02)))):
        with session(tiny("llama"), drafter, limits=AnswerLimits(20, (stop,))) as talk:
            last = finished(talk.send("Hello"))
            assert last.text == whole[: whole.index(stop)]
            assert last.reason == "stop"
            again = finished(talk.send("More"))
        with session(tiny("llama"), "none", limits=AnswerLimits(20, (stop,))) as fresh:
            fresh.messages = [Message("user", "Hello"), Message("assistant", last.text)]
            assert finished(fresh.send("More")).token_ids == again.token_ids


def test_a_template_that_says_nothing(tiny: TinyModels) -> None:
    with session(tiny("llama", Variant(template="{# nothing #}"))) as talk:
        with pytest.raises(LocalspecError, match="Nothing is left of the prompt"):
            list(talk.send("Hello"))
        assert talk.messages == []


def test_model_without_a_template_cannot_chat(tiny: TinyModels) -> None:
    with session(tiny("llama", Variant(template=None))) as talk:
        with pytest.raises(UnsupportedFileError, match="no chat template"):
            list(talk.send("Hello"))
        assert finished(talk.complete("Hello")).text


@pytest.mark.parametrize("name", ["mamba", "lfm2", "falcon-h1", "qwen35"])
def test_recurrent_models_draft_too(tiny: TinyModels, name: str) -> None:
    """Whichever way their state goes back, the text is that without drafts."""
    texts = []
    for drafter in ("none", "lookup"):
        with session(tiny(name), drafter=drafter) as talk:
            assert talk.runtime.kind == drafter
            texts.append(finished(talk.send("Hello hello hello hello hello")).token_ids)
    assert texts[0] == texts[1]


def test_depth_beyond_exact_numerics_is_said(tiny: TinyModels) -> None:
    pair = located(choose(str(tiny("llama")), "lookup"))
    with Runtime(pair, Wishes(DepthParams(9), n_ctx=512)) as runtime:
        assert runtime.notices == [], "float weights have no bound"
        assert runtime.max_depth == 9


def test_stopping_at_the_first_event_leaves_the_session_usable(tiny: TinyModels) -> None:
    """Ctrl-C can come before the prompt is read at all."""
    with session(tiny("llama")) as talk:
        stream = talk.send("Hello")
        next(stream)
        stream.close()
        assert talk.messages == []
        assert finished(talk.send("Hello")).token_ids


def test_a_text_that_is_far_too_long_is_refused_by_its_beginning(tiny: TinyModels) -> None:
    with session(tiny("llama")) as talk:
        n_ctx = talk.runtime.engine.target.n_ctx
        for events in (talk.send("x" * 33 * n_ctx), talk.complete("x" * 33 * n_ctx)):
            with pytest.raises(LocalspecError, match=f"at least {32 * n_ctx} tokens"):
                list(events)
        assert talk.messages == []


HEADS = [
    ("qwen35", None, "mtp"),
    ("step35", None, "mtp"),
    ("gemma4", "gemma4-assistant", "mtp"),
    ("qwen3", "eagle3", "eagle3"),
    ("qwen3", "dflash", "dflash"),
    ("qwen3", "dspark", "dspark"),
]


@pytest.mark.parametrize(("name", "sidecar", "kind"), HEADS)
def test_a_head_drafts_the_same_text(
    tiny: TinyModels, name: str, sidecar: str | None, kind: str
) -> None:
    """From the file itself, or from one beside it; over two turns."""
    variant = Variant(agreeing=0.05)
    drafters = ["none", str(tiny(sidecar, variant)) if sidecar else "auto"]
    texts = []
    for drafter in drafters:
        with session(tiny(name, variant), drafter=drafter) as talk:
            told = [finished(talk.send(words)) for words in ("Hello", "And again")]
            texts.append([t.token_ids for t in told])
            assert talk.runtime.kind == ("none" if drafter == "none" else kind)
    assert sum(t.speculation.accepted for t in told) > 0
    assert texts[0] == texts[1]


def test_a_head_whose_architecture_alone_is_misspelt_drafts(
    tiny: TinyModels, tmp_path: Path
) -> None:
    """Every other key spells it right, so it is read as it should be."""
    variant = Variant(agreeing=0.05)
    path = tmp_path / "mtp-gemma.gguf"
    content = tiny("gemma4-assistant", variant).read_bytes()
    path.write_bytes(content.replace(b"gemma4-assistant", b"gemma4_assistant", 1))
    header = read_header(path)
    assert (header.stated_architecture, header.architecture) == (
        "gemma4_assistant",
        "gemma4-assistant",
    )
    with session(tiny("gemma4", variant), drafter=str(path)) as talk:
        assert finished(talk.send("Hello")).speculation.accepted > 0


def test_a_trunk_that_announces_a_head_it_has_not_is_run_without(tiny: TinyModels) -> None:
    kept = (("nextn_predict_layers", 1), ("block_count", 3))
    with session(tiny("qwen35-without-mtp", Variant(metadata=kept))) as talk:
        assert talk.runtime.kind == "lookup"
        announced = finished(talk.send("Hello")).token_ids
    with session(tiny("qwen35-without-mtp")) as talk:
        assert finished(talk.send("Hello")).token_ids == announced


def test_a_head_beside_the_file_is_found(tiny: TinyModels, tmp_path: Path) -> None:
    """By its name and its header, without being asked for."""
    variant = Variant(agreeing=0.05)
    target = tmp_path / "model.gguf"
    shutil.copy(tiny("qwen3", variant), target)
    shutil.copy(tiny("eagle3", variant), tmp_path / "model-eagle3.gguf")
    with session(target, drafter="auto") as talk:
        assert talk.runtime.kind == "eagle3"
        assert finished(talk.send("Hello")).speculation.accepted > 0
