"""The bound of a tool's answer: JSON stays JSON, and what is left out is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.mcp.tools import bound_output


def test_json_is_written_without_spaces() -> None:
    assert bound_output('[\n  {"a": "ä"}\n]\n') == ('[{"a":"ä"}]', "")


def test_of_a_long_list_the_first_elements_are_kept() -> None:
    """Whole, as many as there is room for."""
    text, note = bound_output(json.dumps([{"line": "x" * 50, "n": n} for n in range(100)]), 1000)
    kept = json.loads(text)
    assert kept == [{"line": "x" * 50, "n": n} for n in range(len(kept))] and 900 < len(text) <= 1000
    assert note.startswith(f"of long lists all but the first {len(kept)} are left out")


def test_of_an_object_the_long_lists_are_cut() -> None:
    text, _ = bound_output(json.dumps({"schema": 1, "few": [1], "lessons": ["x" * 40] * 100}), 1000)
    found = json.loads(text)
    assert found["schema"] == 1 and found["few"] == [1] and 10 < len(found["lessons"]) < 100


@pytest.mark.parametrize(
    "document",
    [
        {"one": "x" * 3000},
        ["x" * 3000],
        {f"key {n}": n for n in range(500)},
        {"x" * 3000: 1},
        {"deep": json.loads("[" * 400 + "]" * 400)},
        {"rows": [[f"{n}" * 50 for n in range(9)] for _ in range(99)], "more": {"rows": list(range(999))}},
    ],
)
def test_any_document_stays_json(document: object) -> None:
    """Long texts, many fields and deep ones are shortened too, and something is left."""
    text, note = bound_output(json.dumps(document), 500)
    assert len(text) <= 500 and json.loads(text) and "ask for less" in note


@pytest.mark.parametrize("text", ["word " * 1000, "[" + "x" * 3000, "[" * 100_000])
def test_other_text_is_cut(text: str) -> None:
    kept, note = bound_output(text, 500)
    assert len(kept) == 500 and kept[:499] == text[:499] and "characters are left out; ask for less" in note


def test_half_a_character_does_not_fail() -> None:
    assert bound_output("a\udcff b") == ("a? b", "")


JSON = st.recursive(
    st.none() | st.text(max_size=300),
    lambda one: st.lists(one, max_size=9) | st.dictionaries(st.text(max_size=60), one, max_size=9),
    max_leaves=30,
)


@examples(100)
@given(
    st.lists(JSON, max_size=9) | st.dictionaries(st.text(max_size=60), JSON, max_size=9),
    st.integers(200, 1000),
)
def test_every_answer_is_json_and_not_longer(document: object, limit: int) -> None:
    """F8: whatever a command prints."""
    text, note = bound_output(json.dumps(document), limit)
    assert len(text) <= limit
    assert json.loads(text) == document or note
