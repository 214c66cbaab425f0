"""The built-in templates: found by name, and each one renders a conversation."""

from pathlib import Path

import pytest

from localspec.chat.named import named_template, template_names
from localspec.chat.template import ChatTemplate
from localspec.errors import NotFoundError, UnsupportedFileError
from localspec.messages import Message

TALK = [
    Message("system", "S"),
    Message("user", "U"),
    Message("assistant", "A"),
    Message("user", "V"),
]
RENDERED = {
    "alpaca": "<s>S\n\n### Instruction:\nU\n\n### Response:\nA</s>\n\n### Instruction:\nV\n\n### Response:\n",
    "chatml": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
    "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
    "gemma": "<s><start_of_turn>user\nS\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
    "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n",
    "llama2": "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]",
    "llama3": "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "mistral": "<s>[INST] S\nU [/INST] A</s>[INST] V [/INST]",
    "phi3": "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n"
    "<|user|>\nV<|end|>\n<|assistant|>\n",
    "vicuna": "<s>S\n\nUSER: U\nASSISTANT: A</s>\nUSER: V\nASSISTANT:",
    "zephyr": "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\nA</s>\n<|user|>\nV</s>\n<|assistant|>\n",
}


def test_every_template_is_tested() -> None:
    assert template_names() == sorted(RENDERED)


@pytest.mark.parametrize("name", RENDERED)
def test_a_conversation_in_each_template(name: str) -> None:
    assert ChatTemplate(named_template(name), "<s>", "</s>").render(TALK) == RENDERED[name]


def test_an_unknown_name_is_answered_with_a_guess() -> None:
    with pytest.raises(NotFoundError) as caught:
        named_template("lama3")
    assert "Did you mean llama3?" in (caught.value.hint or "")
    with pytest.raises(NotFoundError) as caught:
        named_template("zzz")
    assert "chatml" in (caught.value.hint or "")


def test_a_file_is_read_and_a_missing_one_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{{ 'ü' }}", encoding="utf-8")
    assert named_template(str(file)) == "{{ 'ü' }}"
    with pytest.raises(NotFoundError, match=r"no template file .*gone\.jinja"):
        named_template(str(tmp_path / "gone.jinja"))
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnsupportedFileError, match="not a text file"):
        named_template(str(file))
