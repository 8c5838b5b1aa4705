"""What hooks say, ask for and print."""

from __future__ import annotations

import json
from pathlib import Path

from support_transcripts import SOURCE
from tacitd.sources.claude_code.transcripts import EVENTS
from tacitd.sources.source import HookInput

COMMON = {"session_id": "2c79", "transcript_path": "/p/2c79.jsonl", "cwd": "/w"}


def read(event: object, **fields: object) -> HookInput | None:
    return SOURCE.read_hook({**COMMON, "hook_event_name": event, **fields})


def test_what_is_asked() -> None:
    """CLAUDE_CODE.md 4.2 and 4.3: the exact inputs."""
    start, path = read("SessionStart", source="resume"), Path("/p/2c79.jsonl")
    assert start == HookInput("SessionStart", "2c79", path, "/w", "context", source="resume")
    agent = read("SubagentStart", agent_id="a", agent_type="Explore")
    assert agent is not None and (agent.kind, agent.agent) == ("context", "Explore")
    found = read("PostToolUseFailure", tool_name="Bash", error="x" * 30_000 + "end")
    assert found is not None and found.kind == "failure"
    assert len(found.error) == 20_000 and found.error.endswith("end")
    for odd in ("relative", "/a\0b", "/a\ud800b"):
        asked = read("SessionStart", cwd=odd)
        assert asked is not None and asked.kind == ""


def test_what_is_printed() -> None:
    """A session's start takes plain text in all versions; the newer events take JSON only."""
    hook = HookInput("SessionStart", "s", Path("/p"), "/w", "context")
    assert SOURCE.format_answer(hook, "text") == "text" and SOURCE.format_answer(hook, "") == ""
    for event in ("SubagentStart", "PostToolUseFailure"):
        hook = HookInput(event, "s", Path("/p"), "/w", "failure")
        said = json.loads(SOURCE.format_answer(hook, "text\n"))
        assert said == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "text\n"}}
        assert SOURCE.format_answer(hook, "") == ""


def test_what_a_hook_says() -> None:
    """CLAUDE_CODE.md 4.2: the end of a session and a compaction are marked; other input says nothing."""
    for event in EVENTS:
        hook = read(event)
        assert hook is not None and (hook.session, hook.transcript) == ("2c79", Path("/p/2c79.jsonl"))
        assert (hook.ended, hook.compacts) == (event == "SessionEnd", event == "PreCompact")
    odd: list[dict[str, object]] = [
        {"session_id": ""},
        {"session_id": "x" * 201},
        {"session_id": 7},
        {"transcript_path": "p"},
        {"transcript_path": "/a\ud800b"},
    ]
    assert [read("Stop", **change) for change in odd] == [None] * len(odd)
    assert read("Notification") is None and read(["SessionStart"]) is None and SOURCE.read_hook({}) is None
