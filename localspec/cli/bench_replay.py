"""`localspec bench replay`: recorded rounds under another machine's costs."""

from pathlib import Path
from typing import Annotated

import typer


def replay_command(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE…", help="Files that --trace has written.")
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="FILE|NAME", help="Whose costs; one that is shipped, or a file."
        ),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            metavar="A,B,…",
            help="Of plain, fixed:N, threshold:P, auto, auto-run, auto-tuned.",
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON too.")
    ] = None,
) -> None:
    """Replay recorded rounds as if another machine had run them, under several policies.

    Examples:

    localspec bench --arms fixed:4 --trace rounds.jsonl --trace-full

    localspec bench replay rounds.jsonl --machine discrete-gpu
    """
    from rich.console import Console

    from localspec.bench.machines import load_machine
    from localspec.bench.replay import DEFAULT_POLICIES, policy_maker, read_answers, replay
    from localspec.cli.writable import check_writable
    from localspec.ui.replay import draw_replay

    known = load_machine(_named(machine))
    names = _names(policies) or DEFAULT_POLICIES
    for name in names:
        policy_maker(name)
    check_writable({"--json": json}, [*traces, machine])
    found = replay(read_answers(traces), known, names).to_json()
    draw_replay(found, Console())
    if json is not None:
        _write(json, found)


def _named(machine: str | None) -> str:
    """The machine's name.

    Raises:
        UsageError: none was named.
    """
    from localspec.bench.machines import machine_names
    from localspec.errors import UsageError

    if machine is None:
        names = ", ".join(machine_names())
        raise UsageError("Say whose costs to replay with.", f"--machine FILE, or one of: {names}")
    return machine


def _names(policies: str | None) -> tuple[str, ...]:
    """The policies of a list, each once.

    Raises:
        UsageError: the list is empty.
    """
    from localspec.errors import UsageError

    if policies is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in policies.split(",") if name.strip()))
    if not names:
        raise UsageError("--policies names none.", "For example: --policies fixed:4,auto")
    return names


def _write(path: Path, found: object) -> None:
    from json import dumps

    from localspec.errors import unwritable
    from localspec.paths import expanded

    # half of a surrogate pair, which a file's name may hold, has no UTF-8
    text = dumps(found, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")
    try:
        expanded(path).write_bytes(text + b"\n")
    except OSError as error:
        raise unwritable(path, "--json", error) from error
