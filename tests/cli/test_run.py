"""`localspec run` as a whole process, on tiny models: output, options, bad input, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import TinyModels, Variant, Vocabulary

BASE = ["-n", "12", "--seed", "5", "--temperature", "1"]


def localspec(
    *arguments: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    # One thread: tiny models need no more, and two would wait for each other on a busy machine.
    threads = ["--threads", "1"] if arguments[0] == "run" else []
    return subprocess.run(
        [sys.executable, "-m", "localspec", *map(str, arguments), *threads],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=60,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **(env or {})},
        check=False,
    )


def record(*arguments: str | Path, **options: Any) -> dict[str, Any]:
    done = localspec("run", "--json", *arguments, **options)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def failed(done: subprocess.CompletedProcess[bytes], code: int, *words: str) -> None:
    """A failure is one sentence and a hint, and never a traceback."""
    said = done.stderr.decode()
    assert done.returncode == code, said
    assert done.stdout == b""
    assert "Traceback" not in said
    assert "GGML_ASSERT" not in said
    for word in words:
        assert word.lower() in said.lower()


def test_json_has_every_field(tiny: TinyModels) -> None:
    found = record("Hello", "-m", tiny("llama"), "-d", tiny("llama", Variant(eps=0.05)), *BASE)
    assert found["version"] == 1
    assert found["finish_reason"] == "length"
    assert found["tokens"] == 12 == len(found["token_ids"])
    assert found["seed"] == 5
    assert found["numerics"] == "exact"
    assert set(found["timing"]) == {
        "load_s",
        "prefill_s",
        "decode_s",
        "tokens_per_s",
        "plain_tokens_per_s",
    }
    speculation = found["speculation"]
    assert speculation["drafter"] == "draft-model"
    assert set(speculation) >= {
        "rounds",
        "drafted",
        "tested",
        "accepted",
        "acceptance_rate",
        "tokens_per_round",
        "accepted_per_position",
    }
    assert found["model"]["architecture"] == "llama"
    assert found["drafter"]["path"].endswith("llama.gguf")


@pytest.mark.parametrize("temperature", ["0", "1"])
@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3"])
def test_same_ids_whatever_drafts(tiny: TinyModels, architecture: str, temperature: str) -> None:
    target, near = tiny(architecture), tiny(architecture, Variant(eps=0.1))
    common = (
        "Once upon a time",
        "-m",
        target,
        "-n",
        "60",
        "--seed",
        "3",
        "--temperature",
        temperature,
    )
    plain = record(*common, "-d", "none")
    assert plain["speculation"]["drafted"] == 0
    assert plain["drafter"] is None
    for drafter in ("lookup", "auto", near):
        for depth in ((), ("--depth", "4"), ("--depth", "9")):
            found = record(*common, "-d", drafter, *depth)
            assert found["token_ids"] == plain["token_ids"]
            assert found["text"] == plain["text"]


def test_piped_answer_is_the_text_alone(tiny: TinyModels) -> None:
    found = record("Hello", "-m", tiny("llama"), *BASE)
    done = localspec("run", "Hello", "-m", tiny("llama"), *BASE)
    assert done.returncode == 0
    assert done.stdout.decode() == found["text"] + ("" if found["text"].endswith("\n") else "\n")
    quiet = localspec("run", "-q", "Hello", "-m", tiny("llama"), *BASE)
    assert quiet.stdout == done.stdout
    assert quiet.stderr == b""


def test_prompt_is_argument_then_standard_input(tiny: TinyModels) -> None:
    base = ("-m", tiny("llama"), *BASE)
    both = record("Say", *base, stdin=b"Hello")
    assert both["token_ids"] == record("Say\n\nHello", *base)["token_ids"]
    piped = record("-", *base, stdin=b"Hello")
    assert piped["token_ids"] == record("Hello", *base)["token_ids"]
    assert record(*base, stdin=b"Hello")["token_ids"] == piped["token_ids"]


def test_raw_sends_the_prompt_as_it_is(tiny: TinyModels) -> None:
    chat = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    base = ("-m", tiny("llama"), *BASE)
    assert record("--raw", chat, *base)["token_ids"] == record("Hello", *base)["token_ids"]
    assert record("--raw", "Hello", *base)["prompt_tokens"] == 5


def test_events_as_lines(tiny: TinyModels) -> None:
    done = localspec("run", "--jsonl", "Hello", "-m", tiny("llama"), *BASE)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [event["event"] for event in events]
    assert names[0] == "prefill_progress"
    assert names[-1] == "finished"
    assert {"round_done", "text_delta"} <= set(names)
    text = "".join(event["text"] for event in events if event["event"] == "text_delta")
    assert text == events[-1]["text"]


def test_stop_string_ends_and_is_left_out(tiny: TinyModels) -> None:
    base = ("Hello", "-m", tiny("llama"), "-n", "40", "--seed", "5", "--temperature", "1")
    whole = record(*base)["text"]
    stop = whole[6:8]
    for drafter in ("none", "lookup", tiny("llama", Variant(eps=0.02))):
        found = record(*base, "--stop", stop, "-d", drafter)
        assert found["text"] == whole[: whole.index(stop)]
        assert found["finish_reason"] == "stop"


def test_context_that_fills_up_is_a_reason_and_no_failure(tiny: TinyModels) -> None:
    found = record("Hello", "-m", tiny("llama"), "--ctx", "64", "--seed", "5")
    assert found["finish_reason"] in ("context", "stop")
    assert found["prompt_tokens"] + found["tokens"] <= 64


def test_model_without_a_template_is_said_and_runs_raw(tiny: TinyModels) -> None:
    bare = tiny("llama", Variant(template=None))
    done = localspec("run", "Hello", "-m", bare, *BASE)
    assert done.returncode == 0
    assert b"no chat template" in done.stderr
    assert b"--template" in done.stderr
    named = record("Hello", "-m", bare, "--template", "chatml", *BASE)
    assert named["token_ids"] == record("Hello", "-m", tiny("llama"), *BASE)["token_ids"]


def test_prompt_longer_than_the_context(tiny: TinyModels) -> None:
    done = localspec("run", "x" * 500, "-m", tiny("llama"), "--ctx", "256")
    failed(done, 1, "tokens", "--ctx")


def test_wrong_model_names(tiny: TinyModels, tmp_path: Path) -> None:
    failed(
        localspec("run", "-m", "qwen2.5-coder-1.5", "hi"), 3, "did you mean", "qwen2.5-coder-1.5b"
    )
    failed(localspec("run", "-m", tmp_path / "none.gguf", "hi"), 3, "no file")
    failed(localspec("run", "-m", "nobody/nothing", "hi"), 3)
    failed(localspec("run", "-m", "nobody/nothing:Q4_K_M", "hi", "--offline"), 3)


def test_broken_files(tiny: TinyModels, tmp_path: Path) -> None:
    whole = tiny("llama").read_bytes()
    cases = {
        "empty.gguf": b"",
        "text.gguf": b"this is no model at all, whatever its name says",
        "truncated.gguf": whole[: len(whole) // 2],
        "header.gguf": whole[:3000],
        "big-endian.gguf": whole[:4] + bytes(reversed(whole[4:8])) + whole[8:],
        "counts.gguf": whole[:8] + b"\xff" * 8 + whole[16:],
    }
    for name, data in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        failed(localspec("run", "-m", path, "hi"), 4, name)


def test_models_that_cannot_write(tiny: TinyModels) -> None:
    failed(localspec("run", "-m", tiny("bert"), "hi"), 4, "embedding")


def test_drafter_with_another_vocabulary(tiny: TinyModels) -> None:
    other = tiny("llama", Variant(vocabulary=Vocabulary(replaced=((42, "other"),))))
    failed(localspec("run", "-m", tiny("llama"), "-d", other, "hi"), 6, "token")


def test_nonsense_on_the_command_line(tiny: TinyModels) -> None:
    model = tiny("llama")
    for arguments in (
        ["run", "hi", "-m", model, "--json", "--jsonl"],
        ["run", "hi", "-m", model, "--raw", "--system", "x"],
        ["run", "hi", "-m", model, "--temperature", "-1"],
        ["run", "hi", "-m", model, "--top-p", "2"],
        ["run", "hi", "-m", model, "--depth", "-3"],
        ["run", "hi", "-m", model, "--numerics", "odd"],
        ["run", "-m", model],
        ["run", "   ", "-m", model],
        ["walk"],
    ):
        failed(localspec(*arguments), 2)


def test_a_prompt_without_quotes_is_shown_with_them(tiny: TinyModels) -> None:
    done = localspec("run", "hello", "world", "-m", tiny("llama"))
    failed(done, 2, "must be one argument", "localspec run 'hello world'")


def test_numerics_are_named_without_a_validator_s_words(tiny: TinyModels) -> None:
    done = localspec("run", "hi", "-m", tiny("llama"), "--numerics", "odd")
    failed(done, 2, "exact or fast, not odd")
    assert b"Value error" not in done.stderr


def test_help_says_what_counts_where_nothing_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "localspec", "run", "--help"],
        capture_output=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "300", "TERM": "dumb"},
        check=True,
    )
    lines = done.stdout.decode().splitlines()
    for option in ("--max-tokens", "--temperature", "--top-p", "--ctx", "--seed", "--numerics"):
        assert "Default: " in next(line for line in lines if option in line), option


def test_a_drafter_that_lies_beside_is_named_once_and_works(
    tiny: TinyModels, tmp_path: Path
) -> None:
    target, small = tmp_path / "big model.gguf", tmp_path / "small model.gguf"
    target.write_bytes(tiny("llama").read_bytes() + bytes(tiny("llama").stat().st_size))
    small.write_bytes(tiny("llama").read_bytes())
    (tmp_path / "big broken.gguf").write_bytes(b"no model")
    done = localspec("run", "Hello", "-m", target, *BASE)
    said = done.stderr.decode()
    assert done.returncode == 0
    assert f"localspec run -m '{target}' -d '{small}'" in said
    assert f"-d '{small}'" in said
    for more in (["-d", "lookup"], ["-d", small], ["--json"], ["-q"]):
        assert b"can draft for" not in localspec("run", "Hello", "-m", target, *BASE, *more).stderr
    alone = localspec("run", "Hello", "-m", small, *BASE)
    assert b"can draft for" not in alone.stderr


def test_standard_input_that_is_no_text(tiny: TinyModels) -> None:
    failed(localspec("run", "-m", tiny("llama"), stdin=b"caf\xe9 au lait"), 1, "utf-8", "0xe9")


def test_closed_standard_output_is_no_failure(tiny: TinyModels) -> None:
    """`localspec run … | head -1`: the reader leaves early."""
    command = [sys.executable, "-m", "localspec", "run", "-m", str(tiny("llama")), "hi"]
    process = subprocess.Popen(
        [*command, "-n", "400"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(30) == 0
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_invisible_context_is_refused_before_memory_runs_out(tiny: TinyModels) -> None:
    done = localspec("run", "hi", "-m", tiny("llama"), "--ctx", "2000000000")
    failed(done, 5, "--ctx")


SWITCH = (
    "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}THINK{% endif %}"
    "{% if add_generation_prompt %}A:{% endif %}"
)


def test_thinking_is_switched_where_the_template_can(tiny: TinyModels) -> None:
    switched = tiny("llama", Variant(template=SWITCH))
    lengths = {
        think: record("hi", "-m", switched, "--think", think, *BASE)["prompt_tokens"]
        for think in ("auto", "on", "off")
    }
    assert lengths["on"] == lengths["auto"] > lengths["off"]
    done = localspec("run", "hi", "-m", tiny("llama"), "--think", "off", *BASE)
    assert done.returncode == 0
    assert b"has no switch for thinking; --think off changes nothing" in done.stderr
    failed(localspec("run", "hi", "--think", "maybe"), 2, "auto, on or off")
    failed(localspec("run", "hi", "--raw", "--think", "off"), 2, "--raw", "--think")


SHAPE = {
    "type": "object",
    "properties": {"kind": {"enum": ["noun", "verb"]}, "n": {"type": "integer", "maximum": 99}},
    "required": ["kind", "n"],
    "additionalProperties": False,
}


def test_answers_keep_to_a_schema(tiny: TinyModels, tmp_path: Path) -> None:
    """From a file, from the line and raw, drafted and not: JSON of that shape, and the same ids."""
    path = tmp_path / "shape.json"
    path.write_text(json.dumps(SHAPE))
    model = ("Hello", "-m", tiny("llama"), "-n", "200", "--seed", "5", "--temperature", "1")
    drafted = record(*model, "-d", tiny("llama", Variant(eps=0.02)), "--schema", path)
    plain = record(*model, "-d", "none", "--schema", json.dumps(SHAPE))
    assert drafted["token_ids"] == plain["token_ids"]
    raw = record(*model, "--raw", "--schema", path)
    for found in (plain, raw):
        assert found["finish_reason"] == "stop"
        assert found["tool_calls"] == []
        value = json.loads(found["text"])
        assert value["kind"] in ("noun", "verb") and value["n"] <= 99


def test_answers_keep_to_a_grammar(tiny: TinyModels, tmp_path: Path) -> None:
    path = tmp_path / "answer.gbnf"
    path.write_text('root ::= "yes" | "no"\n')
    found = record("Hello", "-m", tiny("llama"), *BASE, "--grammar", path)
    assert found["text"] in ("yes", "no")


def test_what_answers_cannot_be_held_to_is_said_before_a_model_is_looked_for() -> None:
    for schema, words in (
        ('{"not": {}}', "held to not"),
        ('{"a"', "no JSON"),
        ("x.json", "no file"),
    ):
        code = 3 if words == "no file" else 2
        failed(localspec("run", "Hi", "-m", "nobody/nothing", "--schema", schema), code, words)
    failed(localspec("run", "Hi", "--schema", "{}", "--grammar", "x"), 2, "both")
    done = localspec("run", "Hi", "-m", "nobody/nothing", "--schema", '{"maxLenght": 3}')
    assert b"no keyword is called maxLenght" in done.stderr
