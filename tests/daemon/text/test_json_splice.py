"""Adding and removing values in JSON text: the meaning changes as asked, and no other byte changes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.json_splice import rewrite_json

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
    wanted = copy.deepcopy(document)
    wanted.setdefault("hooks", {}).setdefault("Stop", []).append(ENTRY)
    added = rewrite_json(text, wanted)
    assert json.loads(added) == wanted and list(json.loads(added)) == list(wanted)
    more = copy.deepcopy(wanted)
    more["hooks"]["Stop"].append("second")
    assert rewrite_json(rewrite_json(added, more), wanted) == added
    assert rewrite_json(added, document) == text


def test_it_follows_the_style_of_the_document() -> None:
    """Two spaces as Claude Code writes them, tabs, and one line."""
    text = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": []\n      }\n    ]\n  }\n}\n'
    document = json.loads(text)
    document["hooks"]["SessionEnd"] = [{"hooks": [1]}]
    assert rewrite_json(text, document) == json.dumps(document, indent=2) + "\n"
    assert rewrite_json("{}", {"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'
    assert rewrite_json('{"b": 1}', {"b": 1, "a": [{"c": 2}]}) == '{"b": 1, "a": [{"c": 2}]}'
    assert rewrite_json('{"b":1}', {"b": 1, "a": [{"c": 2}]}) == '{"b":1,"a":[{"c":2}]}'
    assert rewrite_json('{\n\t"b": 1\n}', {"b": 1, "a": [2]}) == '{\n\t"b": 1,\n\t"a": [\n\t\t2\n\t]\n}'


def test_of_a_key_that_is_there_twice_the_last_one_counts() -> None:
    assert rewrite_json('{"a": 1, "b": 0, "a": 2}', {"a": 3, "b": 0}) == '{"a": 1, "b": 0, "a": 3}'
    assert rewrite_json('{"a": 1, "b": 0, "a": 2}', {"b": 0}) == '{"b": 0}'


@pytest.mark.parametrize("text", ["", "[]", "1", '{"a" 1}', '{"a": 1 "b": 2}', "{", '{"a": [1}'])
def test_a_document_of_another_shape_is_refused(text: str) -> None:
    """Nothing is guessed about what a person meant."""
    with pytest.raises((ValueError, IndexError)):
        rewrite_json(text, {"hooks": 1})


@examples(300)
@given(DOCUMENTS, DOCUMENTS, STYLES)
def test_a_document_that_is_changed_into_another_one(
    old: dict[str, Any], new: dict[str, Any], style: dict[str, Any]
) -> None:
    """It has the other one's values; what did not change at the top has its bytes."""
    text = json.dumps(old, **style)
    made = rewrite_json(text, new)
    assert json.dumps(json.loads(made), sort_keys=True) == json.dumps(new, sort_keys=True)
    for key, value in old.items():
        if key in new and json.dumps(new[key]) == json.dumps(value):
            alone = json.dumps({key: value}, **style).strip("{}\n\t ")
            assert alone in made
