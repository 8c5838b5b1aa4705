"""The adapter from `lesson_history.py` to the form that `tacitd why` shows for all plugins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd_handlers.lessons.lesson_history import explain_lessons
from tacitd_handlers.lessons.lesson_reader import LessonReader


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """The lessons that match an id or a part of a lesson's text, with their origins."""
    return [_reason(one) for one in explain_lessons(LessonReader.from_environ(os.environ), asked)]


def _reason(one: dict[str, Any]) -> dict[str, Any]:
    lesson, origin = one["lesson"], one["origin"] or {}
    at = utc_seconds(origin["at"]) if origin.get("at") is not None else str(lesson.get("created", ""))
    sessions = [origin["session"]] if origin.get("session") else []
    where = f"lesson {lesson['id']} ({lesson['scope']}, {lesson['status']})"
    if lesson["from"] == "ai" and not origin.get("words"):
        where += ", added by an agent: you did not type it"
    return {
        "id": str(lesson["id"]),
        "what": lesson["pattern"],
        "where": where,
        "at": at,
        "sessions": sessions,
        "words": origin.get("words", []),
    }
