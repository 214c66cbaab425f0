"""Thoughts in a grammar: any text between the markers of the model's template."""

from localspec.chat.format import Markers
from localspec.grammar.lark import Rules, exactly


class Thoughts:
    """The rules of thoughts.

    Args:
        rules: gets the rules that this takes.
        markers: what stands around a thought; None where the model marks none.

    Attributes:
        lead: the body of a thought that may come first.
        events: bodies of a thought with the text before it.
        ending: the body of what a reply ends with: text, or a thought that breaks off.
        markers: what begins a thought.
    """

    def __init__(self, rules: Rules, markers: Markers | None) -> None:
        self.lead, self.ending = "", "TEXT"
        self.events: list[str] = []
        self.markers: list[str] = []
        if markers is None or not markers.start or not markers.end:
            return
        others = rules.others(markers.start, markers.end)
        skipped = f"(TEXT {others})*" if others else ""
        inner = rules.add("inner", f"{skipped} {rules.upto('closed', markers.end)}")
        opened = rules.upto("opened", markers.start)
        broken_off = "TEXT"
        if not rules.is_token(markers.end):
            broken_off = rules.without("UNCLOSED", f"(.|\n)*{exactly(markers.end)}(.|\n)*")
        self.lead = f"(WS {rules.literal(markers.start)} {inner})? WS"
        self.events = [f"{opened} {inner}"]
        self.ending = f"(TEXT | {opened} {skipped} {broken_off})"
        self.markers = [markers.start]
