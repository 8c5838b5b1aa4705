"""What hooks say, ask for and print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacitd.sources.claude_code import transcripts
from tacitd.sources.claude_code.transcripts import EVENTS
from tacitd.sources.source import HookQuestion, SessionHint

COMMON = {"session_id": "2c79", "transcript_path": "/p/2c79.jsonl", "cwd": "/w"}


def test_what_is_asked() -> None:
    """CLAUDE_CODE.md 4.2 and 4.3: the exact inputs."""
    start = transcripts.parse_question({**COMMON, "hook_event_name": "SessionStart", "source": "resume"})
    assert start == HookQuestion(
        "SessionStart", "context", "2c79", Path("/p/2c79.jsonl"), "/w", source="resume"
    )
    agent = transcripts.parse_question(
        {**COMMON, "hook_event_name": "SubagentStart", "agent_id": "a", "agent_type": "Explore"}
    )
    assert agent is not None and (agent.kind, agent.agent) == ("context", "Explore")
    failed = {
        **COMMON,
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "error": "x" * 30_000 + "end",
    }
    found = transcripts.parse_question(failed)
    assert found is not None and (found.kind, found.tool) == ("failure", "Bash")
    assert len(found.error) == 20_000 and found.error.endswith("end")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {**COMMON, "hook_event_name": "Stop"},
        {**COMMON, "hook_event_name": ["SessionStart"]},
        {**COMMON, "hook_event_name": "SessionStart", "cwd": "relative"},
        {**COMMON, "hook_event_name": "SessionStart", "cwd": "/a\0b"},
        {**COMMON, "hook_event_name": "SessionStart", "cwd": "/a\ud800b"},
        {**COMMON, "hook_event_name": "SessionStart", "transcript_path": "/a\ud800b"},
        {**COMMON, "hook_event_name": "SessionStart", "session_id": 7},
    ],
)
def test_other_input_asks_nothing(data: dict[str, object]) -> None:
    """Another event, another form."""
    assert transcripts.parse_question(data) is None


def test_what_is_printed() -> None:
    """A session's start takes plain text in all versions; the newer events take JSON only."""
    question = HookQuestion("SessionStart", "context", "s", Path("/p"), "/w")
    assert (
        transcripts.encode_answer(question, "text") == "text"
        and transcripts.encode_answer(question, "") == ""
    )
    for event in ("SubagentStart", "PostToolUseFailure"):
        question = HookQuestion(event, "failure", "s", Path("/p"), "/w")
        said = json.loads(transcripts.encode_answer(question, "text\n"))
        assert said == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "text\n"}}
        assert transcripts.encode_answer(question, "") == ""


def test_what_a_hook_says() -> None:
    """CLAUDE_CODE.md 4.2: the end of a session and a compaction are marked; other input says nothing."""
    for event in EVENTS:
        assert transcripts.parse_hint({**COMMON, "hook_event_name": event}) == SessionHint(
            "2c79", Path("/p/2c79.jsonl"), ended=event == "SessionEnd", compacts=event == "PreCompact"
        )
    odd: list[dict[str, object]] = [
        {"hook_event_name": "Notification"},
        {"session_id": ""},
        {"session_id": "x" * 201},
        {"session_id": 7},
        {"transcript_path": "p"},
    ]
    for change in odd:
        assert transcripts.parse_hint({**COMMON, "hook_event_name": "Stop", **change}) is None
