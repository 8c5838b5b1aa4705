"""The place of a new section, and headings without lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.markdown import put_line, put_lines, take_line

WORDS = st.sampled_from(["a", "b", "c", "d", "mine 1", "mine 2"])


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
