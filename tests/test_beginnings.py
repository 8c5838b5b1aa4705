"""The hand-written beginnings of transcripts are those that the real client wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_beginnings import PRINTED, SHAPES, Shape, beginning, leading, opening
from tacitd.sources.claude_code.transcripts import ClaudeCode

CLIENT = Path(__file__).parent / "fixtures" / "client"
RECORDED = {
    "1.0.24 resumed": "1.0.24/*/1a2553d7-*.jsonl",
    "1.0.128": "1.0.128/*/7653a5e7-*.jsonl",
    "2.0.76 -p": "2.0.76/*/1858021f-*.jsonl",
    "2.1.63 -p": "2.1.63/*/*.jsonl",
    "2.1.197": "ns_197/*/*.jsonl",
    "2.1.328": "mid_328/*/*.jsonl",
    "2.1.328 cleared": "big_328/*/a0337ab3-*.jsonl",
    "2.1.328 -p --resume": "resume_328/*/fe96d057-*.jsonl",
}
SEEN_ONLY = {"2.0.76", "2.1.12 resumed"}
"""Shapes of interactive sessions of which no recorded copy may lie here: their records are those of other shapes."""


def keys_of(shape: Shape) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(record["type"]), tuple(record)) for record in shape]


@pytest.mark.parametrize("name", RECORDED)
def test_each_shape_is_a_recorded_one(name: str) -> None:
    """CLAUDE_CODE section 5: type, keys and their order."""
    (path,) = CLIENT.glob(RECORDED[name])
    assert leading(path) == (keys_of((SHAPES | PRINTED)[name]), True)


def test_each_recorded_beginning_has_a_shape() -> None:
    """A version with another beginning must become a shape, so that the tests know it."""
    shapes = [keys_of(shape) for shape in (SHAPES | PRINTED).values()]
    unknown = {}
    for path in CLIENT.glob("*/*/*.jsonl"):
        found, named = leading(path)
        if named and not ClaudeCode(CLIENT).is_subagent(str(path)) and found not in shapes:
            unknown[path.name] = found
    assert unknown == {}


def test_what_no_recording_shows_is_made_of_recorded_records() -> None:
    """Interactive sessions of old clients begin with records that recorded sessions of others hold too."""
    assert set(SHAPES | PRINTED) == set(RECORDED) | SEEN_ONLY
    recorded = {one for name in RECORDED for one in keys_of((SHAPES | PRINTED)[name])}
    assert all(one in recorded for name in SEEN_ONLY for one in keys_of(SHAPES[name]))


def test_a_beginning_names_its_session_and_no_directory() -> None:
    """CLAUDE_CODE section 5: what makes it hard to read."""
    for name in SHAPES | PRINTED:
        records = beginning("s9", name, "2026-01-02T03:04:05.000Z", "words")
        assert not any("cwd" in record for record in records)
        assert {record["sessionId"] for record in records if "sessionId" in record} <= {"s9"}
        assert opening("s9", name).count(b"\n") == len(records)
