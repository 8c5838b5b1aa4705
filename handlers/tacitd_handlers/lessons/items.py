"""What a person decides about lessons with `tacitd forget`, `accept` and `review`, and where lessons came from, for `why`.

To forget a lesson is to mark it wrong: it is then neither loaded nor drafted again (SPEC E-15, E-32).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.contract import Done, Rows, Tools
from tacitd.handler import Decision, Notice, StoredItem
from tacitd_handlers.lessons.lesson_actions import (
    confirm_lesson,
    list_contradictions,
    mark_wrong,
    restore_lesson,
)
from tacitd_handlers.lessons.lesson_history import list_wordings
from tacitd_handlers.lessons.lesson_log import PROMOTED, Lesson, LessonLog, number_of
from tacitd_handlers.lessons.lesson_origins import Origin, read_origins
from tacitd_handlers.lessons.pattern import parse_pattern

REASON = "forgotten with tacitd forget"


def list_items(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each active, promoted or waiting lesson, and for each one that is marked wrong. Raises OSError.

    The id is the lesson's. Only a person promotes, so a promoted lesson counts as theirs. `review` asks about a lesson of
    an agent that waits, or that contradicts another one (SPEC E-12).
    """
    log = LessonLog.from_environ(environ)
    lessons, origins = log.read_lessons(), read_origins(rows, log)
    wordings = list_wordings(log.read())
    opposites = list_contradictions(lessons.list_active())
    for one in lessons.all.values():
        review, is_promoted, other = "", one.status == PROMOTED, opposites.get(one.id)
        is_forgotten = one.is_wrong and bool(one.digests or not one.is_purged)
        if not (one.is_active or one.is_waiting or is_promoted or is_forgotten):
            continue
        if one.is_waiting:
            review = f"an agent added it, and it waits for you: {one.reason}"
        elif one.is_active and not one.is_firm and other is not None:
            review = f"lesson {other.id} ({other.scope}) says the opposite: {other.text}"
        yield StoredItem(
            one.id,
            "lesson",
            "" if one.is_purged else one.text,
            f"lesson {one.id} ({one.scope}{f', promoted to {one.promoted_to}' if is_promoted else ''})",
            state="proposed" if one.is_waiting else "forgotten" if one.is_wrong else "stored",
            by_person=is_promoted or (one.is_active and one.is_firm),
            review=review,
            words=origins.get(int(one.id), Origin()).words,
            earlier=wordings.get(int(one.id), ()),
        )


def decide(decision: Decision, tools: Tools) -> Done:
    """Carry out a decision about a lesson. Raises UsageError, and TacitdError if it does not exist; OSError."""
    log = LessonLog.from_environ(os.environ, tools.clock)
    match decision.choice:
        case "drop":
            lesson, _ = mark_wrong(log, decision.id, REASON, is_promoted_too=True)
            did, more = "forgotten", "it is neither loaded nor drafted again"
            more += f"; {lesson.promoted_to} still has it, remove it there" if lesson.promoted_to else ""
        case "restore":
            lesson = restore_lesson(log, decision.id)
            did = "restored"
            more = "it may be drafted again" if lesson.is_purged else f"it is {lesson.status} again"
        case "edit":
            lesson = confirm_lesson(log, decision.id, parse_pattern(decision.text))
            did, more = "changed", "it is yours"
        case "keep":
            lesson = confirm_lesson(log, decision.id)
            did, more = "kept", "it is active, and yours"
    return Done(notices=[Notice(did, f"lesson {lesson.id}; {more}")])


def explain(rows: Rows, asked: str, root: Path | None) -> Iterator[dict[str, Any]]:
    """The lessons that match an id or a part of a lesson's text, with their origins. Raises OSError."""
    log = LessonLog.from_environ(os.environ)
    origins = read_origins(rows, log)
    for one in log.read_lessons().all.values():
        if not _is_meant(one, asked):
            continue
        origin = origins.get(int(one.id), Origin())
        where = f"lesson {one.id} ({one.scope}, {'waiting' if one.is_waiting else one.status})"
        if not one.is_firm and not origin.words:
            where += ", added by an agent: you did not type it"
        yield {
            "id": one.id,
            "what": one.text,
            "where": where,
            "at": utc_seconds(origin.at) if origin.at else one.created,
            "sessions": [origin.session] if origin.session else [],
            "words": list(origin.words),
        }


def _is_meant(lesson: Lesson, asked: str) -> bool:
    wanted = asked.strip().removeprefix("- ").casefold()
    if (number := number_of(wanted)) is not None:
        return int(lesson.id) == number
    return len(wanted) > 3 and wanted in f"{lesson.text} [firm]".casefold()
