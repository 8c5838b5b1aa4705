"""JSON files by their leaves: what a change does not name keeps its bytes."""

from __future__ import annotations

import pytest

from tacitd.errors import FileRefusedError
from tacitd.files.formats import JsonLeaves, find_format

PLAIN = JsonLeaves()
ORDERED = JsonLeaves(("id", "name", "parts"))


@pytest.mark.parametrize(
    ("text", "parts", "after"),
    [
        ('{"p": [{"a":1},  {"b": 2}]}', '[{"a":1}, {"b": 3}, {"c": [1, 2]}]', '{"p": [{"a":1},  {"b": 3},  {"c":[1,2]}]}'),
        ('{"p": [{"a":1},\t{"b": 2}]}', '[{"b": 2}]', '{"p": [{"b": 2}]}'),
        ('{\n  "p": [\n    {"a": 1}\n  ]\n}', '[{"a": 1}, {"b": ["x"]}]',
         '{\n  "p": [\n    {"a": 1},\n    {\n      "b": ["x"]\n    }\n  ]\n}'),
        ('{"p": [{"a": 1}]}', "[]", '{"p": []}'),
        ('{"p": 3}', '[{"a": 1}]', '{"p": [{"a": 1}]}'),
    ],
)  # fmt: skip
def test_in_a_list_of_objects_what_stays_keeps_its_bytes(text: str, parts: str, after: str) -> None:
    """P-06: the list is one leaf, and a person's way of writing its members stays."""
    assert PLAIN.splice(text.encode(), {'["p"]': parts}).decode() == after


def test_a_list_in_which_very_much_changes_keeps_its_style() -> None:
    many = "[" + ", ".join(f'{{"n": {n}}}' for n in range(300)) + "]"
    made = PLAIN.splice(b'{"p": [{"n":  -1}]}', {'["p"]': many})
    assert made.decode() == f'{{"p": {many}}}'.replace('{"n": 0}', '{"n":  0}')


@pytest.mark.parametrize(
    ("leaf", "value", "after"),
    [
        ('["l", ["c"]]', '"c"', '{"l": ["a", "b",  "c"], "o": {"x": 1}, "n": 1}'),
        ('["l", ["b"]]', '"b"', None),
        ('["l", ["a"]]', None, '{"l": ["b"], "o": {"x": 1}, "n": 1}'),
        ('["l", [1]]', None, None),
        ('["gone", "x"]', None, None),
        ('["o", "x"]', None, '{"l": ["a",  "b"], "n": 1}'),
        ('["m", "y", ["z"]]', '"z"', '{"l": ["a",  "b"], "o": {"x": 1}, "n": 1, "m": {"y": ["z"]}}'),
        ('["n", "x"]', None, None),
    ],
)
def test_a_leaf_is_put_and_removed(leaf: str, value: str | None, after: str | None) -> None:
    """With the containers that only it needs; what is there already, or is not there, changes nothing."""
    text = '{"l": ["a",  "b"], "o": {"x": 1}, "n": 1}'
    made = PLAIN.splice(text.encode(), {leaf: value}).decode()
    assert made == (text if after is None else after.replace('"a", "b",', '"a",  "b",'))


@pytest.mark.parametrize("leaf", ['["n", "x"]', '["n", ["x"]]', '["o", ["x"]]', '["l", "x"]'])
def test_nothing_is_put_where_another_kind_of_value_is(leaf: str) -> None:
    with pytest.raises(FileRefusedError, match="another kind"):
        PLAIN.splice(b'{"l": ["a"], "o": {"x": 1}, "n": 1}', {leaf: '"x"'})


def test_a_new_key_goes_where_it_belongs() -> None:
    """P-22: with an order, before the first of those that follow; any other at the end; and the plan of a crash knows the order."""
    assert find_format(ORDERED.name).splice(b'{"id": 1, "parts": []}', {'["name"]': '"x"'}) == (
        b'{"id": 1, "name": "x", "parts": []}'
    )
    text = b'{\n  "parts": [],\n  "mine": 1\n}\n'
    assert ORDERED.splice(text, {'["id"]': "2", '["odd"]': "3"}) == (
        b'{\n  "id": 2,\n  "parts": [],\n  "mine": 1,\n  "odd": 3\n}\n'
    )
    assert (
        ORDERED.splice(None, {'["parts"]': "1", '["odd"]': "2", '["id"]': "3"})
        == b'{\n  "id": 3,\n  "parts": 1,\n  "odd": 2\n}\n'
    )
    assert find_format(PLAIN.name).splice(b'{"parts":[]}', {'["id"]': "2"}) == b'{"parts":[],"id":2}'
