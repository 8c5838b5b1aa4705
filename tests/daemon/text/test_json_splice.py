"""Adding and removing values in JSON text: the meaning changes as asked, and no other byte changes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.json_splice import add_json_value, change_json_values, put_json_value, remove_json_value

ENTRY = {"hooks": [{"type": "command", "command": 'echo "ä"'}]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
HOOKS = st.dictionaries(
    st.sampled_from(["Stop", "SessionEnd", "x"]), st.lists(VALUES, min_size=1, max_size=3), max_size=3
)
DOCUMENTS = st.dictionaries(st.text(max_size=4).filter(lambda key: key != "hooks"), VALUES, max_size=3)
STYLES = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None},
        {"separators": (",", ":")},
        {"separators": (" , ", " : ")},
        {"indent": 3, "separators": (" ,", ": ")},
    ]
)


@examples(300)
@given(DOCUMENTS, st.none() | HOOKS.filter(bool), STYLES, st.booleans(), st.data())
def test_what_is_added_and_removed_leaves_the_same_bytes(
    document: dict[str, Any],
    hooks: dict[str, Any] | None,
    style: dict[str, Any],
    before: bool,
    data: st.DataObject,
) -> None:
    """In each style of formatting, with the key first or last, and whatever is in the document."""
    if hooks is not None:
        document = {"hooks": hooks, **document} if before else {**document, "hooks": hooks}
    text = json.dumps(document, ensure_ascii=data.draw(st.booleans()), **style) + data.draw(
        st.sampled_from(["", "\n", " \n\n"])
    )
    if data.draw(st.booleans()):
        assume("\r" not in text)
        text = text.replace("\n", "\r\n")
    path = ["hooks", "Stop"]
    added = add_json_value(text, path, ENTRY)
    wanted = copy.deepcopy(document)
    entries = wanted.setdefault("hooks", {}).setdefault("Stop", [])
    entries.append(ENTRY)
    assert json.loads(added) == wanted and list(json.loads(added)) == list(wanted)
    more = add_json_value(added, path, "second")
    assert remove_json_value(more, [*path, len(entries)]) == added
    assert json.loads(remove_json_value(more, [*path, len(entries) - 1]))["hooks"]["Stop"] == [
        *entries[:-1],
        "second",
    ]
    assert remove_json_value(added, [*path, len(entries) - 1]) == text


def test_it_follows_the_style_of_the_document() -> None:
    """Two spaces as Claude Code writes them, tabs, and one line."""
    text = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": []\n      }\n    ]\n  }\n}\n'
    added = add_json_value(text, ["hooks", "SessionEnd"], {"hooks": [1]})
    assert added == json.dumps(json.loads(added), indent=2) + "\n"
    assert add_json_value("{}", ["a"], 1) == '{\n  "a": [\n    1\n  ]\n}'
    assert add_json_value('{"b": 1}', ["a"], {"c": 2}) == '{"b": 1, "a": [{"c": 2}]}'
    assert add_json_value('{"b":1}', ["a"], {"c": 2}) == '{"b":1,"a":[{"c":2}]}'
    tabs = '{\n\t"b": 1\n}'
    assert add_json_value(tabs, ["a"], 2) == '{\n\t"b": 1,\n\t"a": [\n\t\t2\n\t]\n}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        '{"hooks": 1}',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{",
        '{"a": [1}',
    ],
)
def test_a_document_of_another_shape_is_refused(text: str) -> None:
    """Nothing is guessed about what a person meant."""
    with pytest.raises((ValueError, IndexError)):
        add_json_value(text, ["hooks", "Stop"], 1)


def test_what_is_not_there_cannot_be_removed() -> None:
    """A wrong index, a wrong key, a way through a number."""
    paths: list[list[str | int]] = [["hooks", "Stop", 1], ["hooks", "x", 0], ["n", "x"]]
    for path in paths:
        with pytest.raises(ValueError):
            remove_json_value('{"n": 1, "hooks": {"Stop": [1]}}', path)


@examples(300)
@given(DOCUMENTS, DOCUMENTS, STYLES)
def test_a_document_that_is_changed_into_another_one(
    old: dict[str, Any], new: dict[str, Any], style: dict[str, Any]
) -> None:
    """It has the other one's values; what did not change at the top has its bytes."""
    text = json.dumps(old, **style)
    made = change_json_values(text, old, new)
    assert json.dumps(json.loads(made), sort_keys=True) == json.dumps(new, sort_keys=True)
    for key, value in old.items():
        if key in new and json.dumps(new[key]) == json.dumps(value):
            alone = json.dumps({key: value}, **style).strip("{}\n\t ")
            assert alone in made


@pytest.mark.parametrize("path", [("a", 3), ("a", "b"), (0,), ("c", 0)])
def test_what_is_not_there_is_not_put(path: tuple[str | int, ...]) -> None:
    """An index that the array has not is refused, as is a key of an array."""
    with pytest.raises(ValueError, match=r"there is no|is not an object"):
        put_json_value('{"a": [1]}', path, 2)


@pytest.mark.parametrize("path", [("a", 3), ("a", 0), ("c", 0)])
def test_nothing_is_added_where_no_array_can_be(path: tuple[str | int, ...]) -> None:
    """An index that the array has not, and a value that is no array, are refused."""
    with pytest.raises(ValueError, match=r"there is no|another kind|neither"):
        add_json_value('{"a": [1]}', path, 2)
