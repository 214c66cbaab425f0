"""`${VAR}` and `${VAR:-default}` in what configures a server, as other clients of MCP have it."""

import re
from collections.abc import Mapping

from localspec.errors import UsageError

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


def filled(text: str, environ: Mapping[str, str], server: str) -> str:
    """The text with the values of its variables; what comes of it is not looked through again.

    Args:
        text: any.
        environ: the variables there are.
        server: whose text it is, for the message.

    Raises:
        UsageError: a variable is not set and has no default.
    """

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        found = environ.get(name)
        # as shells do it: a default stands for an empty variable, too
        if default is not None:
            return found or default
        if found is None:
            raise UsageError(
                f"The MCP server {server} needs the environment variable {name}, which is not set.",
                f"Set it, or give a default: ${{{name}:-…}}",
            )
        return found

    return _VARIABLE.sub(value, text)
