"""What the hooks of Claude Code say, and what is printed for them (CLAUDE_CODE.md section 4). Pure.

The plugin names the events in `plugin/hooks/hooks.json`; each runs hook_program.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tacitd.sources.base import HookQuestion, SessionHint

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "PreCompact",
    "SessionEnd",
    "SubagentStart",
    "PostToolUseFailure",
)
LONGEST_ERROR = 20_000
"""Characters of a failed call's error that are looked at: its end."""
LONGEST_ID = 200


def read_hint(data: Mapping[str, object]) -> SessionHint | None:
    """What a hook's input says about a session; None if it is not an input of Claude Code."""
    event, session, path = (data.get(key) for key in ("hook_event_name", "session_id", "transcript_path"))
    if not (isinstance(event, str) and isinstance(session, str) and isinstance(path, str)):
        return None
    if event not in EVENTS or not 0 < len(session) <= LONGEST_ID or not is_path(path):
        return None
    return SessionHint(session, Path(path), ended=event == "SessionEnd", compacts=event == "PreCompact")


def read_question(data: Mapping[str, object]) -> HookQuestion | None:
    """What a hook's input asks for; None for an event that is not answered, and for input of another form."""
    event, session, path, cwd = (
        _text(data, key) for key in ("hook_event_name", "session_id", "transcript_path", "cwd")
    )
    if not session or not is_path(cwd) or (path and not is_path(path)):
        return None
    match event:
        case "SessionStart":
            return HookQuestion(event, "context", session, Path(path), cwd, source=_text(data, "source"))
        case "SubagentStart":
            agent = _text(data, "agent_type") or "unknown"
            return HookQuestion(event, "context", session, Path(path), cwd, agent=agent)
        case "PostToolUseFailure":
            error, tool = _text(data, "error")[-LONGEST_ERROR:], _text(data, "tool_name")
            return HookQuestion(event, "failure", session, Path(path), cwd, tool=tool, error=error)
        case _:
            return None


def format_answer(question: HookQuestion, text: str) -> str:
    """The output of the hook: plain for a session's start, as all versions take it, otherwise JSON; "" for no text."""
    if not text or question.event == "SessionStart":
        return text
    said = {"hookEventName": question.event, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False) + "\n"


def is_path(text: str) -> bool:
    """Whether this can be an absolute path. A path with a NUL or a lone surrogate cannot be passed to the system."""
    if not text.startswith("/") or "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _text(data: Mapping[str, object], key: str) -> str:
    found = data.get(key)
    return found if isinstance(found, str) else ""
