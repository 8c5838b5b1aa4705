"""The text for resuming a session: its summary, open and blocked tasks, decisions and notes (SPEC P-26). Pure.

Which session it is belongs to `session_choice` and its callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tacitd.clock import parse_utc
from tacitd_handlers.continuity.render import Json
from tacitd_handlers.continuity.stored_text import clean_text

LINES = 30
"""Lines of the text at most."""
_LINE = 240
_DECISIONS = 5
_NOTES = 5


def build_resume_text(document: Json, now: float, most: int = LINES) -> str:
    """Given a session's file, return its text of at most `most` lines; "" if there is nothing to resume.

    `now` is seconds since 1970, UTC; the text says how long ago the session was.
    """
    left, blocked, finished = _tasks(document)
    summary = clean_text(document.get("summary"), 600)
    decisions = [_decision(one) for one in _maps(document, "decisions")][-_DECISIONS:]
    notes = [clean_text(one, _LINE) for one in _list(document, "context")][-_NOTES:]
    if not any((summary, left, blocked, decisions, notes)):
        return ""
    parts = [
        _part("", [summary] if summary else []),
        _part("Open:", left, bullet=True),
        _part("Blocked:", blocked, bullet=True),
        _part("Decided:", [one for one in decisions if one], bullet=True),
        _part("Noted:", [one for one in notes if one], bullet=True),
    ]
    done = f", {finished} task{'s' if finished != 1 else ''} done" if finished else ""
    lines = [f"## The last session here ({_ago(document, now)}{done})"]
    return "\n".join(_fitted(lines, parts, most))


def _tasks(document: Json) -> tuple[list[str], list[str], int]:
    tasks = _maps(document, "tasks")
    left, blocked, finished = [], [], 0
    for one in tasks:
        title = clean_text(one.get("title"), _LINE)
        match one.get("status"):
            case "completed":
                finished += 1
            case "blocked":
                why = clean_text(one.get("blockedBy"), _LINE)
                blocked.append(f"{title} (waits for: {why})" if why else title)
            case status:
                left.append(f"{title} (in progress)" if status == "in_progress" else title)
    left.sort(key=lambda one: not one.endswith("(in progress)"))
    return left, blocked, finished


def _decision(one: Mapping[str, Any]) -> str:
    said, why = clean_text(one.get("decision"), _LINE), clean_text(one.get("rationale"), _LINE)
    return f"{said}, because: {why}" if said and why else said


def _maps(document: Json, key: str) -> list[Mapping[str, Any]]:
    return [one for one in _list(document, key) if isinstance(one, Mapping)]


def _list(document: Json, key: str) -> list[Any]:
    found = document.get(key)
    return found if isinstance(found, list) else []


def _part(heading: str, lines: Iterable[str], *, bullet: bool = False) -> list[str]:
    made = [f"- {one}" if bullet else one for one in lines]
    return [heading, *made] if heading and made else made


def _fitted(lines: list[str], parts: list[list[str]], most: int) -> list[str]:
    """As many lines of each part as fit; a part that is cut ends with the number of lines left out."""
    for part in parts:
        room = most - len(lines)
        if len(part) <= room:
            lines += part
        elif room >= 3:  # a heading, one line and the count
            lines += [*part[: room - 1], f"- … and {len(part) - room + 1} more"]
    return lines


def _ago(document: Json, now: float) -> str:
    last = parse_utc(document.get("lastActiveAt"))
    hours = max(0.0, now - last) / 3600 if last is not None else 0.0
    if hours < 1:
        return "within the hour"
    return f"{hours:.0f} h ago" if hours < 48 else f"{hours / 24:.0f} days ago"
