"""The bound of a tool's answer: JSON stays JSON, and what is left out is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.mcp.bounded_output import bound_output


def test_json_is_written_without_spaces() -> None:
    assert bound_output('[\n  {"a": "ä"}\n]\n') == '[{"a":"ä"}]'


def test_of_a_long_list_the_first_elements_are_kept() -> None:
    said = bound_output(json.dumps([{"line": "x" * 50, "n": n} for n in range(100)]), 1000)
    document, note = said.split("\n")
    kept = json.loads(document)
    assert len(said) <= 1000 and [one["n"] for one in kept] == list(range(len(kept)))
    assert note == f"{100 - len(kept)} of 100 are left out; ask for less" and len(kept) > 10


def test_of_an_object_the_longest_list_is_cut() -> None:
    said = bound_output(json.dumps({"schema": 1, "few": [1], "lessons": ["x" * 40] * 100}), 1000)
    found = json.loads(said.split("\n")[0])
    assert found["schema"] == 1 and found["few"] == [1] and 10 < len(found["lessons"]) < 100


@pytest.mark.parametrize(
    "text", ["word " * 1000, '{"one": "' + "x" * 3000 + '"}', "[" + "x" * 3000, "[" * 100_000]
)
def test_other_text_is_cut(text: str) -> None:
    said = bound_output(text, 500)
    assert len(said) <= 500 and "characters; ask for less]" in said


def test_half_a_character_does_not_fail() -> None:
    assert bound_output("a\udcff b") == "a? b"


JSON = st.recursive(st.none() | st.text(max_size=20), lambda one: st.lists(one, max_size=9), max_leaves=9)


@examples(100)
@given(JSON, st.integers(200, 1000))
def test_no_answer_is_longer(document: object, limit: int) -> None:
    assert len(bound_output(json.dumps(document), limit)) <= limit
