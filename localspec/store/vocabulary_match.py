"""Whether two vocabularies mean the same by every id.

The rule is llama.cpp's (`common_speculative_are_compatible` in `common/speculative.cpp`).
"""

from typing import Final

from localspec.store.vocabulary import Vocabulary

MAX_SIZE_DIFFERENCE: Final = 128
FIRST_COMPARED_TOKEN: Final = 5
"""llama.cpp's tolerance: padding at the end, and free choice of the first special tokens."""


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
