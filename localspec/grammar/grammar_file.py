"""`--grammar`: a grammar of answers from a file, in llama.cpp's GBNF or in llguidance's dialect of Lark."""

import json

from llguidance.gbnf_to_lark import any_to_lark

from localspec.errors import UsageError
from localspec.grammar.held import Held, held_to, text_of

_HINT = "A grammar is a file in GBNF (root ::= …) or Lark (start: …)."


def file_grammar(path: str) -> Held:
    """The grammar of `--grammar FILE`.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no grammar that can be followed.
    """
    text = text_of(path, "--grammar")
    called = f"The grammar {path}"
    try:
        lark = any_to_lark(text)
    # the converter says what is wrong in errors of many kinds
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise UsageError(
            f"{called} cannot be used: {reason[0] if reason else type(error).__name__}.", _HINT
        ) from None
    return held_to(json.dumps({"grammars": [{"lark_grammar": lark}]}), called, _HINT)
