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
}


def live_line(live: LiveNumbers, cells: int, *, ascii_only: bool = False) -> str:
    """The status line: as many of the figures, the most important first, as `cells` hold."""
    figures = rates(
        live.tokens_per_s, live.acceptance_rate, live.tokens_per_round, live.times_plain
    )
    figures.append(f"context {live.context_used}/{live.context_size}")
    return _fitted(figures, cells, ascii_only=ascii_only)


def prefill_line(progress: PrefillProgress, cells: int, *, ascii_only: bool = False) -> str:
    """The status line while the prompt is being read."""
    figures = [f"reading the prompt: {progress.done}/{progress.total} tokens"]
    if progress.cached:
        figures.append(f"{progress.cached} were still in memory")
    return _fitted(figures, cells, ascii_only=ascii_only)


def summary_line(finished: Finished, *, ascii_only: bool = False) -> str:
    """What is said of an answer when it is complete."""
    speculation = finished.speculation
    n_tokens = len(finished.token_ids)
    figures = [f"{n_tokens} {'token' if n_tokens == 1 else 'tokens'}"]
    figures += rates(
        finished.timing.tokens_per_s,
        speculation.acceptance_rate,
        speculation.tokens_per_round,
        finished.live.times_plain,
    )
    figures.append(f"first token after {finished.timing.prefill_s:.2f} s")
    prompt = f"{finished.prompt_tokens} prompt tokens"
    if finished.cached_tokens:
        prompt += f" ({finished.cached_tokens} still in memory)"
    drafter = speculation.drafter
    figures += [prompt, "no drafter" if drafter == "none" else f"drafter: {drafter}"]
    if reason := _REASONS[finished.reason]:
        figures.append(reason)
    return _joined(figures, ascii_only=ascii_only)


def stopped_line(live: LiveNumbers | None, *, ascii_only: bool = False) -> str:
    """What is said of an answer that was stopped before its figures were complete."""
    figures = ["stopped"]
    if live is not None:
        figures.append(live_line(live, 1 << 30, ascii_only=ascii_only))
    return _joined(figures, ascii_only=ascii_only)


def rates(
    tokens_per_s: float | None,
    acceptance_rate: float | None,
    tokens_per_round: float | None,
    times_plain: float | None,
) -> list[str]:
    """The figures of speculation that were measured, the most important first."""
    figures = []
    if tokens_per_s is not None:
        figures.append(f"{tokens_per_s:.1f} tokens/s")
    if times_plain is not None:
        figures.append(f"{times_plain:.2f} {TIMES} plain")
    if acceptance_rate is not None:
        figures.append(f"{100 * acceptance_rate:.0f} % accepted")
    if tokens_per_round is not None:
        figures.append(f"{tokens_per_round:.2f} tokens/round")
    return figures


def _joined(figures: list[str], *, ascii_only: bool) -> str:
    line = f" {DOT} ".join(figures)
    return line.replace(DOT, "|").replace(TIMES, "x") if ascii_only else line


def _fitted(figures: list[str], cells: int, *, ascii_only: bool) -> str:
    """Leave out whole figures from the end, rather than cut one to another number."""
    for n in range(len(figures), 1, -1):
        line = _joined(figures[:n], ascii_only=ascii_only)
        # East Asian fonts draw the signs that are not ASCII two cells wide.
        if len(line) + sum(not c.isascii() for c in line) <= cells:
            return line
    return _joined(figures[:1], ascii_only=ascii_only)
