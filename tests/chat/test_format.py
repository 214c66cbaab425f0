"""The markers of a thought, found in each of the places a template can show them."""

import pytest

from localspec.chat.format import ChatFormat, Markers
from localspec.chat.template import ChatTemplate
from localspec.errors import UnsupportedFileError
from localspec.messages import Message

HEAD = "{% for m in messages %}<|start|>{{ m.role }}\n"
TAIL = "{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n"
THINK = Markers("<think>", "</think>")


def derived(source: str) -> ChatFormat:
    return ChatFormat.derive(ChatTemplate(source, "", ""))


@pytest.mark.parametrize(
    ("source", "markers"),
    [
        (HEAD + TAIL + "{% endif %}", None),
        # Printed before the answer in earlier turns.
        (
            HEAD
            + "{% if m.reasoning_content %}<|a_mind|>\n{{ m.reasoning_content }}\n<|b_mind|>{% endif %}"
            + TAIL
            + "{% endif %}",
            Markers("<|a_mind|>", "<|b_mind|>"),
        ),
        # Printed only where a call follows, with a label behind the tag.
        (
            HEAD
            + "{% if m.tool_calls %}<|channel>thought\n{{ m.thinking }}<channel|>{% endif %}"
            + TAIL
            + "{% endif %}",
            Markers("<|channel>thought", "<channel|>"),
        ),
        # A thought printed as a turn of its own has the tags of a turn.
        (
            HEAD
            + "{% if m.thinking %}{{ m.thinking }}<|end|><|start|>x\n{% endif %}"
            + TAIL
            + "{% endif %}",
            None,
        ),
        # Off closes an empty thought; on leaves it to the model, or opens it.
        (
            HEAD + TAIL + "{% if not enable_thinking %}<m>\n\n</m>\n\n{% endif %}{% endif %}",
            Markers("<m>", "</m>"),
        ),
        (
            HEAD + TAIL + "<m>\n{% if not enable_thinking %}</m>{% endif %}{% endif %}",
            Markers("<m>", "</m>"),
        ),
        (
            HEAD + TAIL + "{{ '<m>' if enable_thinking else '</m>' }}{% endif %}",
            Markers("<m>", "</m>"),
        ),
        (
            HEAD + TAIL + "{{ '<m>\n' if enable_thinking else '<m></m>' }}{% endif %}",
            Markers("<m>", "</m>"),
        ),
        (
            "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
            "{% if not enable_thinking %}<m></m>{% endif %}",
            Markers("<m>", "</m>"),
        ),
        # Only the source speaks of it.
        (HEAD + "{% set c = m.content.split('</think>')[-1] %}" + TAIL + "{% endif %}", THINK),
        ("{# [/THINK] #}" + HEAD + TAIL + "{% endif %}", Markers("[THINK]", "[/THINK]")),
        ("{# ◁/think▷ #}" + HEAD + TAIL + "{% endif %}", Markers("◁think▷", "◁/think▷")),
        (
            "{# <|end_of_thought|> #}" + HEAD + TAIL + "{% endif %}",
            Markers("<|begin_of_thought|>", "<|end_of_thought|>"),
        ),
        (
            "{# <|END_THINKING|> #}" + HEAD + TAIL + "{% endif %}",
            Markers("<|START_THINKING|>", "<|END_THINKING|>"),
        ),
    ],
)
def test_markers_are_found_without_knowing_the_model(source: str, markers: Markers | None) -> None:
    assert derived(source).reasoning == markers


def test_a_prompt_may_open_the_thought_or_close_it() -> None:
    """A reply that begins inside the thought has no start marker, and must not be shown as answer."""
    template = ChatTemplate(
        HEAD + TAIL + "<think>\n{% if not enable_thinking %}\n</think>\n\n{% endif %}{% endif %}",
        "",
        "",
    )
    format = ChatFormat.derive(template)
    assert format.opened_by(template.render([Message("user", "hi")])) == "<think>\n"
    off = template.render([Message("user", "hi")], extras={"enable_thinking": False})
    assert format.opened_by(off) == "<think>\n</think>\n\n"
    assert ChatFormat().opened_by("<think>\n") == ""


def test_a_prompt_that_opens_a_thought_does_not_say_what_closes_it() -> None:
    """The source does; the tag of the turn is none of it."""
    source = HEAD + TAIL + "{% if enable_thinking %}<think>{% endif %}{% endif %}{# </think> #}"
    assert ChatFormat.derive(ChatTemplate(source, "", "")).reasoning == Markers(
        "<think>", "</think>"
    )


def test_a_user_who_writes_the_marker_opens_no_thought() -> None:
    template = ChatTemplate(HEAD + TAIL + "{% endif %}{# </think> #}", "", "")
    prompt = template.render([Message("user", "what is <think>")])
    assert ChatFormat.derive(template).opened_by(prompt) == ""


def test_a_template_that_refuses_everything_has_no_markers() -> None:
    assert derived("{{ raise_exception('no') }}").reasoning is None


def test_an_endless_template_is_not_tried_again_and_again() -> None:
    loop = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(UnsupportedFileError, match="too long"):
        ChatFormat.derive(ChatTemplate(loop, "", "", seconds=0.1))
