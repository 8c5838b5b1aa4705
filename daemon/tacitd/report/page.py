"""The report as one HTML page: no script, no request, light and dark, on a narrow screen and on paper. Pure.

All text of sections is a stranger's: hidden characters are removed and it is escaped. The Content-Security-Policy forbids
everything but the style sheet with its hash, so a mistake here cannot load or run anything either.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tacitd.report.charts import draw_series, format_value
from tacitd.report.sections import Cell, ReportPart, ReportSection, ReportSeries, ReportTable
from tacitd.text.sanitize import sanitize_line
from tacitd.text.shorten import shorten_line

GENERATOR = "tacitd report"
"""By this name in a page's head an earlier report is recognised before it is replaced."""
ROWS = 200
"""Rows of a table that are shown; the rest is counted. `--json` has all of them."""
SHORT = 16
"""Characters of a cell that are kept in one line, such as a date."""
CELL = 400
"""Characters of a cell that are shown."""

STYLE = """
:root{color-scheme:light dark;--ground:#fdfdfc;--text:#1d1f23;--soft:#5c626c;--line:#d9dbe0;--fill:#2f6fb3;--warn:#a8530a}
@media (prefers-color-scheme:dark){:root{--ground:#15171b;--text:#e6e7ea;--soft:#a2a8b3;--line:#343841;--fill:#6fa8e6;--warn:#eda658}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.25rem 1rem 3rem;max-width:58rem;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.5rem 0 .25rem}
p{margin:.25rem 0}
.soft{color:var(--soft)}
.warn{color:var(--warn)}
nav ul{list-style:none;padding:0;margin:1rem 0 0;display:flex;flex-wrap:wrap;gap:.25rem 1rem}
a{color:var(--fill)}
svg{display:block;overflow:visible;margin:.5rem 0;font:12px system-ui,sans-serif}
svg .bar,svg .mark{fill:var(--fill)}
svg .path{stroke:var(--fill);stroke-width:2}
svg .axis{stroke:var(--line)}
svg .label{fill:var(--soft)}
svg .value{fill:var(--text);font-weight:600}
table{border-collapse:collapse;width:100%;font-size:.95rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th{overflow-wrap:break-word}
.wide th:first-child{width:36%}
.short{white-space:nowrap}
.unknown{color:var(--soft);font-style:italic}
details{margin:.25rem 0}
summary{color:var(--soft);cursor:pointer}
details table{width:auto}
@media (max-width:40rem){
.wide thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.wide tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}
.wide td{display:grid;grid-template-columns:8.5rem 1fr;gap:.5rem;padding:.1rem 0;border:0;text-align:left;white-space:normal}
.wide td::before{content:attr(data-label);color:var(--soft)}
.wide td:first-child{display:block;font-weight:600}
.wide td:first-child::before{content:none}
.wide td.unknown::before{font-style:normal}
}
@media print{
:root{--ground:#fff;--text:#000;--soft:#444;--line:#bbb;--fill:#2f6fb3;--warn:#7a3b00}
body{max-width:none;padding:0;font-size:11pt}
nav,details{display:none}
h2,h3{break-after:avoid}
tr,svg{break-inside:avoid}
thead{display:table-header-group}
}
"""


def render_page(
    title: str, about: str, sections: Sequence[ReportSection], problems: Iterable[str] = ()
) -> str:
    """Return the page. `about`: a sentence below the title; `problems`: what is missing in the report, and why."""
    body = [f"<h1>{_clean(title)}</h1>", f'<p class="soft">{_clean(about)}</p>']
    body += [f'<p class="warn">{_clean(one)}</p>' for one in problems]
    if sections:
        names = (f'<li><a href="#s{n}">{_clean(one.heading)}</a></li>' for n, one in enumerate(sections))
        body.append(f"<nav><ul>{''.join(names)}</ul></nav>")
    for number, section in enumerate(sections):
        body += _render_section(section, number)
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
    text = f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n<main>\n' + "\n".join(body)
    return text + "\n</main>\n</body></html>\n"


def _render_section(section: ReportSection, number: int) -> Iterator[str]:
    yield f'<section><h2 id="s{number}">{_clean(section.heading)}</h2>'
    if section.note:
        yield f'<p class="soft">{_clean(section.note)}</p>'
    for part in section.parts:
        yield from _render_part(part)
    yield "</section>"


def _render_part(part: ReportPart) -> Iterator[str]:
    if part.title:
        yield f"<h3>{_clean(part.title)}</h3>"
    if isinstance(part, ReportSeries):
        yield from _render_series(part)
    else:
        yield from _render_table(part)


def _render_series(series: ReportSeries) -> Iterator[str]:
    safe = ReportSeries(
        sanitize_line(series.title),
        tuple((sanitize_line(label), value) for label, value in series.points),
        series.unit,
        series.form,
    )
    if not safe.points:
        yield '<p class="soft">none</p>'
        return
    yield draw_series(safe)
    rows = "".join(
        f'<tr><td>{_clean(label)}</td><td class="number">{_clean(format_value(value, safe.unit))}</td></tr>'
        for label, value in safe.points
    )
    yield f"<details><summary>Numbers</summary><table>{rows}</table></details>"


def _render_table(table: ReportTable) -> Iterator[str]:
    if not table.rows:
        yield f'<p class="soft">{_clean(table.empty)}</p>'
        return
    numeric = [all(_is_numeric(row[n]) for row in table.rows) for n in range(len(table.columns))]
    names = [_clean(name) for name in table.columns]
    head = "".join(
        f'<th scope="col"{_mark(right)}>{name}</th>' for name, right in zip(names, numeric, strict=True)
    )
    yield f'<table class="wide"><thead><tr>{head}</tr></thead><tbody>'
    for row in table.rows[:ROWS]:
        cells = zip(names, row, numeric, strict=True)
        yield "<tr>" + "".join(_render_cell(*one) for one in cells) + "</tr>"
    yield "</tbody></table>"
    if len(table.rows) > ROWS:
        yield f'<p class="soft">and {len(table.rows) - ROWS:,} more: `tacitd report --json` has all of them</p>'


def _render_cell(name: str, cell: Cell, right: bool) -> str:
    if cell is None:
        return f'<td class="unknown{" number" if right else ""}" data-label="{name}">unknown</td>'
    text = cell if isinstance(cell, str) else format_value(cell, "")
    mark = ' class="short"' if not right and len(text) <= SHORT else _mark(right)
    return f'<td{mark} data-label="{name}">{_clean(text)}</td>'


def _is_numeric(cell: Cell) -> bool:
    """Whether a cell is aligned to the right: a number, what is unknown, or dollars."""
    return not isinstance(cell, str) or re.fullmatch(r"~?<?\$[\d,.]+", cell) is not None


def _mark(right: bool) -> str:
    return ' class="number"' if right else ""


def _clean(text: str) -> str:
    """Text of anybody, safe in HTML: one line, without hidden characters, escaped, at most CELL characters."""
    line = sanitize_line(re.sub(r"\s+", " ", text.encode("utf-8", "replace").decode()))
    return escape(shorten_line(line, CELL), quote=True)
