"""The events of Claude Code's hooks that tacitd uses, which clients may have them in their settings, and what is printed.

Clients until 2.1.63 ignore a whole settings file that names an event which they do not know; from 2.1.110 on they ignore
the event. So the newer events are only added where no older client was used (CLAUDE_CODE.md section 4).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.sources.base import HookQuestion
from tacitd.text.lazy_pattern import compile_lazily

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
"""Known to every supported client."""
NEWER_EVENTS = ("SubagentStart", "PostToolUseFailure")
UNWAITED_EVENTS = ("UserPromptSubmit", "Stop")
"""Nothing is printed for these, so a client that can run a hook beside its own work need not wait."""
TIMEOUT = 5
"""Seconds after which the client ends the program; it needs some milliseconds."""
TOLERANT_SINCE = (2, 1, 110)
"""The first version that was seen to go on with an unknown event in its settings."""
LONGEST_ERROR = 20_000
"""Characters of a failed call's error that are looked at: its end."""
_VERSION = compile_lazily(r"(\d+)\.(\d+)\.(\d+)")


def choose_events(versions: Sequence[str]) -> tuple[str, ...]:
    """All events if every one of these clients tolerates unknown ones, and there is at least one; otherwise the old ones."""
    found = [_VERSION.match(one) for one in versions]
    numbers = [tuple(map(int, one.groups())) if one else (0, 0, 0) for one in found]
    return (*EVENTS, *NEWER_EVENTS) if numbers and min(numbers) >= TOLERANT_SINCE else EVENTS


def make_entry(event: str, command: str, *, newer: bool) -> dict[str, object]:
    """The entry of an event. `newer`: all clients that read it are at least TOLERANT_SINCE; older ones wait for every hook."""
    entry: dict[str, object] = {"type": "command", "command": command, "timeout": TIMEOUT}
    return entry | {"async": True} if newer and event in UNWAITED_EVENTS else entry


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
