"""The first promise under a grammar: with drafts and without, the same text; and all of it allowed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest
from llguidance import LLMatcher

from localspec.engine.depth import FixedDepth
from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.drafters.forced import ForcedDrafter
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine
from localspec.engine.sampling import Sampler
from localspec.engine.sequence import Sequence
from localspec.grammar.constraint import GrammarConstraint
from localspec.grammar.lark import OPTIONS
from localspec.grammar.tokens import GrammarTokens
from localspec.llama.context import LlamaContext
from localspec.llama.model import LlamaModel
from localspec.params import SamplingParams
from tests.engine.heads import headed
from tests.engine.running import opened, opening, prompts
from tests.engine.scripted import ScriptedDrafter
from tests.tiny import TinyModels, Variant

SCHEMA = {
    "type": "object",
    "properties": {
        "people": {
            "type": "array",
            "minItems": 3,
            "maxItems": 5,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "maxLength": 12},
                    "born": {"type": "integer", "minimum": 1000, "maximum": 2100},
                    "living": {"type": "boolean"},
                },
                "required": ["name", "born", "living"],
                "additionalProperties": False,
            },
        },
        "source": {"enum": ["archive", "hearsay"]},
    },
    "required": ["people", "source"],
    "additionalProperties": False,
}
GRAMMAR = LLMatcher.grammar_from_json_schema(json.dumps(SCHEMA), overrides=OPTIONS["exact"])
PARAMS = {
    "greedy": SamplingParams(temperature=0.0),
    "sampled": SamplingParams(temperature=1.0, top_k=40, top_p=0.95, min_p=0.0, seed=11),
    "penalised": SamplingParams(temperature=0.7, top_k=0, repeat_penalty=1.1, seed=3),
}
TARGETS = ("llama", "gemma3", "qwen35", "lfm2", "mamba")


def generate(
    target: LlamaContext,
    tokens: GrammarTokens,
    drafters: list[Drafter],
    params: SamplingParams,
    depth: int,
    n_sequences: int = 1,
) -> list[Sequence]:
    """Answers held to the schema, all at once."""
    for seq_id in range(target.n_seq_max):
        target.memory.drop(seq_id)
    engine = Engine(target, drafters, FixedDepth(depth), tokens.ends)
    sequences = [
        engine.open(prompt, Sampler(params), 400, GrammarConstraint(tokens, GRAMMAR))
        for prompt in prompts(n_sequences)
    ]
    while engine.active:
        engine.step()
    for sequence in sequences:
        engine.close(sequence)
    return sequences


def answer(tokens: GrammarTokens, sequence: Sequence) -> object:
    """The JSON that a finished sequence says, checked."""
    assert sequence.finish == "stop"
    ids = sequence.tokens[sequence.n_prompt : -1]
    value = json.loads(b"".join(tokens.vocab.piece(i) for i in ids).decode())
    jsonschema.validate(value, SCHEMA)
    return value


@contextmanager
def target_of(path: Path, n_seq_max: int = 1) -> Iterator[tuple[LlamaContext, GrammarTokens]]:
    with (
        LlamaModel(path, use_extra_bufts=False) as model,
        opening(model, n_seq_max=n_seq_max) as target,
    ):
        yield target, GrammarTokens(model.vocab)


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("target", TARGETS)
def test_drafts_change_nothing(tiny: TinyModels, target: str, name: str) -> None:
    """Each drafter alone and after what the grammar forces; right, wrong and mixed drafts."""
    near = tiny(target, Variant(eps=0.01))
    with target_of(tiny(target)) as (context, tokens), opened(near) as model:
        params = PARAMS[name]
        (plain,) = generate(context, tokens, [], params, 0)
        answer(tokens, plain)
        texts = {tuple(prompts(1)[0]): plain.tokens}
        scripted = [ScriptedDrafter(texts, rate, burst=3) for rate in (0.0, 0.6, 1.0)]
        drafters = [DraftModel(model, model.n_vocab), LookupDrafter(), *scripted]
        for depth in (1, 4, 8):
            for drafter in drafters:
                for chain in ([drafter], [ForcedDrafter(), drafter]):
                    (found,) = generate(context, tokens, chain, params, depth)
                    assert found.tokens == plain.tokens, (drafter.kind, depth, len(chain))
            assert scripted[-1].accepted[-1] > 0


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("target", ["qwen35", "gemma4"])
def test_heads_keep_to_the_grammar(tiny: TinyModels, target: str, name: str) -> None:
    sidecar = tiny("gemma4-assistant") if target == "gemma4" else None
    path = tiny(target)
    with headed(path, sidecar) as pair, LlamaModel(path, use_extra_bufts=False) as model:
        tokens = GrammarTokens(model.vocab)
        (plain,) = generate(pair.target, tokens, [], PARAMS[name], 0)
        answer(tokens, plain)
        for depth in (1, 4):
            chain = [ForcedDrafter(), pair.drafter]
            (found,) = generate(pair.target, tokens, chain, PARAMS[name], depth)
            assert found.tokens == plain.tokens
            assert found.stats.drafted > 0


def test_several_at_once(tiny: TinyModels) -> None:
    """Each sequence is at its own place."""
    params = PARAMS["sampled"]
    with target_of(tiny("llama"), 3) as (context, tokens):
        plain = generate(context, tokens, [], params, 0, 3)
        found = generate(context, tokens, [ForcedDrafter(), LookupDrafter()], params, 6, 3)
        assert [s.tokens for s in found] == [s.tokens for s in plain]
        assert len({str(answer(tokens, s)) for s in plain}) > 1


def test_forced_stretches_are_drafted_and_kept(tiny: TinyModels) -> None:
    """Most of this answer is keys: the tiny model writes bytes, so what is forced is what it must say."""
    with target_of(tiny("llama")) as (context, tokens):
        (plain,) = generate(context, tokens, [], PARAMS["greedy"], 0)
        (found,) = generate(context, tokens, [ForcedDrafter()], PARAMS["greedy"], 8)
    assert found.tokens == plain.tokens
    assert found.stats.accepted == found.stats.drafted > 60
    assert found.stats.rounds < plain.stats.rounds * 0.8


def test_a_draft_model_keeps_its_acceptance(tiny: TinyModels) -> None:
    """It drafts under the same grammar: with the target's own weights, everything is accepted."""
    with target_of(tiny("llama")) as (context, tokens), opened(tiny("llama")) as model:
        drafter = DraftModel(model, model.n_vocab)
        for params in PARAMS.values():
            (found,) = generate(context, tokens, [drafter], params, 4)
            assert found.stats.accepted == found.stats.tested > 50


class Stubborn(ScriptedDrafter):
    """Proposes at once what no schema allows."""

    at_once = True


def test_what_is_not_allowed_is_not_tried(tiny: TinyModels) -> None:
    with target_of(tiny("llama")) as (context, tokens):
        params = PARAMS["greedy"]
        (plain,) = generate(context, tokens, [], params, 0)
        beside = {tuple(prompts(1)[0]): [0] * len(plain.tokens)}
        (found,) = generate(context, tokens, [Stubborn(beside, 1.0)], params, 4)
    assert found.tokens == plain.tokens
    assert found.stats.drafted == 0
