"""`localspec inspect`: the JSON checks rely on, recipes, and files that cannot be run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from huggingface_hub import constants
from typer.testing import CliRunner

from localspec.cli.inspect import inspect
from localspec.errors import LocalspecError, NotFoundError, UnsupportedFileError
from localspec.llama.memory import LastStatesMemory
from tests.engine.running import opened
from tests.tiny import TinyModels, Variant, Vocabulary

REVISION = "0123456789abcdef0123456789abcdef01234567"
RECIPE = """
summary = "s"
licence = "MIT"
minimum_memory_gb = 1
verified = "not yet"
[target]
repo = "org/target"
file = "target.gguf"
[[drafters]]
kind = "draft-model"
source = { repo = "org/drafter", file = "drafter.gguf" }
[[drafters]]
kind = "mtp-embedded"
[[drafters]]
kind = "lookup"
"""


def _inspect(*arguments: str) -> tuple[str, BaseException | None]:
    app = typer.Typer()
    app.command()(inspect)
    result = CliRunner().invoke(app, arguments, catch_exceptions=True)
    failed = result.exception if isinstance(result.exception, LocalspecError) else None
    assert failed or result.exit_code == 0, result.output
    return result.stdout, failed


def _json(*arguments: str) -> dict[str, Any]:
    output, failed = _inspect(*arguments, "--json")
    assert failed is None
    found: dict[str, Any] = json.loads(output)
    return found


def _put_in_hub_cache(cache: Path, repo: str, file: Path, name: str) -> Path:
    """Lay a file into the Hugging Face cache as if it had been downloaded."""
    storage = cache / f"models--{repo.replace('/', '--')}"
    place = storage / "snapshots" / REVISION / name
    place.parent.mkdir(parents=True)
    shutil.copy(file, place)
    (storage / "refs").mkdir()
    (storage / "refs" / "main").write_text(REVISION, encoding="utf-8")
    return place


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe named `pair` in a home of its own; returns an empty Hugging Face cache."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "home" / "config" / "recipes"
    folder.mkdir(parents=True)
    (folder / "pair.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path / "hub"


def test_json_of_a_file(tiny: TinyModels) -> None:
    """The shape is fixed: other programs read it."""
    path = tiny("llama", Variant(n_ctx=4096))
    assert _json(str(path)) == {
        "version": 1,
        "path": str(path),
        "name": "tiny-llama",
        "architecture": "llama",
        "quantization": "F32",
        "size_bytes": path.stat().st_size,
        "context_length": 4096,
        "vocabulary": {"type": "BPE", "size": 288},
        "template": True,
        "sliding_window": None,
        "state": None,
        "drafters": [
            {
                "kind": "lookup",
                "path": None,
                "fits": True,
                "reason": "needs no file: it repeats what the text has said",
            }
        ],
    }


def test_what_drafts_cost_a_recurrent_model_is_said_before_it_is_paid(tiny: TinyModels) -> None:
    """Earlier states are kept, or a copy: the same as the engine decides."""
    state = _json(str(tiny("lfm2")))["state"]
    assert state == {
        "bytes": 1024,
        "n_last_states": 16,
        "copies": False,
        "extra_bytes": 16 * 1024,
    }
    with opened(tiny("lfm2")) as context:
        assert context.memory.__class__ is LastStatesMemory
    output, _ = _inspect(str(tiny("lfm2")))
    assert "1.0 kB a sequence; drafts take 16.4 kB more for 16 earlier ones" in output
    state = _json(str(tiny("mamba")))["state"]
    assert (state["copies"], state["extra_bytes"]) == (True, state["bytes"])
    output, _ = _inspect(str(tiny("mamba")))
    assert "more for a copy" in output


def test_a_sliding_window_is_shown(tiny: TinyModels) -> None:
    assert _json(str(tiny("gemma3")))["sliding_window"] == 32
    assert "32 tokens" in _inspect(str(tiny("gemma3")))[0]


def test_a_file_without_template(tiny: TinyModels) -> None:
    """The user must learn it before the first chat fails."""
    assert _json(str(tiny("llama", Variant(template=None))))["template"] is False


def test_recipe_lists_its_drafters(recipe: Path, tiny: TinyModels) -> None:
    """In the recipe's order, with the file where it is here."""
    target = _put_in_hub_cache(recipe, "org/target", tiny("llama"), "target.gguf")
    drafter = _put_in_hub_cache(recipe, "org/drafter", tiny("qwen2"), "drafter.gguf")
    found = _json("pair")
    assert found["path"] == str(target)
    assert [(d["kind"], d["path"], d["fits"]) for d in found["drafters"]] == [
        ("draft-model", str(drafter), True),
        ("mtp", None, False),
        ("lookup", None, True),
    ]


def test_recipe_with_a_drafter_that_does_not_fit(recipe: Path, tiny: TinyModels) -> None:
    """A mistake in a recipe shows here, with the token it is about."""
    other = tiny("qwen2", Variant(vocabulary=Vocabulary(replaced=((139, "x!"),))))
    _put_in_hub_cache(recipe, "org/target", tiny("llama"), "target.gguf")
    _put_in_hub_cache(recipe, "org/drafter", other, "drafter.gguf")
    (drafter, *_) = _json("pair")["drafters"]
    assert not drafter["fits"]
    assert "token 139 is" in drafter["reason"]


def test_recipe_whose_drafter_is_not_here(recipe: Path, tiny: TinyModels) -> None:
    """Nothing is downloaded for it; the reason says how to get it."""
    _put_in_hub_cache(recipe, "org/target", tiny("llama"), "target.gguf")
    (drafter, *_) = _json("pair")["drafters"]
    assert (drafter["path"], drafter["fits"]) == (None, False)
    assert "localspec pull pair" in drafter["reason"]


@pytest.mark.usefixtures("recipe")
@pytest.mark.parametrize("model", ["pair", "org/target", "org/target:Q4_K_M", "org/target/t.gguf"])
def test_a_model_that_is_not_here(model: str) -> None:
    """Inspecting must not download gigabytes; the hint names the command that does."""
    _, failed = _inspect(model)
    assert isinstance(failed, NotFoundError)
    assert f"localspec pull {model}" in str(failed.hint)


def test_a_repo_in_the_cache(recipe: Path, tiny: TinyModels) -> None:
    """Every form in which a model can be typed works here as in `run`."""
    target = _put_in_hub_cache(recipe, "org/target", tiny("llama"), "target-F32.gguf")
    for model in ("org/target", "org/target:F32", "org/target/target-F32.gguf"):
        assert _json(model)["path"] == str(target)


def test_an_embedding_model_is_shown_and_refused(tiny: TinyModels) -> None:
    """Both: the facts on stdout, and exit code 4 for what cannot be run."""
    output, failed = _inspect(str(tiny("bert")), "--json")
    assert isinstance(failed, UnsupportedFileError)
    assert "embedding model" in failed.message
    found = json.loads(output)
    assert found["architecture"] == "bert"
    assert not any(drafter["fits"] for drafter in found["drafters"])


def test_a_damaged_file_prints_nothing(tmp_path: Path) -> None:
    """Half a JSON object would be worse than none."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    output, failed = _inspect(str(path), "--json")
    assert isinstance(failed, UnsupportedFileError)
    assert output == ""


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_table_at_any_width(
    tiny: TinyModels, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """Guards against a crash on narrow terminals and against facts that vanish."""
    monkeypatch.setenv("COLUMNS", columns)
    output, _ = _inspect(str(tiny("llama")))
    words = "".join(output.split())
    for fact in ("tiny-llama", "F32", "2,048", "BPE", "lookup", "yes"):
        assert fact in words


def test_a_name_with_markup_is_printed_as_it_is(tmp_path: Path, tiny: TinyModels) -> None:
    """A file could otherwise colour or hide text, or crash the renderer."""
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny("llama").read_bytes().replace(b"tiny-llama", b"[/bold]abc"))
    assert "[/bold]abc" in _inspect(str(path))[0]


def test_a_recipe_of_files_of_ones_own(recipe: Path, tiny: TinyModels) -> None:
    """Shown as they are; one that is gone is said to be."""
    text = RECIPE.replace('repo = "org/target"\nfile = "target.gguf"', 'path = "t.gguf"')
    text = text.replace('{ repo = "org/drafter", file = "drafter.gguf" }', '{ path = "d.gguf" }')
    folder = recipe.parent / "home" / "config" / "recipes"
    (folder / "pair.toml").write_text(text, encoding="utf-8")
    shutil.copy(tiny("llama"), folder / "t.gguf")
    drafter = _json("pair")["drafters"][0]
    assert (drafter["fits"], drafter["reason"]) == (False, "its file is not there")
    shutil.copy(tiny("qwen2"), folder / "d.gguf")
    drafter = _json("pair")["drafters"][0]
    assert (drafter["fits"], drafter["path"]) == (True, str(folder / "d.gguf"))


def test_draft_models_beside_a_file_are_shown(recipe: Path, tiny: TinyModels) -> None:
    target = recipe.parent / "big.gguf"
    shutil.copy(tiny("llama"), target)
    with target.open("ab") as file:
        file.write(bytes(2_000_000))
    shutil.copy(tiny("qwen2"), recipe.parent / "small.gguf")
    assert [(d["kind"], d["fits"]) for d in _json(str(target))["drafters"]] == [
        ("draft-model", True),
        ("lookup", True),
    ]


CALLING = (
    "{{ bos_token }}{% if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %}{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls %}"
    "<call>{{ c.function | tojson }}</call>{% endfor %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% if enable_thinking %}<think>{% endif %}{% endif %}"
    "{# </think> #}"
)


def _with_template(tiny: TinyModels, template: str | None) -> str:
    return str(tiny("llama", Variant(template=template)))


def test_what_a_template_can_do(tiny: TinyModels) -> None:
    """With an example that shows all of it."""
    found = _json(_with_template(tiny, CALLING), "--template")
    assert found["version"] == 1
    assert found["tools"] and found["calls"] and found["parallel_calls"] and found["system"]
    assert found["arguments"] == "object"
    assert found["thinking_switch"]
    assert found["reasoning"] == {"start": "<think>", "end": "</think>"}
    assert found["call_shape"] == "json"
    assert found["call"] == '<call>{"name": "weather", "arguments": {"city": "Oslo"}}</call>'
    assert "<|tool|>18 degrees<|end|>" in found["example"]
    assert found["example"].endswith("<|assistant|><think>")
    drawn, _ = _inspect(_with_template(tiny, CALLING), "--template")
    for word in ("system prompt", "<think> … </think>", found["call"], "18 degrees"):
        assert word in drawn


def test_a_plain_template_takes_what_it_can(tiny: TinyModels) -> None:
    plain = "{% for m in messages if m.role == 'user' %}U:{{ m.content }}{% endfor %}A:"
    found = _json(_with_template(tiny, plain), "--template")
    assert not found["tools"] and not found["calls"] and not found["thinking_switch"]
    assert found["call"] is None
    assert "Oslo" in found["example"]


def test_a_file_without_a_template(tiny: TinyModels) -> None:
    _, failed = _inspect(_with_template(tiny, None), "--template")
    assert isinstance(failed, UnsupportedFileError)


@pytest.mark.parametrize(
    ("template", "words"),
    [("{% if %}", "not valid Jinja"), ("{{ raise_exception('no') }}", "cannot render")],
)
def test_a_template_that_does_not_work(tiny: TinyModels, template: str, words: str) -> None:
    output, failed = _inspect(_with_template(tiny, template), "--template")
    assert failed is not None and words in str(failed)
    assert output == ""
