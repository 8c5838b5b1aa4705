"""The sentinel (CLAUDE_CODE 3.3, RELIABILITY 19)."""

from __future__ import annotations

from tacitd.model.port import SENTINEL, frame_prompt
from tacitd.sources.claude_code.prompts import judge_line
from tacitd.sources.claude_code.records import LineMessage, TranscriptLine
from tacitd.sources.source import OwnCalls


def test_every_prompt_begins_with_the_sentinel() -> None:
    """CLAUDE_CODE 3.3 and ANCHORS P9: never a leading `/`, and the reader recognises tacitd's prompts."""
    assert frame_prompt("/cost").split("\n")[0] == SENTINEL
    own = OwnCalls("/nonexistent", SENTINEL, set())
    said = {
        text: judge_line(TranscriptLine(type="user", message=LineMessage(text)), own).words
        for text in ("x", frame_prompt("x"))
    }
    assert said["x"] and not said[frame_prompt("x")] and not SENTINEL.startswith("/")
