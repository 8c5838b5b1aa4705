"""The marks of facts: as JSON, in raw lines, and in facts of other tools."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.fact_marks import (
    NO_MARK,
    FactMark,
    read_marks,
    split_corrected,
)
from tacitd_handlers.learning.raw_facts import encode_raw_line, make_raw_record, parse_raw_file

MARKS = st.builds(FactMark, st.lists(st.text(max_size=5), max_size=3).map(tuple), *[st.booleans()] * 3)


@given(st.lists(MARKS, max_size=5))
@examples(60)
def test_a_record_is_read_as_it_was_written(marks: list[FactMark]) -> None:
    """S-02: marks survive their JSON, and the raw file if no fact is left out."""
    assert read_marks([mark.to_record() for mark in marks], len(marks)) == tuple(marks)
    facts = [f"Prefers thing{number}" for number in range(len(marks))]
    (line,) = parse_raw_file(
        encode_raw_line(make_raw_record(0.0, facts, "s", [], [], "b", marks=marks))
    ).lines
    assert line.marked_facts == tuple(zip(facts, marks, strict=True))


@pytest.mark.parametrize("value", [None, 3, "x", {}, [None, 3, "x"], [{"of": "u1"}, {"corrected": "yes"}]])
def test_what_is_not_a_mark_is_no_mark(value: Any) -> None:
    """S-21: records of older versions and of other tools have no marks; a broken one hides no fact."""
    assert read_marks(value, 3) == (NO_MARK,) * 3


@pytest.mark.parametrize(
    ("fact", "text", "corrected"),
    [
        ("Corrected: do Z", "Do Z", True),
        ("Corrected the port to 5432", "Corrected the port to 5432", False),
        ("Corrected:", "Corrected:", False),
    ],
)
def test_the_seeds_corrected_is_a_mark(fact: str, text: str, corrected: bool) -> None:
    """S-02: seed 003 writes "Corrected: do Z" as a fact; the fact is "Do Z"."""
    assert split_corrected(fact) == (text, corrected)


def test_marks_stay_with_their_facts_if_a_fact_is_left_out() -> None:
    """S-21, S-67: a secret and a value that is no fact are left out together with their marks."""
    record = make_raw_record(
        0.0,
        ["Key ghp_abcdefghijklmnopqrstuvwxyz0123456789", "--", "Use pnpm"],
        "s",
        [],
        [],
        "b",
        marks=[FactMark(("u1",)), FactMark(("u2",)), FactMark(("u3",), True)],
    )
    (line,) = parse_raw_file(encode_raw_line(record)).lines
    assert line.marked_facts == (("Use pnpm", FactMark(("u3",), True)),) and line.withheld == 1
