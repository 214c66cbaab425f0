"""How a wrong recipe is mended: lines of TOML to paste, for the very fields that are wrong."""

import difflib
from collections.abc import Sequence

from localspec.faults import Fault

_SOURCE = {
    "path": '"models/big.gguf"',
    "repo": '"org/big-GGUF"',
    "file": '"big-Q4_K_M.gguf"',
    "revision": '"main"',
    "sha256": f'"{"0" * 64}" # of the file: sha256sum FILE',
    "size": "1117320768 # bytes",
    "packages": '["name==1.0"]',
    "member": '"data/big.gguf"',
}
EXAMPLES: dict[str, dict[str, str]] = {
    "": {
        "summary": '"My pair"',
        "licence": '"Apache-2.0"',
        "licence_url": '"https://example.org/licence"',
        "minimum_memory_gb": "6",
        "n_ctx": "8192",
        "template": '"chatml"',
        "note": '"What to know about it"',
        "verified": '"not yet"',
    },
    "verified": {
        "what": '"12 prompts, greedy"',
        "machine": '"a laptop with 16 GB"',
        "result": '"1.4 x plain"',
        "date": '"2026-12-01"',
        "versions": '"localspec 0.1.0"',
    },
    "target": _SOURCE,
    "drafters": {"kind": '"draft-model"', "note": '"What to know about it"'},
    "drafters.source": {**_SOURCE, "path": '"models/small.gguf"'}
    | {"repo": '"org/small-GGUF"', "file": '"small-Q4_K_M.gguf"'},
    "sampling": {
        "temperature": "0.7",
        "top_k": "20",
        "top_p": "0.8",
        "min_p": "0.05",
        "repeat_penalty": "1.1",
        "presence_penalty": "0.5",
        "frequency_penalty": "0.5",
    },
}
"""A sound value for each field of each table, as TOML writes it."""

_WHOLE = {
    "verified": ("what", "machine", "result", "date", "versions"),
    "target": ("repo", "file"),
    "drafters": ("kind",),
    "drafters.source": ("repo", "file"),
    "sampling": ("temperature",),
}
"""Fields that stand for a table which is wrong as a whole."""


def toml_advice(faults: Sequence[Fault]) -> str:
    """TOML that could stand where the faults are, each line indented by two blanks."""
    wanted: dict[str, list[str]] = {}
    out: list[str] = []
    for fault in faults:
        table, field = _field(fault)
        if fault.surplus:
            out.append(f"# take out: {fault.name}")
            close = difflib.get_close_matches(field, EXAMPLES.get(table, {}), n=1)
            if not close or close[0] == field:
                continue
            field = close[0]
        if field in EXAMPLES.get(table, {}):
            wanted.setdefault(table, []).append(field)
            continue
        whole = f"{table}.{field}".strip(".")
        wanted.setdefault(whole, []).extend(_WHOLE.get(whole, ()))
        if whole == "drafters":
            wanted.setdefault("drafters.source", []).extend(_WHOLE["drafters.source"])
    if "drafters.source" in wanted:
        wanted.setdefault("drafters", []).insert(0, "kind")
    lines = [line for table in EXAMPLES if table in wanted for line in _lines(table, wanted[table])]
    return "\n".join(f"  {line}" for line in [*lines, *out])


def _field(fault: Fault) -> tuple[str, str]:
    names = [str(part) for part in fault.place if isinstance(part, str)]
    return (".".join(names[:-1]), names[-1]) if names else ("", "")


def _lines(table: str, fields: Sequence[str]) -> list[str]:
    head = {"": [], "drafters": ["[[drafters]]"]}.get(table, [f"[{table}]"])
    return [*head, *(f"{field} = {EXAMPLES[table][field]}" for field in dict.fromkeys(fields))]
