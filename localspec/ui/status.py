"""The words of the status line and of the summary line: figures in, text out.

Every figure was measured in this process; what was not measured is left out. `live.py` draws.
"""

from localspec.events import Finished, LiveNumbers, PrefillProgress

TIMES, DOT = "\N{MULTIPLICATION SIGN}", "\N{MIDDLE DOT}"
"""The signs that are not ASCII."""

_REASONS = {
    "stop": None,
    "length": "ended at the token limit",
    "context": "ended because the context is full",
    "cancelled": "stopped",
    "tool_calls": "ended with calls of tools",
}


def live_line(live: LiveNumbers, cells: int, *, ascii_only: bool = False) -> str:
    """The status line: as many of the figures, the most important first, as `cells` hold."""
    return _fitted(_live_figures(live), cells, ascii_only=ascii_only)


def prefill_line(progress: PrefillProgress, cells: int, *, ascii_only: bool = False) -> str:
    """The status line while the prompt is being read."""
    figures = [f"reading the prompt: {progress.done}/{progress.total} tokens"]
    if progress.cached:
        figures.append(f"{progress.cached} were still in memory")
    return _fitted(figures, cells, ascii_only=ascii_only)


def summary_lines(finished: Finished, cells: int, *, ascii_only: bool = False) -> list[str]:
    """What is said of an answer when it is complete, in lines of at most `cells` cells."""
    speculation, timing = finished.speculation, finished.timing
    n_tokens = len(finished.token_ids)
    figures = [f"{n_tokens} {'token' if n_tokens == 1 else 'tokens'}"]
    figures += _rates(finished.live, timing.tokens_per_s, drafts=speculation.drafter != "none")
    figures.append(f"first token after {timing.prefill_s:.2f} s")
    prompt = f"{finished.prompt_tokens} prompt tokens"
    if finished.cached_tokens:
        prompt += f" ({finished.cached_tokens} still in memory)"
    drafter = speculation.drafter
    figures += [prompt, "no drafter" if drafter == "none" else f"drafter: {drafter}"]
    if reason := _REASONS[finished.reason]:
        figures.append(reason)
    return _wrapped(figures, cells, ascii_only=ascii_only)


def stopped_lines(live: LiveNumbers | None, cells: int, *, ascii_only: bool = False) -> list[str]:
    """What is said of an answer that was stopped before its figures were complete."""
    figures = ["stopped"] if live is None else ["stopped", *_live_figures(live)]
    return _wrapped(figures, cells, ascii_only=ascii_only)


def rate(tokens_per_s: float) -> str:
    """A speed, without its unit; also the others below: one figure looks the same everywhere."""
    return f"{tokens_per_s:.1f}"


def per_round(tokens_per_round: float) -> str:
    """Tokens a round."""
    return f"{tokens_per_round:.2f}"


def percent(share: float) -> str:
    """A share of 1."""
    return f"{100 * share:.0f} %"


def drafted_in(drafted_rounds: int, rounds: int) -> str:
    """How many of the rounds had a draft."""
    return f"drafted in {drafted_rounds} of {rounds} {'round' if rounds == 1 else 'rounds'}"


def _live_figures(live: LiveNumbers) -> list[str]:
    figures = _rates(live, live.tokens_per_s, drafts=live.drafted_rounds > 0)
    return [*figures, f"context {live.context_used}/{live.context_size}"]


def _rates(live: LiveNumbers, tokens_per_s: float | None, *, drafts: bool) -> list[str]:
    """The figures of speculation that were measured, the most important first.

    Where most rounds had no draft, a rate of acceptance says little of the answer; that is said.
    """
    figures = []
    if tokens_per_s is not None:
        figures.append(f"{rate(tokens_per_s)} tokens/s")
    if live.times_plain is not None:
        figures.append(f"{live.times_plain:.2f} {TIMES} plain")
    if drafts and 2 * live.drafted_rounds < live.rounds:
        figures.append(drafted_in(live.drafted_rounds, live.rounds))
    if live.acceptance_rate is not None:
        figures.append(f"{percent(live.acceptance_rate)} accepted")
    if live.tokens_per_round is not None:
        figures.append(f"{per_round(live.tokens_per_round)} tokens/round")
    return figures


def _joined(figures: list[str], *, ascii_only: bool) -> str:
    line = f" {DOT} ".join(figures)
    return line.replace(DOT, "|").replace(TIMES, "x") if ascii_only else line


def _cells(line: str) -> int:
    """East Asian fonts draw the signs that are not ASCII two cells wide."""
    return len(line) + sum(not c.isascii() for c in line)


def _fitted(figures: list[str], cells: int, *, ascii_only: bool) -> str:
    """Leave out whole figures from the end, rather than cut one to another number."""
    for n in range(len(figures), 1, -1):
        line = _joined(figures[:n], ascii_only=ascii_only)
        if _cells(line) <= cells:
            return line
    return _joined(figures[:1], ascii_only=ascii_only)


def _wrapped(figures: list[str], cells: int, *, ascii_only: bool) -> list[str]:
    """All figures, in as few lines as hold them whole."""
    lines: list[list[str]] = [[]]
    for figure in figures:
        if lines[-1] and _cells(_joined([*lines[-1], figure], ascii_only=ascii_only)) > cells:
            lines.append([])
        lines[-1].append(figure)
    return [_joined(line, ascii_only=ascii_only) for line in lines]
