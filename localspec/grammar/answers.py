"""A grammar of replies whose answer is held to a schema or a grammar; a thought before it is free."""

import json

from localspec.chat.format import ChatFormat
from localspec.grammar.channels import final_channel
from localspec.grammar.lark import Rules
from localspec.grammar.thoughts import Thoughts
from localspec.grammar.tokens import GrammarTokens


def answer_grammar(form: ChatFormat | None, answer: str, tokens: GrammarTokens) -> str:
    """The grammar of a reply.

    Args:
        form: how the model writes; None for a text without a template.
        answer: the grammar of its answer, in llguidance's form of JSON (`LLMatcher.grammar_from_…`).
        tokens: the model's.
    """
    if form is None or (form.reasoning is None and form.content is None and not form.channels):
        return answer
    rules = Rules(tokens)
    if form.channels:
        rules.add("start", f"{final_channel(rules)} @answer")
    else:
        around = form.content
        before = rules.literal(around.start) if around and around.start else ""
        after = rules.literal(around.end) if around and around.end else ""
        rules.add("start", f"{Thoughts(rules, form.reasoning).lead} {before} @answer {after}")
    inner = [{**one, "name": "answer"} for one in json.loads(answer)["grammars"]]
    return json.dumps({"grammars": [{"lark_grammar": rules.source}, *inner]})
