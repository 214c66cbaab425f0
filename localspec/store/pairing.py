"""Which drafters fit a target, judged from the headers alone.

Reading two headers costs a tenth of a second each, loading two models costs gigabytes. A draft model
must have the target's vocabulary (`vocabulary_match.py`), a head must be made for the target (`heads.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from localspec.errors import LocalspecError, PairMismatchError
from localspec.store.architectures import sidecar_kind, unsupported_reason
from localspec.store.header import Header, read_header
from localspec.store.heads import head_mismatch, made_for_another, missing_head
from localspec.store.names import is_sidecar
from localspec.store.vocabulary_match import vocabulary_mismatch


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drafter somebody proposes for a target.

    Attributes:
        kind: "draft-model", "lookup", "mtp", "eagle3", "dflash", "dspark".
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


def check_pair(target: Header, drafter: Header) -> None:
    """Refuse a drafter's file that does not fit the target.

    Raises:
        PairMismatchError: with the first difference found.
    """
    if sidecar_kind(drafter):
        reason = head_mismatch(target, drafter)
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
    return missing_head(target) is None


def require_head(target: Header) -> None:
    """Refuse a target without an MTP head of its own.

    Raises:
        PairMismatchError: with the reason, and a file beside it that would serve.
    """
    reason = missing_head(target)
    if reason is None:
        return
    beside = fitting_sidecar(target)
    hint = f"This one beside it would serve: -d {beside}" if beside else "Without: -d lookup"
    raise PairMismatchError(f"{target.path.name} cannot draft by itself: {reason}.", hint)


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


def fitting_sidecar(target: Header) -> Path | None:
    """The first head in a file beside the target that can draft for it."""
    fits = possible_drafters(target, _sidecars(target))
    return next((fit.path for fit in fits if fit.fits), None)


def sidecar_files(target: Path) -> list[Path]:
    """Files beside a target, or in an `MTP` folder there, that are called like drafters."""
    here = target.parent
    files = [path for folder in (here, here / "MTP") for path in sorted(folder.glob("*.gguf"))]
    return [
        path for path in files if path != target and is_sidecar(path.relative_to(here).as_posix())
    ]


def _sidecars(target: Header) -> list[Candidate]:
    """Files beside the target, or in an `MTP` folder there, that are drafters for it by name and
    header.

    A file named like one may be a whole model with a head inside, or belong to another model of
    the same folder; such files are left out, and so are damaged ones. MTP heads, which the model's maker
    trained, come first.
    """
    found: list[Candidate] = []
    for path in sidecar_files(target.path):
        try:
            drafter = read_header(path)
        except LocalspecError:
            continue
        kind = sidecar_kind(drafter)
        if kind and made_for_another(target, drafter) is None:
            found.append(Candidate(kind, path))
    return sorted(found, key=lambda candidate: candidate.kind != "mtp")


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
        missing = missing_head(target)
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
    mismatch = head_mismatch(target, drafter)
    return DrafterFit(candidate.kind, path, mismatch is None, mismatch or "made for this target")
