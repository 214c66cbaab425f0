"""Which drafter can meet which target, told by the code that refuses the others, as a Markdown table.

`python -m tests.store.drafter_table` writes it into docs/drafters.md.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from localspec.errors import PairMismatchError
from localspec.llama.memory import plan_memory
from localspec.store.header import Header, read_header
from localspec.store.heads import head_mismatch, missing_head
from localspec.store.pairing import check_pair
from localspec.store.recurrent import state_bytes
from tests.tiny import write

PAGE = Path(__file__).parents[2] / "docs" / "drafters.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"

TARGETS = (
    "llama",
    "qwen2",
    "qwen3",
    "gemma3",
    "gemma4",
    "qwen35",
    "lfm2",
    "falcon-h1",
    "mamba",
    "step35",
    "mimo2",
    "hy_v3",
)
DRAFTERS = (
    "look-up",
    "draft model",
    "MTP in the file",
    "MTP beside it",
    "gemma4-assistant",
    "EAGLE-3",
    "DFlash",
    "DSpark",
)


def table(folder: Path) -> str:
    """The table and its notes.

    Args:
        folder: for the files that are judged.
    """
    reasons: dict[str, int] = {}
    lines = [
        "| target | takes drafts back by | " + " | ".join(DRAFTERS) + " |",
        "|---" * (len(DRAFTERS) + 2) + "|",
    ]
    for name in TARGETS:
        target = read_header(write(folder / f"{name}.gguf", name))
        refusals = [_refusal(folder, target, drafter) for drafter in DRAFTERS]
        cells = [_cell(reasons, refusal, name) for refusal in refusals]
        lines.append(f"| {name} | {_memory(target)} | " + " | ".join(cells) + " |")
    notes = [f"{n}. {reason}" for reason, n in reasons.items()]
    return "\n".join([*lines, "", *notes, ""])


def _cell(reasons: dict[str, int], reason: str | None, target: str) -> str:
    """A cell; targets that are refused for the same reason share a note."""
    if reason is None:
        return "yes"
    reason = reason.replace(f" {target}", " this architecture")
    return f"no ({reasons.setdefault(reason, len(reasons) + 1)})"


def _memory(target: Header) -> str:
    window = target.sliding_window or 0
    plan = plan_memory(
        target.architecture, keeps_state=state_bytes(target) > 0, n_swa=window, n_draft=8
    )
    if plan.copies:
        return "a copy of the state"
    if plan.n_last_states:
        return "the states of the last tokens"
    return "cutting the tail, window checked" if window else "cutting the tail"


def _refusal(folder: Path, target: Header, drafter: str) -> str | None:
    """Why the drafter cannot draft for the target, whatever its file; None if it can."""
    match drafter:
        case "look-up":
            return None
        case "draft model":
            try:
                check_pair(target, read_header(write(folder / "draft.gguf", "qwen2")))
            except PairMismatchError as error:
                return error.message
            return None
        case "MTP in the file":
            return missing_head(_with_head(target))
        case "MTP beside it":
            head = read_header(write(folder / "head.gguf", "qwen35-mtp"))
            return head_mismatch(target, replace(head, architecture=target.architecture))
        case "gemma4-assistant":
            return head_mismatch(target, read_header(write(folder / "guest.gguf", drafter)))
        case _:
            name = drafter.lower().replace("-", "")
            header = read_header(write(folder / f"{name}.gguf", name))
            # layers that any target has
            layers = {f"{header.architecture}.target_layers": (0, 1, 1)}
            return head_mismatch(target, replace(header, metadata={**header.metadata, **layers}))


def _with_head(target: Header) -> Header:
    """The target with one MTP layer, if it has none."""
    if target.nextn_predict_layers:
        return target
    n = target.n_layers or 0
    tensors = target.tensors | {f"blk.{n}.nextn.eh_proj.weight"}
    return replace(target, n_layers=n + 1, nextn_predict_layers=1, tensors=tensors)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(before + BEGIN + table(Path(made)) + END + rest.partition(END)[2], "utf-8")
