"""Plots as SVG: from figures to text, with nothing but the two. Colours come from the page's classes.

Each is an image with a title and a description for those who do not see it. Labels may hold anything.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from localspec.ui.sanitize import safe_for_terminal

_WIDTH, _LABEL, _FIGURE, _ROW = 420.0, 92.0, 130.0, 26.0
_HEIGHT, _LEFT, _BOTTOM, _TOP = 150.0, 40.0, 20.0, 16.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        label: whose it is.
        value: its length, ≥ 0.
        figure: the same in words, at its end.
        interval: from, to; None for none.
        theirs: it is another server's.
    """

    label: str
    value: float
    figure: str
    interval: tuple[float, float] | None = None
    theirs: bool = False


def bars(name: str, title: str, rows: Sequence[Bar], mark: float | None = None) -> Markup:
    """Bars below each other, with their intervals.

    Args:
        name: of the plot in its page, for references within it.
        title: what is shown.
        rows: at least one.
        mark: where a line goes across all; None for none.
    """
    ends = [row.interval[1] if row.interval else row.value for row in rows]
    most = max(*ends, *(row.value for row in rows), mark or 0.0) or 1.0
    scale = (_WIDTH - _LABEL - _FIGURE) / most
    drawn = [_bar(row, _ROW * i, scale) for i, row in enumerate(rows)]
    height = _ROW * len(rows)
    if mark is not None:
        x = _LABEL + mark * scale
        drawn.append(_line("mark", (x, 0.0), (x, height)))
    told = "; ".join(f"{row.label} {row.figure}" for row in rows)
    return _image(name, title, told, height, drawn)


def columns(name: str, title: str, rows: Sequence[tuple[str, float]]) -> Markup:
    """Shares beside each other, on an axis from 0 to 100 %.

    Args:
        name: of the plot in its page.
        title: what is shown.
        rows: label and share, 0..1, of each; at least one.
    """
    step = (_WIDTH - _LEFT) / len(rows)
    every = -(-len(rows) // 16)
    drawn = _axis(("0 %", "50 %", "100 %"))
    for i, (label, share) in enumerate(rows):
        x, height = _LEFT + i * step, (_HEIGHT - _TOP - _BOTTOM) * share
        drawn.append(
            Markup(
                '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
            ).format(x + step * 0.15, _HEIGHT - _BOTTOM - height, step * 0.7, height)
        )
        if i % every == 0:
            drawn.append(_text(x + step / 2, _HEIGHT - 5, label, "middle"))
    told = ", ".join(f"{label}: {share:.0%}" for label, share in rows)
    return _image(name, title, told, _HEIGHT, drawn)


def course(name: str, title: str, values: Sequence[float], unit: str) -> Markup:
    """Values in the order they were measured, from 0 up.

    Args:
        name: of the plot in its page.
        title: what is shown.
        values: at least two, ≥ 0.
        unit: of the values.
    """
    most = max(values) or 1.0
    step = (_WIDTH - _LEFT - 8) / (len(values) - 1)
    room = _HEIGHT - _TOP - _BOTTOM
    points = [
        (_LEFT + 4 + i * step, _HEIGHT - _BOTTOM - room * value / most)
        for i, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawn = [
        *_axis(("0", f"{most / 2:.1f}", f"{most:.1f}")),
        Markup('<polyline class="course" points="{}"/>').format(path),
        *(
            Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(*p)
            for p in points
        ),
        _text(_LEFT, _HEIGHT - 5, "first", "start"),
        _text(_WIDTH, _HEIGHT - 5, "last", "end"),
    ]
    told = f"{len(values)} values from {min(values):.1f} to {most:.1f} {unit}"
    return _image(name, title, told, _HEIGHT, drawn)


def _bar(row: Bar, y: float, scale: float) -> Markup:
    middle = y + _ROW / 2
    end = _LABEL + scale * (row.interval[1] if row.interval else row.value)
    parts = [
        _text(_LABEL - 6, middle + 4, row.label, "end"),
        Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            "bar theirs" if row.theirs else "bar", _LABEL, y + 5, scale * row.value, _ROW - 10
        ),
        _text(max(end, _LABEL + scale * row.value) + 6, middle + 4, row.figure, "start"),
    ]
    if row.interval:
        low, high = (_LABEL + scale * x for x in row.interval)
        parts.append(_line("whisker", (low, middle), (high, middle)))
        parts += [_line("whisker", (x, middle - 4), (x, middle + 4)) for x in (low, high)]
    return Markup("").join(parts)


def _axis(labels: tuple[str, str, str]) -> list[Markup]:
    """Lines across at 0, half and all of it, with labels."""
    drawn = []
    for label, share in zip(labels, (0.0, 0.5, 1.0), strict=True):
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share
        drawn += [_line("grid", (_LEFT, y), (_WIDTH, y)), _text(_LEFT - 5, y + 4, label, "end")]
    return drawn


def _line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, *start, *end
    )


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y, anchor, safe_for_terminal(text)
    )


def _image(name: str, title: str, told: str, height: float, drawn: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-labelledby="{name}-t {name}-d">'
        '<title id="{name}-t">{}</title><desc id="{name}-d">{}</desc>{}</svg>'
    ).format(
        _WIDTH,
        height,
        safe_for_terminal(title),
        safe_for_terminal(told),
        Markup("").join(drawn),
        name=name,
    )
