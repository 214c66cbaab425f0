"""A drafter that fits and lies here already, for a model that nobody has named one for."""

import shlex

from localspec.cli.options import Request
from localspec.events import Notice
from localspec.runtime import Runtime
from localspec.store.companions import fitting_drafters

_MOST_READ = 2
"""Reading a header with a large vocabulary takes a tenth of a second."""


def unused_drafter(runtime: Runtime, request: Request, command: str) -> Notice | None:
    """What to type to draft with a model that is here; None where that was decided already.

    Reads headers, so it is to be asked when nobody waits for an answer.
    """
    undecided = runtime.kind == "lookup" and runtime.pair.kind == "auto"
    if request.quiet or not undecided:
        return None
    found = next(fitting_drafters(runtime.header, most_read=_MOST_READ), None)
    if found is None:
        return None
    return Notice(
        f"A model that can draft for {runtime.header.path.name} is on this machine.",
        f"To use it: localspec {command} -m {shlex.quote(request.model)} -d {shlex.quote(found.name)}",
    )
