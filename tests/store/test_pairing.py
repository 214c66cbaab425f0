"""Pairs: the vocabulary rule of llama.cpp, and what is offered as a drafter and why not."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.errors import PairMismatchError, UnsupportedFileError
from localspec.store.architectures import require_runnable, sidecar_kind, unsupported_reason
from localspec.store.header import Header, read_header
from localspec.store.heads import head_mismatch
from localspec.store.pairing import (
    Candidate,
    DrafterFit,
    can_draft_itself,
    check_pair,
    fitting_sidecar,
    own_candidates,
    possible_drafters,
    require_head,
)
from tests.store import gguf_bytes as raw
from tests.store.gguf_bytes import Bytes
from tests.tiny import TinyModels, Variant, Vocabulary, write

LLAMA3 = "llama-bpe"


def _check(tiny: TinyModels, target: Vocabulary, drafter: Vocabulary) -> None:
    check_pair(
        read_header(tiny("llama", Variant(vocabulary=target))),
        read_header(tiny("qwen2", Variant(vocabulary=drafter))),
    )


@pytest.mark.parametrize(
    ("target", "drafter"),
    [
        (Vocabulary(), Vocabulary()),
        (Vocabulary(size=288), Vocabulary(size=288 + 128)),
        (Vocabulary(size=288 + 128), Vocabulary(size=288)),
        (Vocabulary(), Vocabulary(replaced=((4, "other"),))),
        (Vocabulary(bos=256), Vocabulary(bos=258)),
        (Vocabulary(), Vocabulary(add_bos=None)),
        (Vocabulary(add_bos=True, pre=LLAMA3), Vocabulary(add_bos=None, pre=LLAMA3)),
        (Vocabulary(eos=257), Vocabulary(eos=258)),
    ],
)
def test_vocabularies_that_fit(tiny: TinyModels, target: Vocabulary, drafter: Vocabulary) -> None:
    """What llama.cpp tolerates: padding, the first five tokens, and ids that are never added."""
    _check(tiny, target, drafter)


@pytest.mark.parametrize(
    ("target", "drafter", "says"),
    [
        (Vocabulary(), Vocabulary(type="llama"), "is BPE and the drafter's SPM"),
        (Vocabulary(), Vocabulary(size=288 + 129), "target has 288 tokens and the drafter 417"),
        (
            Vocabulary(),
            Vocabulary(replaced=((139, "x!"),)),
            "token 139 is 'ĭ' in the target and 'x!' in the drafter",
        ),
        (Vocabulary(), Vocabulary(replaced=((5, "x!"),)), "token 5 is"),
        (
            Vocabulary(),
            Vocabulary(size=300, replaced=((287, "pad"),)),
            "token 287 is '<|fill287|>'",
        ),
        (Vocabulary(add_bos=True), Vocabulary(), "the target adds a token at the begin"),
        (Vocabulary(), Vocabulary(add_eos=True), "the drafter adds a token at the end"),
        (
            Vocabulary(add_bos=True, bos=256),
            Vocabulary(add_bos=True, bos=258),
            "texts begin with token 256 in the target and 258 in the drafter",
        ),
        (
            Vocabulary(add_eos=True, eos=257),
            Vocabulary(add_eos=True, eos=258),
            "texts end with token 257 in the target and 258 in the drafter",
        ),
        (
            Vocabulary(add_bos=None),
            Vocabulary(add_bos=None, pre=LLAMA3),
            "the drafter adds a token",
        ),
    ],
)
def test_vocabularies_that_do_not(
    tiny: TinyModels, target: Vocabulary, drafter: Vocabulary, says: str
) -> None:
    """Each of these would make llama.cpp refuse the pair, or drafts that are never accepted."""
    with pytest.raises(PairMismatchError) as raised:
        _check(tiny, target, drafter)
    assert says in raised.value.message
    assert "288 tokens" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bert", "embedding model"),
        ("gemma4-assistant", "drafter (mtp)"),
        ("eagle3", "drafter (eagle3)"),
        ("dflash", "drafter (dflash)"),
        ("qwen35-mtp", "drafter (mtp)"),
    ],
)
def test_what_cannot_be_run(tiny: TinyModels, name: str, says: str) -> None:
    """llama.cpp loads all of these and then writes nonsense or aborts."""
    header = read_header(tiny(name))
    with pytest.raises(UnsupportedFileError) as raised:
        require_runnable(header)
    assert says in raised.value.message
    with pytest.raises(PairMismatchError, match="cannot draft"):
        check_pair(read_header(tiny("llama")), header)


def test_a_generator_turned_embedding_model(tiny: TinyModels) -> None:
    """Qwen3-Embedding has the architecture of Qwen3; only its pooling type tells."""
    embedding = tiny("qwen3", Variant(metadata=(("pooling_type", 3),)))
    assert "embedding" in str(unsupported_reason(read_header(embedding)))
    none = tiny("qwen3", Variant(metadata=(("pooling_type", 0),)))
    assert unsupported_reason(read_header(none)) is None


def test_a_model_that_reads_in_both_directions(tiny: TinyModels) -> None:
    """New encoders and diffusion models have names we do not know; this key gives them away."""
    header = read_header(tiny("llama", Variant(metadata=(("attention.causal", False),))))
    assert "both directions" in str(unsupported_reason(header))


def test_models_that_can_be_run(tiny: TinyModels) -> None:
    """Guards against refusing what works, the rare kinds too."""
    for name in ("llama", "gemma4", "mamba", "qwen35", "lfm2", "falcon-h1"):
        require_runnable(read_header(tiny(name)))


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("general.architecture", "dream")], "diffusion"),
        ([("general.architecture", "clip")], "image or sound encoder"),
        ([("general.architecture", "llama"), ("general.type", "adapter")], "adapter"),
        ([("general.architecture", "llama")], "without weights"),
    ],
)
def test_files_that_are_no_models(tmp_path: Path, pairs: list[tuple[str, str]], says: str) -> None:
    """Files that lie beside models in the same folders."""
    path = tmp_path / "m.gguf"
    encoded = [raw.pair(key, raw.STRING, raw.text(value)) for key, value in pairs]
    path.write_bytes(Bytes(pairs=encoded).encode())
    assert says in str(unsupported_reason(read_header(path)))


def test_without_vocabulary(tiny: TinyModels) -> None:
    """Such a file loads, and then nothing can be tokenized."""
    header = read_header(tiny("llama", Variant(vocabulary=None)))
    assert "without a vocabulary" in str(unsupported_reason(header))


def test_a_bare_file_offers_lookup(tiny: TinyModels) -> None:
    """Look-up needs nothing, so it is always there."""
    header = read_header(tiny("llama"))
    (lookup,) = possible_drafters(header, own_candidates(header))
    assert (lookup.kind, lookup.path, lookup.fits) == ("lookup", None, True)


def test_an_embedding_model_offers_nothing_that_fits(tiny: TinyModels) -> None:
    """Look-up cannot draft for a model that does not write."""
    header = read_header(tiny("bert"))
    assert [fit.fits for fit in possible_drafters(header, own_candidates(header))] == [False]


def test_embedded_mtp_head(tiny: TinyModels) -> None:
    """Present, or left out of a trunk that only kept the key."""
    assert _head(tiny, "qwen35").reason == "in the target's file"
    assert _head(tiny, "qwen35").fits
    assert can_draft_itself(read_header(tiny("qwen35")))
    trunk = Variant(metadata=(("nextn_predict_layers", 1),))
    assert _head(tiny, "qwen35-without-mtp", trunk).reason == (
        "the MTP head was left out of this file"
    )
    with pytest.raises(PairMismatchError, match="left out of this file"):
        require_head(read_header(tiny("qwen35-without-mtp", trunk)))
    with pytest.raises(PairMismatchError, match="it has no MTP head"):
        require_head(read_header(tiny("llama")))
    two = Variant(metadata=(("nextn_predict_layers", 2),))
    assert _head(tiny, "qwen35", two).reason == (
        "llama.cpp runs one MTP layer of qwen35, and the file has 2"
    )


def _head(tiny: TinyModels, name: str, variant: Variant | None = None) -> DrafterFit:
    header = read_header(tiny(name, variant))
    head, lookup = possible_drafters(header, own_candidates(header))
    assert (head.kind, head.path, lookup.kind) == ("mtp", None, "lookup")
    return head


def test_sidecars_are_found_beside_the_target(tmp_path: Path, tiny: TinyModels) -> None:
    """By name and by what is inside: a whole model called `-mtp` or a broken file is none."""
    target = tmp_path / "gemma.gguf"
    shutil.copy(tiny("gemma4"), target)
    shutil.copy(tiny("gemma4-assistant"), tmp_path / "mtp-gemma.gguf")
    shutil.copy(tiny("eagle3"), tmp_path / "gemma-EAGLE3-F32.gguf")
    shutil.copy(tiny("qwen35"), tmp_path / "Hy3-mtp.gguf")
    (tmp_path / "dflash-broken.gguf").write_bytes(b"GGUF")
    shutil.copy(tiny("qwen35-mtp"), tmp_path / "mtp-qwen.gguf")
    (tmp_path / "MTP").mkdir()
    shutil.copy(tiny("dflash"), tmp_path / "MTP" / "dflash-gemma.gguf")
    header = read_header(target)
    fits = possible_drafters(header, own_candidates(header))
    assert [(fit.kind, fit.path.name if fit.path else None) for fit in fits] == [
        ("mtp", "mtp-gemma.gguf"),
        ("eagle3", "gemma-EAGLE3-F32.gguf"),
        ("dflash", "dflash-gemma.gguf"),
        ("lookup", None),
    ]
    assert all(fit.fits for fit in fits)
    assert fitting_sidecar(header) == tmp_path / "mtp-gemma.gguf"
    check_pair(header, read_header(tmp_path / "mtp-gemma.gguf"))
    trunk = tmp_path / "trunk.gguf"
    shutil.copy(tiny("qwen35-without-mtp"), trunk)
    with pytest.raises(PairMismatchError) as caught:
        require_head(read_header(trunk))
    assert caught.value.hint == f"This one beside it would serve: -d {tmp_path / 'mtp-qwen.gguf'}"


def test_sidecar_of_another_width(tiny: TinyModels) -> None:
    """The only thing llama.cpp checks for these kinds is the width."""
    drafter = tiny("eagle3", Variant(metadata=(("target_hidden_size", 128),)))
    (fit,) = possible_drafters(read_header(tiny("qwen3")), [Candidate("eagle3", drafter)])
    assert fit.reason == "it is made for a target of width 128, this one has 64"


def test_sidecar_of_another_family(tiny: TinyModels) -> None:
    """A folder may hold the heads of several models."""
    (fit,) = possible_drafters(
        read_header(tiny("qwen3")), [Candidate("mtp", tiny("gemma4-assistant"))]
    )
    assert fit.reason == "it is made for gemma4, the target is qwen3"
    assert not fit.fits
    with pytest.raises(PairMismatchError, match="made for gemma4"):
        check_pair(read_header(tiny("qwen3")), read_header(tiny("gemma4-assistant")))


def _eagle(tiny: TinyModels, layers: object) -> Header:
    header = read_header(tiny("eagle3"))
    return replace(header, metadata={**header.metadata, "eagle3.target_layers": layers})


EAGLE_LAYERS = {
    "two layers": ("qwen3", (0, 1), "does not name the three layers"),
    "none at all": ("qwen3", "0, 1, 2", "does not name the three layers"),
    "one below the first": ("qwen3", (-1, 1, 2), "reads layer -1 of its target"),
    "one that is not there": ("qwen3", (0, 1, 7), "reads layer 7 of its target, this one has 4"),
    "the last state of one that keeps it": ("qwen3", (0, 1, 4), "the last state of qwen3"),
    "no state at all": ("qwen2", (0, 1, 1), "not give out the states of the layers of qwen2"),
}


@pytest.mark.parametrize("name", EAGLE_LAYERS)
def test_eagle_heads_that_would_end_the_process(tiny: TinyModels, name: str) -> None:
    """llama.cpp asserts these deep in its graphs."""
    target, layers, says = EAGLE_LAYERS[name]
    assert says in str(head_mismatch(read_header(tiny(target)), _eagle(tiny, layers)))


def test_an_eagle_head_of_two_layers(tiny: TinyModels) -> None:
    drafter = replace(read_header(tiny("eagle3")), n_layers=2)
    assert "it has 2 layers" in str(head_mismatch(read_header(tiny("qwen3")), drafter))


def test_an_eagle_head_may_read_what_leaves_the_last_layer(tiny: TinyModels) -> None:
    assert head_mismatch(read_header(tiny("gemma4")), _eagle(tiny, (0, 1, 5))) is None


def test_an_eagle_head_that_borrows_an_embedding_of_another_width(tiny: TinyModels) -> None:
    header = read_header(tiny("eagle3"))
    drafter = replace(header, tensors=header.tensors - {"token_embd.weight"})
    assert head_mismatch(read_header(tiny("qwen3")), drafter) == (
        "it borrows the target's embedding, whose width is 64 and not 32"
    )


@pytest.mark.parametrize("name", ["dflash", "dspark"])
def test_blocks_need_layers_and_a_mask(tiny: TinyModels, name: str) -> None:
    target = read_header(tiny("qwen3"))
    header = read_header(tiny(name))
    assert sidecar_kind(header) == name
    assert head_mismatch(target, header) is None
    without_mask = {k: v for k, v in header.metadata.items() if "mask" not in k}
    assert "no mask token" in str(head_mismatch(target, replace(header, metadata=without_mask)))
    without_layers = {k: v for k, v in header.metadata.items() if "layers" not in k}
    assert "does not name the layers" in str(
        head_mismatch(target, replace(header, metadata=without_layers))
    )


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("tokenizer.ggml.mask_token_id", 100_000, "no mask token"),
        ("tokenizer.ggml.mask_token_id", -1, "no mask token"),
        ("dflash.block_size", 0, "its blocks have 0 tokens"),
        ("dflash.block_size", 1, "its blocks have 1 tokens"),
        ("dflash.block_size", 1000, "its blocks have 1000 tokens"),
        ("dflash.block_size", "eight", "its blocks have eight tokens"),
    ],
)
def test_blocks_that_would_end_the_process_or_draft_nothing(
    tiny: TinyModels, key: str, value: object, says: str
) -> None:
    header = read_header(tiny("dspark"))
    drafter = replace(header, metadata={**header.metadata, key: value})
    assert says in str(head_mismatch(read_header(tiny("qwen3")), drafter))


@pytest.mark.parametrize("size", [280, 320])
@pytest.mark.parametrize("name", ["qwen35-mtp", "eagle3", "dflash"])
def test_a_head_has_the_tokens_of_its_target(tiny: TinyModels, name: str, size: int) -> None:
    """It is fed any of them, and rows that it borrows are as wide as the target's."""
    target = read_header(tiny("qwen35" if name == "qwen35-mtp" else "qwen3"))
    drafter = read_header(tiny(name, Variant(vocabulary=Vocabulary(size=size))))
    assert head_mismatch(target, drafter) == f"the target has 288 tokens and the head {size}"


def test_a_head_that_does_not_say_for_which_width(tiny: TinyModels) -> None:
    header = read_header(tiny("eagle3"))
    drafter = replace(header, metadata={**header.metadata, "eagle3.target_hidden_size": "64"})
    assert "does not say for which width" in str(head_mismatch(read_header(tiny("qwen3")), drafter))


def test_the_misspelt_assistant_is_named(tmp_path: Path, tiny: TinyModels) -> None:
    """Published drafters exist that stock llama.cpp cannot load, over one underscore."""
    path = tmp_path / "mtp-gemma.gguf"
    content = tiny("gemma4-assistant").read_bytes()
    path.write_bytes(content.replace(b"gemma4-assistant", b"gemma4_assistant"))
    (fit,) = possible_drafters(read_header(tiny("gemma4")), [Candidate("mtp", path)])
    assert "spelt gemma4_assistant" in fit.reason


def test_candidates_of_a_recipe_keep_their_order(tmp_path: Path, tiny: TinyModels) -> None:
    """Also those that are not here, do not fit, or are no drafters at all."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"")
    candidates = [
        Candidate("draft-model", None, missing="not downloaded yet"),
        Candidate("draft-model", tiny("qwen2")),
        Candidate("draft-model", tiny("qwen2", Variant(vocabulary=Vocabulary(type="llama")))),
        Candidate("draft-model", broken),
        Candidate("eagle3", tiny("llama")),
    ]
    fits = possible_drafters(read_header(tiny("llama")), candidates)
    assert [fit.path for fit in fits] == [candidate.path for candidate in candidates]
    assert [(fit.fits, fit.reason) for fit in fits] == [
        (False, "not downloaded yet"),
        (True, "same vocabulary"),
        (False, "the target's vocabulary is BPE and the drafter's SPM"),
        (False, "broken.gguf is empty."),
        (False, "it is a complete model (llama), not a head for another one"),
    ]


def test_large_vocabularies_are_compared_quickly(tmp_path: Path) -> None:
    """152,000 tokens that differ in the last one: the slow way of comparing."""
    size = 152_000
    one = Vocabulary(size=size)
    other = Vocabulary(size=size, replaced=((size - 1, "last"),))
    target = read_header(write(tmp_path / "a.gguf", "llama", Variant(vocabulary=one)))
    drafter = read_header(write(tmp_path / "b.gguf", "llama", Variant(vocabulary=other)))
    with pytest.raises(PairMismatchError, match="token 151999 is"):
        check_pair(target, drafter)
