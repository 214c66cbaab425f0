"""The conventions by which GGUF files are named: quantizations, split parts, files beside a target.

Names only: nothing here opens a file or a connection. `hub.py` chooses among a repo's files by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from localspec.errors import NotFoundError, UsageError

PREFERRED = (
    "Q4_K_M",
    "UD-Q4_K_XL",
    "Q4_K_S",
    "Q4_K_L",
    "Q4_0",
    "Q4_1",
    "MXFP4",
    "Q5_K_M",
    "Q5_K_S",
    "Q6_K",
    "Q8_0",
    "IQ4_NL",
    "IQ4_XS",
    "Q3_K_L",
    "Q3_K_M",
    "BF16",
    "F16",
    "F32",
)
"""Which quantization is taken when none is named, best first: Q4_K_M is what laptops run."""

_HEADS = ("mtp", "assistant", "eagle3", "dspark", "dflash")
"""Names of heads, best first: those of a model's maker come before those trained by others."""

_HEAD_QUANTS = ("Q8_0", "BF16", "F16", "F32")
"""Which quantization of a head is taken, best first: it is small, and rounding costs agreement."""

_SPLIT = re.compile(r"(?P<stem>.+)-(?P<no>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_QUANT = re.compile(
    r"(?:^|[-._])"
    r"(?P<quant>(?:UD-)?(?:I?Q\d+(?:_[A-Z0-9]+)*|TQ\d_\d|(?:MX|NV)FP4(?:_MOE)?|BF16|FP?16|FP?32))"
    r"(?=$|[-._])",
    re.IGNORECASE,
)
_BESIDE = "|".join(("mmproj", "imatrix", *_HEADS))
_SIDECAR = re.compile(
    rf"(?:{_BESIDE})[-._].*|.*[-._](?:{_BESIDE})(?:[-._].*)?",
    re.IGNORECASE,
)
_SIDECAR_FOLDERS = frozenset({"mtp", "mmproj", "eagle3", "dflash", "dspark"})


def split_parts(name: str) -> tuple[str, ...]:
    """Names of all parts of the split model that `name` belongs to, in order; else `(name,)`."""
    match = _SPLIT.fullmatch(name)
    if match is None:
        return (name,)
    count, suffix = int(match["count"]), name[-5:]
    if not 0 < int(match["no"]) <= count:
        return (name,)
    return tuple(f"{match['stem']}-{no:05}-of-{count:05}{suffix}" for no in range(1, count + 1))


def quant_of(file: str) -> str | None:
    """The quantization a file's name tells, upper case ("Q4_K_M"), or its folder's; else None."""
    *folders, name = file.split("/")
    match = _SPLIT.fullmatch(name)
    stem = match["stem"] if match else name.rsplit(".", 1)[0]
    for text in [stem, *folders[-1:]]:
        if found := _QUANT.findall(text):
            quant: str = found[-1].upper()
            return {"FP16": "F16", "FP32": "F32"}.get(quant, quant)
    return None


def is_sidecar(file: str) -> bool:
    """Whether the name is that of a file beside a target: projector, MTP head, drafter, imatrix."""
    *folders, name = file.split("/")
    stem = name.rsplit(".", 1)[0]
    return bool(_SIDECAR.fullmatch(stem)) or any(f.lower() in _SIDECAR_FOLDERS for f in folders)


def choose(repo: str, files: Iterable[str], quant: str | None) -> str:
    """The target file of `repo` for `quant`, or the preferred one; of a split model, part 1.

    Raises:
        NotFoundError: no GGUF at all, or none of that quantization.
        UsageError: several files fit equally.
    """
    targets = _targets(files)
    if not targets:
        raise NotFoundError(
            f"{repo} holds no GGUF file.", "GGUF repos often have a name that ends in -GGUF."
        )
    by_quant: dict[str, list[str]] = {}
    for file in targets:
        by_quant.setdefault(quant_of(file) or "", []).append(file)
    wanted = _wanted(repo, by_quant, quant)
    fitting = by_quant[wanted]
    if len(fitting) > 1:
        raise UsageError(
            f"{repo} has several {wanted or 'GGUF'} files: {', '.join(fitting)}.",
            f"Name the file: {repo}/{fitting[0]}",
        )
    return fitting[0]


def choose_head(files: Iterable[str], target: str) -> str | None:
    """The file of a repo that drafts for its target, judged by names alone; None if there is none."""
    present = sorted(file for file in files if file.lower().endswith(".gguf"))
    heads = [f for f in present if f != target and _head_rank(f) is not None]
    return min(heads, key=lambda f: (_head_rank(f), _head_quant_rank(f)), default=None)


def _head_rank(file: str) -> int | None:
    """Place among kinds of heads by a file's name and folders; None for what is no head.

    A name with MTP in its middle is as often that of a whole model with the head inside, gigabytes of it.
    """
    *folders, name = file.lower().split("/")
    words = re.split(r"[-._]", name.rsplit(".", 1)[0])
    for rank, head in enumerate(_HEADS):
        inside = head in words[1:-1] and head != "mtp"
        if inside or head in (words[0], words[-1], *folders):
            return rank
    return None


def _head_quant_rank(file: str) -> int:
    quant = quant_of(file)
    return _HEAD_QUANTS.index(quant) if quant in _HEAD_QUANTS else len(_HEAD_QUANTS)


def _targets(files: Iterable[str]) -> list[str]:
    """Whole models, in order of name; a repo of nothing but drafters offers those."""
    present = sorted(file for file in files if file.lower().endswith(".gguf"))
    firsts = [file for file in present if _is_first_of_complete(file, set(present))]
    return [file for file in firsts if not is_sidecar(file)] or firsts


def _is_first_of_complete(file: str, present: set[str]) -> bool:
    folder, slash, name = file.rpartition("/")
    parts = split_parts(name)
    return name == parts[0] and all(folder + slash + part in present for part in parts)


def _wanted(repo: str, by_quant: dict[str, list[str]], quant: str | None) -> str:
    if quant is None:
        known = [q for q in PREFERRED if q in by_quant]
        return known[0] if known else min(by_quant, key=lambda q: (q != "", q))
    for name in (quant.upper(), f"UD-{quant.upper()}"):
        if name in by_quant:
            return name
    there = [q for q in sorted(by_quant) if q]
    if not there:
        raise NotFoundError(
            f"{repo} has no {quant} file.", f"Its only GGUF has no quantization to name: {repo}"
        )
    raise NotFoundError(
        f"{repo} has no {quant} file; it has {', '.join(there)}.", f"For example {repo}:{there[0]}"
    )
