"""Which drafters fit a target, judged from the headers alone.

The rule for a draft model is llama.cpp's (`common_speculative_are_compatible` in
`common/speculative.cpp`): the two vocabularies must mean the same by every id. Reading two
headers costs a tenth of a second each, loading two models costs gigabytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localspec.errors import LocalspecError, PairMismatchError
from localspec.store.architectures import (
    MISSPELT_ASSISTANT,
    MTP_GRAPH,
    has_mtp_head,
    sidecar_kind,
    unsupported_reason,
)
from localspec.store.fields import Small
from localspec.store.header import Header, read_header
from localspec.store.names import is_sidecar
from localspec.store.vocabulary import Vocabulary

MAX_SIZE_DIFFERENCE: Final = 128
FIRST_COMPARED_TOKEN: Final = 5
"""llama.cpp's tolerance: padding at the end, and free choice of the first special tokens."""

NOT_YET: Final = "not supported yet by this version"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drafter somebody proposes for a target.

    Attributes:
        kind: "draft-model", "lookup", "mtp", "eagle3", "dflash".
        path: its file; None for a kind without one, or if the file is not here.
        missing: why the file is not here, where the kind needs one.
    """

    kind: str
    path: Path | None = None
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class DrafterFit:
    """Whether one drafter fits, and why; the fields of `inspect --json`."""

    kind: str
    path: Path | None
    fits: bool
    reason: str


def vocabulary_mismatch(target: Vocabulary, drafter: Vocabulary) -> str | None:
    """Why a drafter with this vocabulary cannot draft for the target; None if it can."""
    if target.type != drafter.type:
        return f"the target's vocabulary is {target.type} and the drafter's {drafter.type}"
    for name, adds, token in (
        ("begin", (target.add_bos, drafter.add_bos), (target.bos, drafter.bos)),
        ("end", (target.add_eos, drafter.add_eos), (target.eos, drafter.eos)),
    ):
        if adds[0] != adds[1]:
            one, other = ("target", "drafter") if adds[0] else ("drafter", "target")
            return f"the {one} adds a token at the {name} of a text and the {other} does not"
        if adds[0] and token[0] != token[1]:
            return f"texts {name} with token {token[0]} in the target and {token[1]} in the drafter"
    if abs(target.size - drafter.size) > MAX_SIZE_DIFFERENCE:
        return f"the target has {target.size} tokens and the drafter {drafter.size}"
    return None if target.digest == drafter.digest else _token_mismatch(target, drafter)


def _token_mismatch(target: Vocabulary, drafter: Vocabulary) -> str | None:
    pairs = zip(target.texts(), drafter.texts(), strict=False)
    for token, (ours, theirs) in enumerate(pairs):
        if ours != theirs and token >= FIRST_COMPARED_TOKEN:
            texts = f"{_quoted(ours)} in the target and {_quoted(theirs)} in the drafter"
            return f"token {token} is {texts}"
    return None


def _quoted(text: bytes) -> str:
    shown = repr(text[:40].decode(errors="replace"))
    return shown if len(text) <= 40 else f"{shown}…"


def check_pair(target: Header, drafter: Header) -> None:
    """Refuse a drafter's file that does not fit the target.

    Raises:
        PairMismatchError: with the first difference found.
    """
    if sidecar_kind(drafter):
        reason = _head_mismatch(target, drafter)
        if reason is None:
            return
        raise PairMismatchError(
            f"{drafter.path.name} cannot draft for {target.path.name}: {reason}.",
            f"Drafters that fit it: localspec inspect {target.path}",
        )
    reason = _draft_model_mismatch(target, drafter)
    if reason is None:
        return
    hint = "Tested pairs: localspec recipes. Without a drafter file: -d lookup"
    if target.vocabulary:
        kind = f"{target.vocabulary.type}, {target.vocabulary.size} tokens"
        hint = (
            f"A drafter must have the target's vocabulary ({kind}); "
            f"smaller models of the same family often do. {hint}"
        )
    raise PairMismatchError(
        f"{drafter.path.name} cannot draft for {target.path.name}: {reason}.", hint
    )


def can_draft_itself(target: Header) -> bool:
    """True if the target's own file holds an MTP head that llama.cpp can run."""
    return _missing_head(target) is None


def require_head(target: Header) -> None:
    """Refuse a target without an MTP head of its own.

    Raises:
        PairMismatchError: with the reason, and a file beside it that would serve.
    """
    reason = _missing_head(target)
    if reason is None:
        return
    beside = [c.path for c in _sidecars(target) if c.path and c.kind == "mtp"]
    hint = f"This one beside it would serve: -d {beside[0]}" if beside else "Without: -d lookup"
    raise PairMismatchError(f"{target.path.name} cannot draft by itself: {reason}.", hint)


def _head_mismatch(target: Header, drafter: Header) -> str | None:
    """Why a head's file cannot draft for the target; None if it can."""
    if drafter.architecture == MISSPELT_ASSISTANT:
        return f"its architecture is spelt {MISSPELT_ASSISTANT}, which llama.cpp does not know"
    reason = _sidecar_mismatch(target, drafter)
    if reason:
        return reason
    if sidecar_kind(drafter) != "mtp":
        return f"drafters of the kind {sidecar_kind(drafter)} are {NOT_YET}"
    if target.vocabulary and drafter.vocabulary:
        reason = vocabulary_mismatch(target.vocabulary, drafter.vocabulary)
    # an assistant's layers are one head, and not one each
    return reason if drafter.architecture != target.architecture else reason or _chained(drafter)


def _draft_model_mismatch(target: Header, drafter: Header) -> str | None:
    reason = unsupported_reason(drafter)
    if reason:
        return f"it is {reason}"
    if target.vocabulary is None or drafter.vocabulary is None:
        return "one of them has no vocabulary"
    return vocabulary_mismatch(target.vocabulary, drafter.vocabulary)


def own_candidates(target: Header) -> list[Candidate]:
    """The drafters of a bare file, best first: its MTP head, its sidecars, look-up."""
    head = [Candidate("mtp")] if target.nextn_predict_layers else []
    return [*head, *_sidecars(target), Candidate("lookup")]


def _sidecars(target: Header) -> list[Candidate]:
    """Files beside the target, or in an `MTP` folder there, that are drafters for it by name and
    header.

    A file named like one may be a whole model with a head inside, or belong to another model of
    the same folder; such files are left out, and so are damaged ones.
    """
    found: list[Candidate] = []
    here = target.path.parent
    for folder in (here, here / "MTP"):
        for path in sorted(folder.glob("*.gguf")):
            if path == target.path or not is_sidecar(path.name):
                continue
            try:
                drafter = read_header(path)
            except LocalspecError:
                continue
            kind = sidecar_kind(drafter)
            if kind and _sidecar_mismatch(target, drafter) is None:
                found.append(Candidate(kind, path))
    return found


def possible_drafters(target: Header, candidates: Iterable[Candidate]) -> list[DrafterFit]:
    """Judge each candidate: those of a recipe in its order, or the `own_candidates` of a file."""
    return [_fit(target, candidate) for candidate in candidates]


def _fit(target: Header, candidate: Candidate) -> DrafterFit:
    path = candidate.path
    blocked = unsupported_reason(target)
    if blocked:
        return DrafterFit(candidate.kind, path, False, f"the target is {blocked}")
    if candidate.missing:
        return DrafterFit(candidate.kind, path, False, candidate.missing)
    if candidate.kind == "lookup":
        return DrafterFit("lookup", None, True, "needs no file: it repeats what the text has said")
    if path is None:
        missing = _missing_head(target)
        if candidate.kind != "mtp":
            missing = f"a drafter of the kind {candidate.kind} needs a file"
        return DrafterFit(candidate.kind, None, missing is None, missing or "in the target's file")
    try:
        drafter = read_header(path)
    except LocalspecError as error:
        return DrafterFit(candidate.kind, path, False, error.message)
    if candidate.kind == "draft-model":
        reason = _draft_model_mismatch(target, drafter)
        return DrafterFit("draft-model", path, reason is None, reason or "same vocabulary")
    mismatch = _head_mismatch(target, drafter)
    return DrafterFit(candidate.kind, path, mismatch is None, mismatch or "made for this target")


def _missing_head(target: Header) -> str | None:
    """Why the head inside the target's own file cannot be used; None if it can."""
    if not target.nextn_predict_layers:
        return "it has no MTP head"
    if not has_mtp_head(target):
        return "the MTP head was left out of this file"
    if target.architecture not in MTP_GRAPH:
        return f"llama.cpp cannot run the MTP head of {target.architecture}"
    return _chained(target)


def _chained(header: Header) -> str | None:
    """Why the heads of a file cannot be used, if there is one for each token of a draft."""
    if header.nextn_predict_layers > 1:
        return f"heads in a chain (it has {header.nextn_predict_layers}) are {NOT_YET}"
    return None


def _sidecar_mismatch(target: Header, drafter: Header) -> str | None:
    """Why a drafter that borrows from its target does not belong to this one; None if it may."""
    architecture = drafter.architecture
    kind = sidecar_kind(drafter)
    if kind is None:
        return f"it is a complete model ({architecture}), not a head for another one"
    if kind == "mtp":
        owner = architecture.removesuffix("-assistant").removesuffix("_assistant")
        if owner != target.architecture:
            return f"it is made for {owner}, the target is {target.architecture}"
    width = _target_width(drafter)
    if width != target.n_embd:
        return f"it is made for a target of width {width}, this one has {target.n_embd}"
    return None


def _target_width(drafter: Header) -> Small | None:
    """Width of the hidden states that a drafter expects from its target."""
    if drafter.architecture == "eagle3":
        return drafter.metadata.get("eagle3.target_hidden_size")
    return drafter.n_embd_out or drafter.n_embd
