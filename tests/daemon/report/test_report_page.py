"""The page: strangers' text stays text, and nothing can be loaded or run."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.report.page import ROWS, STYLE, render_page
from tacitd.report.sections import (
    ReportSection,
    ReportSeries,
    ReportTable,
    describe_section,
)

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


def test_what_is_unknown_and_what_is_left_out_is_said() -> None:
    """None is `unknown`; a long table is cut with a count; an empty one has its sentence."""
    rows = tuple((f"row {number}", number) for number in range(ROWS + 7))
    empty = ReportTable("Empty", ("a",), (), "nothing here")
    page = render_page(
        "a", "b", [section("c"), ReportSection("d", (ReportTable("", ("a", "b"), rows), empty))]
    )
    assert ">unknown</td>" in page and "nothing here" in page
    assert "and 7 more" in page and f"row {ROWS - 1}<" in page and f"row {ROWS}<" not in page


def test_the_json_form_has_the_same_values() -> None:
    """For dashboards: every part with its kind."""
    made = describe_section(section("x"))
    assert made["heading"] == made["note"] == "x"
    assert made["parts"][0] == {
        "kind": "series",
        "title": "x",
        "unit": "",
        "points": [{"label": "x", "value": 1.0}],
    }
    assert made["parts"][1]["rows"] == [["x", 1], ["x", None]]
