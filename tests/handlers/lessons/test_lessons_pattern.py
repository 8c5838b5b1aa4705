"""The pattern: what is parsed, what is refused and where; formatting and parsing are inverse."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.wording import measure_width
from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.lesson_actions import says_same
from tacitd_handlers.lessons.pattern import Pattern, PatternError, parse_pattern


@pytest.mark.parametrize(
    "text, expected",
    [
        ("WHEN x -> y -> DO b -> BECAUSE c", Pattern("x -> y", "do", "b", "c")),
        ("WHEN a -> DO b -> c -> BECAUSE d", Pattern("a", "do", "b -> c", "d")),
        ("WHEN a -> DO b -> BECAUSE c -> BECAUSE d", Pattern("a", "do", "b -> BECAUSE c", "d")),
        ("WHEN a -> DO b -> DO c -> BECAUSE d", Pattern("a", "do", "b -> DO c", "d")),
        ("WHEN calling p->do it -> DO b -> BECAUSE c", Pattern("calling p->do it", "do", "b", "c")),
        ("WHEN a -> DONE -> DO b -> BECAUSE c", Pattern("a -> DONE", "do", "b", "c")),
        ("WHEN a->DO b->BECAUSE c", Pattern("a", "do", "b", "c")),
    ],
)
def test_arrows_may_stand_inside_a_part(text: str, expected: Pattern) -> None:
    """SPEC E-02: split at the first `-> DO` and the last `-> BECAUSE`."""
    assert parse_pattern(text) == expected


def test_brackets_go_only_where_one_pair_encloses_the_part() -> None:
    """SPEC E-01: `[a] and [b]` keeps its brackets; `[[a]]` loses both pairs."""
    assert parse_pattern("WHEN [a] and [b] -> DO [c] d -> BECAUSE [[e]]") == Pattern(
        "[a] and [b]", "do", "[c] d", "e"
    )
    assert parse_pattern("WHEN [a] -> DO [NOT b] -> BECAUSE [c]") == Pattern("a", "dont", "b", "c")


def test_the_mark_of_load_is_no_part_of_the_reason() -> None:
    """SPEC E-11: `[firm]` is printed after people's lessons; a printed line can be parsed again, and a draft cannot
    set the mark.
    """
    assert parse_pattern("WHEN a -> DO b -> BECAUSE c [firm]").because == "c"


@pytest.mark.parametrize(
    "text, at, word",
    [
        ("", 0, "WHEN"),
        ("editing -> DO b -> BECAUSE c", 0, "WHEN"),
        ("WHENEVER a -> DO b -> BECAUSE c", 0, "WHEN"),
        ("WHEN a -> read -> BECAUSE c", 7, "-> DO"),
        ("WHEN a", 6, "-> DO"),
        ("WHEN a -> DON'T b -> BECAUSE c", 7, "two words"),
        ("WHEN a -> DO b", 14, "-> BECAUSE"),
        ("WHEN a -> DO b -> SINCE c", 15, "-> BECAUSE"),
        ("WHEN -> DO b -> BECAUSE c", 5, "after WHEN"),
        ("WHEN a -> DO -> BECAUSE c", 13, "after DO"),
        ("WHEN a -> DO NOT -> BECAUSE c", 17, "after DO NOT"),
        ("WHEN a -> DO b -> BECAUSE ", 26, "after BECAUSE"),
        ("WHEN [ ] -> DO b -> BECAUSE c", 5, "after WHEN"),
        ("-> DO b -> WHEN a -> BECAUSE c", 0, "WHEN"),
        ("WHEN a -> BECAUSE c -> DO b", 27, "-> BECAUSE"),
        ("WHEN a\x1b[31m -> DO b -> BECAUSE c", 6, "U+001B"),
        ("WHEN a\u202eb -> DO b -> BECAUSE c", 6, "U+202E"),
        ("WHEN a\ud800 -> DO b -> BECAUSE c", 6, "U+D800"),
        ("WHEN a -> DO b -> BECAUSE " + "c" * 4000, 4000, "longer"),
    ],
)
def test_what_is_no_pattern_says_where(text: str, at: int, word: str) -> None:
    """SPEC E-04: what is missing, and a caret at the position."""
    with pytest.raises(PatternError) as raised:
        parse_pattern(text)
    error = raised.value
    assert (error.at, word in error.what, error.code) == (at, True, 2)
    line, caret = error.show_position().split("\n")
    assert caret.strip() == "^" and measure_width(line) <= 140 and line.isprintable()


def test_the_caret_stands_below_the_place_in_wide_characters() -> None:
    """SPEC E-04: columns, not characters."""
    with pytest.raises(PatternError) as raised:
        parse_pattern("WHEN 編集 -> 読む")
    assert raised.value.show_position() == "  WHEN 編集 -> 読む\n" + " " * 12 + "^"


PIECES = [*"ab.[]> \n→", "->", "NOT", "DO", "BECAUSE", "WHEN", " ", "編", "é", " [firm]"]
PART = st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join)


@examples(400)
@given(PART, st.sampled_from(["DO", "DO NOT", "do", "Do not"]), PART, PART)
def test_writing_and_reading_are_inverse(when: str, verb: str, do: str, because: str) -> None:
    """SPEC E-03: parse(format(x)) = x for everything that parse returns, and the text is one line."""
    try:
        found = parse_pattern(f"WHEN {when} -> {verb} {do} -> BECAUSE {because}")
    except PatternError:
        assume(False)
        return
    assert parse_pattern(pattern.format_pattern(found)) == found
    assert "\n" not in pattern.format_pattern(found)


def test_only_spelling_may_differ() -> None:
    """SPEC E-12: case, width and a full stop do not make another lesson; a word, a number or a NOT does."""
    one = parse_pattern("WHEN Editing -> DO read first -> BECAUSE x")
    for same in (
        "when editing -> do READ first. -> because X!",
        "WHEN ｅditing -> DO read first -> BECAUSE x",
    ):
        assert says_same(one, parse_pattern(same), with_reason=True)
    for other in (
        "WHEN editing -> DO NOT read first -> BECAUSE x",
        "WHEN editing 2 -> DO read first -> BECAUSE x",
    ):
        assert not says_same(one, parse_pattern(other))
    assert says_same(one, one._replace(because="y")) and not says_same(
        one, one._replace(because="y"), with_reason=True
    )
    assert not says_same(one._replace(do="???"), one._replace(do="!!!")), "text without words is itself"
