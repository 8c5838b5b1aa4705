"""Decoding the fields of a line; malformed shapes never raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.claude_code.records import (
    Block,
    LineMessage,
    TranscriptLine,
    decode_line,
    never_matters,
    read_blocks,
)


def line(**fields: Any) -> TranscriptLine:
    made = decode_line(json.dumps(fields).encode())
    assert made is not None
    return made


@pytest.mark.parametrize(
    "fields",
    [
        {"type": 5},
        {"timestamp": 17},
        {"message": "text"},
        {"message": 3},
        {"message": {"content": 7}},
        {"message": {"content": ["bare", 1, None, {"type": 3}, {"text": "t"}, []]}},
        {"toolUseResult": 5},
        {"toolUseResult": True},
        {"origin": []},
        {"isMeta": "yes"},
        {"attachment": "x"},
        {"attachment": {"type": "queued_command", "origin": 4}},
    ],
)
def test_malformed_shapes_keep_what_fits(fields: dict[str, Any]) -> None:
    """CLAUDE_CODE section 13: message a string, content missing, wrong types; the rest is still read."""
    made = line(**({"type": "user", "uuid": "u"} | fields))
    assert made.uuid == "u"


def test_odd_blocks_are_left_out() -> None:
    """CLAUDE_CODE section 13: a list with odd blocks; the text in it is kept."""
    made = line(
        type="user", timestamp=5, message={"content": ["bare", 1, {"type": "text", "text": "words"}, []]}
    )
    assert isinstance(made.message, LineMessage)
    assert made.message.content == [Block(type="text", text="bare"), Block(type="text", text="words")]


@pytest.mark.parametrize("raw", [b"{", b"", b"\0{}", b'{"type":"a"}{"type":"b"}', b'{"type":"\xff"}'])
def test_what_is_no_json_raises_for_salvage(raw: bytes) -> None:
    """CLAUDE_CODE section 0 fact 7: the caller decides what to do with it."""
    with pytest.raises(ValueError):
        decode_line(raw)


def test_tool_inputs_are_cut_loose_and_bounded() -> None:
    """events.ToolUse: at most 256 KB of input."""
    big = {"type": "tool_use", "id": "2", "name": "Write", "input": {"content": "x" * 300_000}}
    small = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "ls"}}
    made = line(type="assistant", message={"content": [small, big]})
    assert isinstance(made.message, LineMessage)
    _, (one, two) = read_blocks(made.message)
    assert (one.name, json.loads(one.input), two.input) == ("Bash", {"command": "ls"}, b"{}")


def test_lines_that_never_matter() -> None:
    """CLAUDE_CODE section 14.2, and fact 7: not if another record follows a truncated one."""
    user = b'{"type":"user","sessionId":"s","gitBranch":"HEAD"}\n'
    for whole in (
        b'{"type":"api-request-blob","message":{"a":{}}}\n',
        b'{"type":"api-request","requestDigest":"' + b"0" * 64 + b'"}\n',
        b'{"type":"file-history-snapshot","snapshot":{},"isSnapshotUpdate":false}\n',
    ):
        assert never_matters(whole)
        assert not never_matters(whole[:-9] + user)
    assert not never_matters(b'{"type": "api-request", "a": {}}\n')


_NAMES = (
    "type uuid sessionId message content text is_error toolUseResult answers attachment prompt origin kind cwd "
    "isMeta timestamp input name id"
)
FIELDS = st.sampled_from(_NAMES.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@examples(150)
@given(st.dictionaries(FIELDS, JSON, max_size=8))
def test_no_shape_raises(fields: dict[str, Any]) -> None:
    """RELIABILITY row 9: decoding a line accepts any JSON in any field."""
    assert decode_line(json.dumps(fields).encode()) is not None
