"""The page: strangers' text stays text, nothing can be loaded or run, and what has no data is left out."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.report.page import STYLE, format_value, render_page
from tacitd.report.sections import (
    ReportScope,
    ReportSection,
    ReportSeries,
    ReportTable,
)

DAY = 86_400.0
NOON = datetime(2026, 2, 18, 12).timestamp()
TIMES = st.floats(0, 4e9)

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"' & \x1b[31m\u202e"
TEXT = st.text(max_size=30) | st.sampled_from([HOSTILE, "</style>", "</title>", "]]>", "\udc80"])


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parse(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def section(text: str) -> ReportSection:
    table = ReportTable(text, (text, "number"), ((text, 1), (text, None)))
    return ReportSection(text, (ReportSeries(text, ((text, 1.0),)), table), text)


@examples(60)
@given(TEXT)
def test_text_of_strangers_stays_text(text: str) -> None:
    """The same tags as with a harmless text, no script, no handler of an event, no hidden characters."""
    page = render_page(text, text, [section(text)], [text])
    tags = parse(page).tags
    harmless = parse(render_page("a", "a", [section("a")], ["a"])).tags
    assert [tag for tag, _ in tags] == [tag for tag, _ in harmless] or not text.strip()
    assert not {"script", "img", "iframe", "object", "form"} & {tag for tag, _ in tags}
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on") or name == "style"]
    assert "\x1b" not in page and "\u202e" not in page


def test_the_policy_allows_the_style_sheet_alone() -> None:
    """The hash is that of the style sheet as it is in the page; nothing in it names an address."""
    page = render_page("a", "b", [section("c")])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy is not None and style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy[1] and "default-src 'none'" in policy[1]
    assert "url(" not in STYLE and "@import" not in STYLE and "://" not in page


def test_a_section_without_data_is_not_on_the_page() -> None:
    """A table without rows, a series of zeros, and their section with its note; a page of nothing has one sentence."""
    empty = ReportTable("Empty table", ("a",), ())
    zeros = ReportSeries("Empty series", (("2026-02-16", 0.0),))
    page = render_page("a", "b", [ReportSection("No data", (empty, zeros), "A note"), section("c")])
    assert ">unknown</td>" in page, "None in a table"
    assert not [word for word in ("No data", "A note", "Empty table", "Empty series") if word in page]
    assert "<h2>c</h2>" in page
    page = render_page("a", "b", [ReportSection("No data", (empty, zeros), "A note")])
    assert "<h2>" not in page and "Nothing was learned or changed in this time." in page
    kept = ReportSection("Half", (empty, ReportSeries("Some", (("x", 1.0),)))).keep_data()
    assert kept is not None and [part.title for part in kept.parts] == ["Some"]


@examples(60)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30))
def test_any_series_is_drawn_within_its_column(values: list[int]) -> None:
    """One bar for each value from the first to the last above 0, none wider than its column, and that of the largest is the widest."""
    series = ReportSeries("Title", tuple((str(number), value) for number, value in enumerate(values)))
    page = render_page("a", "b", [ReportSection("c", (series,))])
    widths = [float(width) for width in re.findall(r'<rect width="([\d.]+)%"', page)]
    above = [at for at, value in enumerate(values) if value > 0]
    assert len(widths) == (above[-1] - above[0] + 1 if above else 0)
    assert all(0 <= width <= 100 for width in widths)
    assert not widths or widths[values.index(max(values)) - above[0]] == 100.0


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3, "", "3"),
        (3.26, "", "3.3"),
        (1234, "", "1,234"),
        (0.416, "$", "$0.42"),
        (0.001, "$", "<$0.01"),
    ],
)
def test_values_are_written_for_people(value: float, unit: str, text: str) -> None:
    """Whole numbers without a point, dollars with cents."""
    assert format_value(value, unit) == text


def make_scope(since: float, now: float) -> ReportScope:
    return ReportScope(Path("/state"), {}, None, since, now)


@examples(150)
@given(TIMES, TIMES, st.lists(TIMES, max_size=20))
def test_nothing_is_lost_and_nothing_counted_twice(since: float, now: float, times: list[float]) -> None:
    """The sums of the weeks are the sum of all; the labels ascend without a double."""
    counted = make_scope(since, now).count_by_week((at, 1) for at in times)
    labels = [label for label, _ in counted]
    assert labels == sorted(set(labels)) and sum(value for _, value in counted) == len(times)


def test_a_week_begins_on_monday() -> None:
    """The label is that Monday; a time outside the span counts to the nearest week."""
    scope = make_scope(NOON - 14 * DAY, NOON)
    counted = scope.count_by_week([(NOON - 900 * DAY, 1), (4e9, 2), (0.0, 4)])
    assert counted == (("2026-02-02", 5), ("2026-02-09", 0), ("2026-02-16", 2))
