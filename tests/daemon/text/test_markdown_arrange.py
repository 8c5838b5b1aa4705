"""The order of bullets, the place of a new section, and headings without lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.markdown import arrange_lines, lines_of, put_line, put_lines, take_line

FILE = b"# Title\n\n## Coding\n- a\n- mine\n- b\n- c\n\nwords\n\n## Testing\n- d\n- e\n"


def test_named_lines_change_places_among_themselves() -> None:
    """Each in its list; what is not named keeps its place."""
    after = arrange_lines(FILE, ["e", "c", "b", "a", "d"])
    assert after == b"# Title\n\n## Coding\n- c\n- mine\n- b\n- a\n\nwords\n\n## Testing\n- e\n- d\n"
    assert arrange_lines(after, ["a", "b", "c", "d", "e"]) == FILE


@pytest.mark.parametrize(
    "data",
    [
        b"## A\n- a\n- b\n  - mine\n",
        b"## A\n- a\n- b\n- b\n",
        b"## A\n- a\n\n## B\n- b\n",
        b"## A\n- a\n  1. x\n  - b\n",
        b"## A\n- b\n- a\n",
        b"```\n- a\n- b\n```\n",
    ],
)
def test_what_cannot_be_moved_stays(data: bytes) -> None:
    """A bullet that somebody extended, a doubled one, other lists, an order that is right already, and code."""
    assert arrange_lines(data, ["b", "a"]) == data


def test_bytes_of_each_line_are_kept() -> None:
    """Newlines of Windows, a missing last newline, marks, wrapped text and a byte order mark."""
    data = b"\xef\xbb\xbf## A\r\n* a  \r\n* b\r\n  more\r\n* c"
    assert arrange_lines(data, ["c", "b more", "a"]) == b"\xef\xbb\xbf## A\r\n* c\r\n* b\r\n  more\r\n* a  "


WORDS = st.sampled_from(["a", "b", "c", "d", "mine 1", "mine 2"])
PIECES = st.lists(
    st.one_of(
        st.builds(lambda word: f"- {word}", WORDS),
        st.sampled_from(
            ["", "## One", "## Two", "text", "  - nested", "1. x", "> quote", "```", "<!--", "-->", "  more"]
        ),
    ),
    max_size=14,
)


@examples(300)
@given(PIECES, st.permutations(["a", "b", "c", "d"]), st.booleans())
def test_arranging_is_idempotent_and_moves_only_named_lines(
    pieces: list[str], order: list[str], end: bool
) -> None:
    """S-28: every other line keeps its bytes and its place among the others; no line is lost."""
    data = ("\n".join(pieces) + ("\n" if end else "")).encode()
    after = arrange_lines(data, order)
    assert arrange_lines(after, order) == after
    assert sorted(lines_of(after)) == sorted(lines_of(data))
    assert sorted(after.splitlines()) == sorted(data.splitlines())

    def others(text: bytes) -> list[tuple[int, bytes]]:
        named = {f"- {word}".encode() for word in order} | {b"  more"}
        return [(at, line) for at, line in enumerate(text.splitlines()) if line not in named]

    if b"  more" not in data:
        assert others(after) == others(data)


def test_a_new_section_gets_its_place() -> None:
    """Before the first of those that come after it, otherwise at the end."""
    data = put_line(None, "General", "x", "Learned")
    data = put_line(data, "Coding", "y", "Learned", ["Testing", "General"])
    assert data == b"# Learned\n\n## Coding\n- y\n\n## General\n- x\n"
    data = put_line(data, "Testing", "z", "Learned", ["General"])
    assert data == b"# Learned\n\n## Coding\n- y\n\n## Testing\n- z\n\n## General\n- x\n"
    assert put_line(data, "Mine", "m", "Learned", ["Nothing"]).endswith(b"- x\n\n## Mine\n- m\n")
    assert (
        put_line(b"text\n## General\n- x\n", "A", "a", "", ["General"])
        == b"text\n\n## A\n- a\n\n## General\n- x\n"
    )


LATER = {"One": ("Two", "Three"), "Two": ("Three",), "Three": (), "Other": ()}


@examples(150)
@given(st.lists(st.tuples(st.sampled_from(sorted(LATER)), WORDS), max_size=8), st.booleans())
def test_many_lines_at_once_are_as_one_after_the_other(lines: list[tuple[str, str]], empty: bool) -> None:
    start = None if empty else b"# T\n\n## Three\n- there\n\n## mine\ntext\n"
    after = start
    for heading, line in lines:
        after = put_line(after, heading, line, "T", LATER[heading])
    assert put_lines(start, lines, "T", LATER)[0] == after
    wanted = [heading for heading in LATER if heading != "Other"]
    there = [line[3:].decode() for line in (after or b"").splitlines() if line.startswith(b"## ")]
    assert [one for one in there if one in wanted] == [one for one in wanted if one in there]


def test_no_empty_heading_is_left() -> None:
    """Only the one that is named, and only if nothing else is below it."""
    data = b"# T\n\n## A\n- a\n\n## B\n- b\n"
    assert take_line(data, "a", "A") == b"# T\n\n## B\n- b\n"
    assert take_line(data, "b", "B") == b"# T\n\n## A\n- a\n"
    assert take_line(data, "a") == b"# T\n\n## A\n\n## B\n- b\n"
    assert take_line(data, "missing", "A") == data
    for below in (b"- mine\n", b"\nwords\n", b"\n### C\n- c\n", b"\n<!-- x -->\n"):
        kept = take_line(b"## A\n- a\n" + below, "a", "A")
        assert kept == b"## A\n" + below
    twice = b"## A\n\n## B\n- b\n\n## A\n- a\n"
    assert take_line(twice, "a", "A") == b"## A\n\n## B\n- b\n\n## A\n"
