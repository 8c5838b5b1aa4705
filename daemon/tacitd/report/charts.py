"""Static SVG for a series of values. Pure: values in, a string out.

Chart libraries that make static SVG (pygal, leather) draw into a fixed coordinate system that a browser scales as a whole, so
that a chart on a narrow screen has text that nobody can read; their colours are fixed too. So horizontal positions here are
per cent of the width and everything else is in pixels, and colours are classes, which the page's style sheet defines for
both colour schemes. Text is escaped here.
"""

from __future__ import annotations

import math
from html import escape

from tacitd.report.sections import ReportSeries

HEIGHT, TOP, BOTTOM = 150, 20, 24
"""Pixels: the whole chart, and what is left above for the largest value and below for labels."""
LABELS = 4
"""Labels below a chart at most, so that they do not overlap at 320 px."""
RADIUS = 3.5


def draw_series(series: ReportSeries) -> str:
    """Return the chart as an `<svg>` element."""
    values = [clean_value(value) for _, value in series.points]
    largest = max(values, default=0.0)
    width = 100.0 / max(1, len(values))
    parts = [_draw_base()]
    tops = [_place(value, largest) for value in values]
    if series.form == "points":
        parts += [
            f'<line class="path" x1="{_percent(width * (n + 0.5))}" y1="{tops[n]:.1f}" '
            f'x2="{_percent(width * (n + 1.5))}" y2="{tops[n + 1]:.1f}"/>'
            for n in range(len(tops) - 1)
        ]
    for number, ((label, _), value, top) in enumerate(zip(series.points, values, tops, strict=True)):
        hint = f"<title>{escape(label)}: {escape(format_value(value, series.unit))}</title>"
        if series.form == "points":
            x = _percent(width * (number + 0.5))
            parts.append(f'<circle class="mark" cx="{x}" cy="{top:.1f}" r="{RADIUS}">{hint}</circle>')
        elif value:
            x, wide = _percent(width * (number + 0.15)), _percent(width * 0.7)
            tall = HEIGHT - BOTTOM - top
            parts.append(
                f'<rect class="bar" x="{x}" y="{top:.1f}" width="{wide}" height="{tall:.1f}">{hint}</rect>'
            )
    if largest:
        at = values.index(largest)
        text = format_value(largest, series.unit)
        parts.append(_draw_text(text, width * (at + 0.5), _place(largest, largest) - 6, "value"))
    parts += [
        _draw_text(series.points[n][0], width * (n + 0.5), HEIGHT - 7, "label")
        for n in choose_labels(len(values))
    ]
    name = escape(describe_series(series), quote=True)
    return f'<svg role="img" aria-label="{name}" width="100%" height="{HEIGHT}">{"".join(parts)}</svg>'


def choose_labels(count: int) -> list[int]:
    """Which of so many labels are shown: at most LABELS, evenly spaced."""
    step = max(1, math.ceil(count / LABELS))
    return list(range(0, count, step))


def describe_series(series: ReportSeries) -> str:
    """The chart in a sentence, for those who do not see it."""
    if not any(clean_value(value) for _, value in series.points):
        return f"{series.title}: nothing"
    label, value = max(series.points, key=lambda one: clean_value(one[1]))
    total = format_value(sum(clean_value(value) for _, value in series.points), series.unit)
    return f"{series.title}: {total} in all, the most in {label} ({format_value(value, series.unit)})"


def format_value(value: float, unit: str) -> str:
    """`12`, `3.5` or `$0.42`."""
    clean = clean_value(value)
    if unit == "$":
        return f"${clean:,.2f}"
    return f"{clean:,.0f}" if clean == int(clean) else f"{clean:,.1f}"


def clean_value(value: float) -> float:
    """The value if it is a finite number from 0 to 1e15, otherwise 0: a damaged record must not spoil the page."""
    return float(value) if math.isfinite(value) and 0 <= value < 1e15 else 0.0


def _place(value: float, largest: float) -> float:
    """The vertical position of a value in pixels. A value above 0 is at least 2 pixels high."""
    room = HEIGHT - TOP - BOTTOM
    share = value / largest if largest else 0.0
    return HEIGHT - BOTTOM - (max(2.0, share * room) if value else 0.0)


def _draw_base() -> str:
    y = HEIGHT - BOTTOM
    return f'<line class="axis" x1="0" y1="{y}" x2="100%" y2="{y}"/>'


def _draw_text(text: str, x: float, y: float, kind: str) -> str:
    """Text at `x` per cent. Near an edge it begins or ends there, so that it is not cut off."""
    anchor, at = ("start", 0.0) if x < 8 else ("end", 100.0) if x > 92 else ("middle", x)
    return f'<text class="{kind}" x="{_percent(at)}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _percent(value: float) -> str:
    return f"{value:.2f}%"
