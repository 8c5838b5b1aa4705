"""A person's edits of the rules file: deletions are found, additions stay, and a damaged file proves nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support_examples import examples
from support_reach import format_toys
from tacitd.errors import FileRefusedError
from tacitd.session_context.person_rules import PersonRule
from tacitd_handlers.reach.rules_merge import (
    FileText,
    GeneratedText,
    RulesMemory,
    adopt_text,
    find_deleted,
    find_own_lines,
    merge_lines,
    parse_file,
)
from tacitd_handlers.reach.rules_text import make_section, render_rules


def generate(*texts: str) -> GeneratedText:
    made = make_section("toys", "Toys", [PersonRule(text, text) for text in texts])
    return GeneratedText(render_rules([made]), made.lines)


def remember(*texts: str) -> RulesMemory:
    return RulesMemory(generate(*texts), None, 1.0)


def parse(text: str) -> FileText:
    return parse_file(text.encode())


def deleted(memory: RulesMemory, text: str) -> list[str] | None:
    found = find_deleted(memory, parse(text))
    return None if found is None else [line.id for line in found]


THREE = remember("a", "b", "c")


def test_a_missing_line_was_deleted() -> None:
    """Also with the person's own lines in the file, other newlines, and spaces at the end of lines."""
    assert deleted(THREE, format_toys("a", "b", "c")) == []
    assert deleted(THREE, format_toys("a", "c")) == ["b"]
    assert deleted(THREE, format_toys("a  ", "mine", "c").replace("\n", "\r\n")) == ["b"]
    assert deleted(remember("a"), format_toys()) == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "my own notes\n",
        format_toys("a", "b", "c").partition("\n")[2],  # without its first line
        format_toys("a"),  # two of three at once
        format_toys("a", "b", "c")[:-3],  # truncated in the mark of the last line
    ],
)
def test_a_half_gone_file_deletes_nothing(text: str) -> None:
    """A missing, empty or half-gone file deletes nothing."""
    assert deleted(THREE, text) is None


def test_an_interrupted_write_is_no_deletion() -> None:
    """After a crash the file has the old text or the new one; what is in only one of them proves nothing."""
    memory = replace(remember("a", "b", "c"), pending=generate("a", "c", "d"))
    assert deleted(memory, format_toys("a", "b", "c")) == []
    assert deleted(memory, format_toys("a", "c", "d")) == []
    assert deleted(memory, format_toys("c", "d")) == ["a"]
    assert find_own_lines(memory, parse(format_toys("a", "c", "d"))) == ()


def test_lines_stay_where_they_were_added() -> None:
    """After the line that they followed, in any form of the file."""
    current = parse(format_toys("a", "mine 1", "b", "c") + "\nmine 2\n").lines
    merged = merge_lines(THREE, FileText(current), generate("a", "x", "c").lines)
    assert "\n".join([*merged, ""]) == format_toys("a", "mine 1", "x", "c") + "\nmine 2\n"
    current = ("mine 0", *parse(format_toys("a", "b", "c")).lines)
    assert merge_lines(THREE, FileText(current), ())[0] == "mine 0"


def test_the_form_of_the_file_stays() -> None:
    """Byte order mark and newlines."""
    current = parse("\ufeffone\r\ntwo")
    assert current.encode_lines(["one", "three"]) == "\ufeffone\r\nthree\r\n".encode()
    assert current.lines == ("one", "two")
    for data in (b"\xff", b"a\0b"):
        with pytest.raises(FileRefusedError):
            parse_file(data)


def test_lines_of_a_file_that_is_not_remembered_are_the_persons() -> None:
    """The state directory was removed: nothing counts as deleted, and no line is lost."""
    current = parse(format_toys("a", "old or mine"))
    memory = adopt_text(current, generate("a", "b"))
    assert find_deleted(memory, current) == ()
    assert find_own_lines(memory, current) == ("- old or mine",)


words = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
own = st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["mine", "other", "", "# Mine"])), max_size=5)


@examples(300)
@given(words, words, own, st.sampled_from(["\n", "\r\n"]))
def test_a_persons_lines_survive_any_change_of_ours(
    old: list[str], new: list[str], added: list[tuple[int, str]], newline: str
) -> None:
    """No line of a person's is lost, reordered or doubled; all of ours are there once; unchanged facts change nothing."""
    memory, lines = remember(*old), list(remember(*old).written.lines)
    for at, text in added:
        lines.insert(min(at, len(lines)), text)
    current = parse(newline.join([*lines, ""]))
    assert find_deleted(memory, current) == ()
    merged = merge_lines(memory, current, generate(*new).lines)
    mine = [x for x in current.lines if x.strip() and x not in memory.base]
    assert [x for x in merged if x.strip() and x not in generate(*new).lines] == mine
    assert [x for x in merged if x.startswith("- ")] == [f"- {x}" for x in new]
    if old == new and old:
        again = merge_lines(memory, parse("\n".join([*merged, ""])), generate(*new).lines)
        assert again == merged
        assert [x for x in merged if x.strip()] == [x for x in current.lines if x.strip()]


def test_a_persons_line_that_begins_like_one_of_ours_stays() -> None:
    """Without a newline at its end it could be a truncated line, but only if that line is missing."""
    memory = remember("be brief in answers", "b")
    current = parse(format_toys("be brief in answers", "b") + "- be brief")
    assert find_own_lines(memory, current) == ("- be brief",)
    assert merge_lines(memory, current, generate("b", "c").lines)[-1] == "- be brief"
    cut = parse(format_toys("b") + "- be brief")
    assert find_own_lines(memory, cut) == ()


def test_a_persons_copy_of_our_lines_stays() -> None:
    """In a code block of their own, for example. A line of ours that was only moved is generated at its own place."""
    memory = remember("a", "b")
    block = ["", "# Mine", "", "```", "## Toys", "- a", "```"]
    current = parse(format_toys("a", "b") + "\n".join(block) + "\n")
    assert merge_lines(memory, current, generate("a", "b", "z").lines)[-len(block) :] == block
    moved = parse(format_toys("b") + "- a\n")
    assert merge_lines(memory, moved, generate("a", "b").lines) == list(generate("a", "b").lines)
