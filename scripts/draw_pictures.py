"""Draw the README's pictures: `tacitd status --watch` and the page of `tacitd report`, after `tacitd demo`.

    python scripts/draw_pictures.py [DIRECTORY]

Writes `status-watch.svg` and `report.svg` to DIRECTORY, by default `docs/pictures/`. The demonstration's engine and its
scripted model run in a temporary directory, with a clock that stands at a fixed time in UTC, so the same code draws the same
bytes. `tests/test_pictures.py` compares them with the stored ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from loguru import logger

from tacitd.cli.report_command import describe_scope
from tacitd.cli.status_lines import StatusLine
from tacitd.cli.watch_view import fit_lines, list_watch_lines
from tacitd.methods import build_methods, take_status
from tacitd.model.budget import Budget
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer
from tacitd.report.engine_sections import build_changes, build_spending
from tacitd.report.page import STYLE, render_page
from tacitd.report.sections import ReportScope
from tacitd.testing import FakeClock
from tacitd_handlers.learning.demo import make_demo_model, run_demo_engine, type_demo_prompts
from tacitd_handlers.learning.report_sections import build_sections

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
START = 1_772_461_800.0
"""2026-03-02 14:30 UTC, in seconds since 1970."""
HOME = "/home/you"
"""What the pictures show instead of the temporary directory."""
COLUMNS, ROWS = 100, 24
CHARACTER, LINE, MARGIN = 8.4, 19, 16
"""Pixels: the width of a character, the height of a line, the space around the text."""
SVG, XHTML = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"
DAYS = 28
"""How far back the report goes."""
PAGE = (760, 700)
"""Pixels: the part of the report's page that is drawn."""
COLOURS = {"head": "#fff", "problem": "#ff8a80", "hint": "#e5c07b", "good": "#98c379", "plain": "#d4d7dd"}


class MeteredModel(NamedTuple):
    """The demonstration's model; its calls are in the budget, with the cost that such calls usually have."""

    inner: Model
    budget: Budget
    clock: FakeClock

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Answer as the script does."""
        call = self.budget.begin_call(ask.key, ask.tier, ask.purpose, ask.parts, ask.project, ask.limit)
        assert isinstance(call, str), call
        self.clock.advance(8)
        self.budget.end_call(call, usd=0.004 if ask.tier == "fast" else 0.021, model="scripted")
        return self.inner.ask(ask)


class Seen(NamedTuple):
    """What the pictures show."""

    document: Mapping[str, Any]
    """The status document."""
    recent: list[dict[str, Any]]
    """The activities, oldest first."""
    page: str
    """The report, HTML."""
    now: float
    """Seconds since 1970, UTC."""


def run_demo(directory: Path) -> Seen:
    """Run the demonstration and return what is seen after it."""
    clock = FakeClock(wall=START)
    with run_demo_engine(directory, lambda _, budget: _meter_model(budget, clock), clock) as (app, project):
        methods = build_methods(app)
        clock.advance(60)
        type_demo_prompts(app, project, clock)
        methods["sync"]({})
        clock.advance(90)
        methods["due"]({"job": "synthesize", "project": str(project)})
        methods["sync"]({})
        clock.advance(40)
        document = take_status(app)
        recent = [one.describe() for one in app.activities.list_since(0)]
        state_dir = app.paths.state_dir
    now = clock.now()
    scope = ReportScope(state_dir, os.environ, project, now - DAYS * 86_400, now)
    sections = [*build_sections(scope), build_spending(scope), build_changes(scope)]
    return Seen(document, recent, render_page("What tacitd learned", describe_scope(scope), sections), now)


def _meter_model(budget: Budget, clock: FakeClock) -> Model:
    return MeteredModel(make_demo_model(), budget, clock)


def draw_terminal(title: str, lines: Iterable[StatusLine]) -> str:
    """Return an SVG of a terminal with these lines."""
    texts = list(lines)
    width = round(COLUMNS * CHARACTER) + 2 * MARGIN
    height = (len(texts) + 2) * LINE + MARGIN
    rows = "".join(_draw_row(number, one) for number, one in enumerate(texts))
    return (
        f'<svg xmlns="{SVG}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1d2026"/>'
        f'<text x="{width / 2:.0f}" y="{LINE + 2}" fill="#8b919c" text-anchor="middle">{escape(title)}</text>{rows}</svg>\n'
    )


def _draw_row(number: int, line: StatusLine) -> str:
    weight = ' font-weight="bold"' if line.kind == "head" else ""
    place = f'x="{MARGIN}" y="{(number + 3) * LINE}" fill="{COLOURS[line.kind]}"{weight}'
    return f'<text {place} xml:space="preserve">{escape(line.text)}</text>'


def draw_page(title: str, page: str) -> str:
    """Return an SVG of the top of an HTML page: its body in a `foreignObject`, with its own style sheet."""
    width, height = PAGE
    body = page[page.index("<main>") : page.index("</body>")].replace("<svg ", f'<svg xmlns="{SVG}" ')
    style = (
        STYLE[: STYLE.index("@media (max-width")]
        .replace("\nbody{", "\n.page{")
        .replace("\nsvg", "\n.page svg")
    )
    return (
        f'<svg xmlns="{SVG}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}"><style>{escape(style, quote=False)}.page{{min-height:100%}}</style>'
        f'<foreignObject width="{width}" height="{height}">'
        f'<div xmlns="{XHTML}" class="page">{body}</div></foreignObject></svg>\n'
    )


def draw_pictures() -> dict[str, str]:
    """Return the pictures by the names of their files."""
    logger.remove()
    os.environ["TZ"] = "UTC"
    time.tzset()
    directory = Path(tempfile.mkdtemp(prefix="tacitd-pictures-")).resolve()
    try:
        seen = run_demo(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    document, recent, page = _make_same([seen.document, seen.recent, seen.page], str(directory))
    lines = fit_lines(list_watch_lines(document, recent, seen.now), COLUMNS, ROWS)
    return {
        "status-watch.svg": draw_terminal("tacitd status --watch", lines),
        "report.svg": draw_page("tacitd report", page),
    }


def _make_same(texts: Any, directory: str) -> Any:
    """The texts, with what differs from one run to the next replaced: the directory, and the ids of changes."""
    whole = json.dumps(texts).replace(directory, HOME)
    return json.loads(re.sub(r"\b(\d{8}T\d{6})-[0-9a-f]{6}\b", r"\1-3fa2c1", whole))


def main() -> None:
    """Write the pictures."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    for name, text in draw_pictures().items():
        (target / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
