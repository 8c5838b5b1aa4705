"""The report as one HTML page: no script, no request, light and dark, on a phone and on paper. Pure.

All text of sections is a stranger's: hidden characters are removed and it is escaped. The Content-Security-Policy forbids
everything but the style sheet with its hash, so a mistake here cannot load or run anything either.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from html import escape

from tacitd.report.sections import Cell, ReportSection, ReportSeries, ReportTable
from tacitd.text.sanitize import sanitize_line
from tacitd.text.wording import format_dollars, shorten_line

ROWS = 200
"""Rows of a table that are shown; the others are counted."""

GENERATOR = "tacitd report"
"""By this name in a page's head an earlier report is recognised before it is replaced."""
CELL = 400
"""Characters of a cell that are shown."""

STYLE = """
:root{color-scheme:light dark;--ground:#fdfdfc;--text:#1d1f23;--soft:#5c626c;--line:#d9dbe0;--fill:#2f6fb3;--warn:#a8530a}
@media (prefers-color-scheme:dark){:root{--ground:#15171b;--text:#e6e7ea;--soft:#a2a8b3;--line:#343841;--fill:#6fa8e6;--warn:#eda658}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.25rem 1rem 3rem;max-width:58rem;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0}
h2{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.5rem 0 .25rem}
.soft,.unknown,th{color:var(--soft)}
.warn{color:var(--warn)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line)}
.number,.short{white-space:nowrap}
.number{text-align:right}
.bar{width:100%}
.bar svg{display:block;width:100%;height:1.2em;fill:var(--fill)}
@media (max-width:40rem){
.rows thead{position:absolute;clip-path:inset(50%)}
.rows tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}
.rows td{display:grid;grid-template-columns:8.5rem 1fr;padding:.1rem 0;border:0;text-align:left;white-space:normal}
.rows td::before{content:attr(data-label);color:var(--soft)}
.rows td:first-child{display:block;font-weight:600}
.rows td:first-child::before{content:none}
}
@media print{:root{--ground:#fff;--text:#000;--soft:#444;--line:#bbb}tr{break-inside:avoid}}
"""


def render_page(
    title: str, about: str, sections: Iterable[ReportSection], problems: Iterable[str] = ()
) -> str:
    """Return the page. `about`: a sentence below the title; `problems`: what is missing in the report, and why."""
    body = [f"<h1>{_clean(title)}</h1>", f'<p class="soft">{_clean(about)}</p>']
    body += [f'<p class="warn">{_clean(problem)}</p>' for problem in problems]
    shown = [kept for section in sections if (kept := section.keep_data()) is not None]
    body += [line for section in shown for line in _render_section(section)]
    if not shown:
        body.append("<p>Nothing was learned or changed in this time.</p>")
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="{GENERATOR}">'
        f'<link rel="icon" href="data:,"><title>{_clean(title)}</title><style>{STYLE}</style>'
    )
    main = "\n".join(body)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n<main>\n{main}\n</main>\n</body></html>\n'


def format_value(value: float, unit: str = "") -> str:
    """`12`, `3.5` or `$0.42`."""
    if unit == "$":
        return format_dollars(value)
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _render_section(section: ReportSection) -> Iterator[str]:
    yield f"<section><h2>{_clean(section.heading)}</h2>"
    if section.note:
        yield f'<p class="soft">{_clean(section.note)}</p>'
    for part in section.parts:
        if part.title:
            yield f"<h3>{_clean(part.title)}</h3>"
        yield from _render_series(part) if isinstance(part, ReportSeries) else _render_table(part)
    yield "</section>"


def _render_series(series: ReportSeries) -> Iterator[str]:
    """One row for each point from the first to the last one above 0: its label, a bar and its value."""
    largest = max(value for _, value in series.points)
    shown = [at for at, (_, value) in enumerate(series.points) if value > 0]
    yield "<table>"
    for label, value in series.points[shown[0] : shown[-1] + 1]:
        bar = f'<svg aria-hidden="true"><rect width="{100 * value / largest:.1f}%" height="100%"/></svg>'
        yield (
            f'<tr><td class="short">{_clean(label)}</td><td class="bar">{bar}</td>'
            f'<td class="number">{_clean(format_value(value, series.unit))}</td></tr>'
        )
    yield "</table>"


def _render_table(table: ReportTable) -> Iterator[str]:
    numeric = [
        all(not isinstance(cell, str) or re.fullmatch(r"~?<?\$[\d,.]+", cell) for cell in column)
        for column in zip(*table.rows, strict=True)
    ]
    names = [_clean(name) for name in table.columns]
    head = "".join(
        f'<th scope="col"{_mark(right)}>{name}</th>' for name, right in zip(names, numeric, strict=True)
    )
    yield f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>'
    for row in table.rows[:ROWS]:
        cells = zip(names, row, numeric, strict=True)
        yield f"<tr>{''.join(_render_cell(*cell) for cell in cells)}</tr>"
    yield "</tbody></table>"
    if len(table.rows) > ROWS:
        yield f'<p class="soft">and {len(table.rows) - ROWS:,} more: `tacitd report --json` has all of them</p>'


def _render_cell(name: str, cell: Cell, right: bool) -> str:
    if cell is None:
        return f'<td class="unknown{" number" if right else ""}" data-label="{name}">unknown</td>'
    text = cell if isinstance(cell, str) else format_value(cell)
    return f'<td{_mark(right)} data-label="{name}">{_clean(text)}</td>'


def _mark(right: bool) -> str:
    return ' class="number"' if right else ""


def _clean(text: str) -> str:
    """Text of anybody, safe in HTML: one line, without hidden characters, escaped, at most CELL characters."""
    line = sanitize_line(re.sub(r"\s+", " ", text.encode("utf-8", "replace").decode()))
    return escape(shorten_line(line, CELL), quote=True)
