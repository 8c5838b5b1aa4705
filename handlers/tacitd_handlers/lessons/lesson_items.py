"""Lessons for `tacitd forget`, and their changes for `tacitd history`: the hooks `items`, `decide` and `changes`.

To forget a lesson is to mark it wrong: it is then neither loaded nor drafted again (SPEC E-15).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.clock import SystemClock, utc_seconds
from tacitd.errors import UsageError
from tacitd.files.log import Log
from tacitd.files.purge import BLANK
from tacitd.handler import Decided, Decision, Handler, StoredItem, Tools
from tacitd_handlers.lessons import lesson_paths, pattern
from tacitd_handlers.lessons.evidence import EvidenceLog
from tacitd_handlers.lessons.lesson_fold import (
    ACTIVE,
    DELETED,
    PROMOTED,
    SUPERSEDED,
    Lesson,
    fold_lessons,
    number_of,
)
from tacitd_handlers.lessons.lesson_operations import edit_lesson, get_lesson, mark_wrong
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.purged_lessons import is_purged, list_wordings
from tacitd_handlers.lessons.store import LessonStore

REASON = "forgotten with tacitd forget"


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each active or promoted lesson, and for each one that is marked wrong or superseded. Raises OSError.

    The id is the lesson's. Only a person promotes, so a promoted lesson counts as theirs.
    """
    store = LessonStore.from_environ(environ, SystemClock())
    for one in store.read_lessons().lessons.values():
        is_hidden = one.status == SUPERSEDED and is_purged(one)
        if (one.is_active or one.status in (DELETED, PROMOTED, SUPERSEDED)) and not is_hidden:
            is_promoted = one.status == PROMOTED
            more = f", promoted to {one.promoted_to}" if is_promoted else ""
            more = f", {one.reason}" if one.status == SUPERSEDED else more
            yield StoredItem(
                one.id,
                "lesson",
                "" if is_purged(one) else one.text,
                f"lesson {one.id} ({one.scope}{more})",
                state="stored" if one.is_active or is_promoted else "forgotten",
                by_person=is_promoted or (one.is_active and one.is_firm),
            )


def decide_lesson(handler: Handler, tools: Tools, decision: Decision) -> Decided:
    """Carry out a decision about a lesson. Raises UsageError, and TacitdError if it does not exist; OSError."""
    store = LessonStore.from_environ(os.environ, tools.clock)
    match decision.choice:
        case "drop":
            lesson, _ = mark_wrong(store, decision.id, REASON, is_promoted_too=True)
            what = f"lesson {lesson.id} is neither loaded nor drafted again"
            what += f"; {lesson.promoted_to} still has it, remove it there" if lesson.promoted_to else ""
            return Decided(what, tuple(dict.fromkeys(_list_texts(store, lesson.id))))
        case "restore":
            lesson = _restore(store, decision.id)
            back = "is promoted again" if lesson.status == PROMOTED else "may be drafted again"
            state = "is active again" if lesson.is_active else back
            return Decided(f"lesson {lesson.id} {state}")
        case "edit":
            lesson, _ = edit_lesson(store, decision.id, pattern.parse_pattern(decision.text), None, None)
            return Decided(f"lesson {lesson.id} is changed")
        case "keep":
            return Decided(f"lesson {get_lesson(store.read_lessons(), decision.id).id} stays")


def _list_texts(store: LessonStore, id: str) -> Iterator[str]:
    """Every text in which the words of a lesson may be stored: its wordings, and the person's words. Raises OSError."""
    yield from (one.text for one in list_wordings(store.log.read(), id))
    origin = LessonOrigins(store.state_dir).find_origin(id) or {}
    yield from (str(words) for words in origin.get("words", ()) if words != BLANK)
    yield from EvidenceLog(store.state_dir).list_words(id)


def _restore(store: LessonStore, id: str) -> Lesson:
    """Make a lesson active or promoted again that was marked wrong or superseded. Raises UsageError if it was not.

    The words of a purged one are gone, so it may only be drafted again.
    """
    with store.begin_change() as change:
        old = get_lesson(change.folded, id)
        if old.status not in (DELETED, SUPERSEDED):
            raise UsageError(f"lesson {old.id} is not marked wrong")
        before = PROMOTED if old.promoted_to else ACTIVE
        new = replace(old, status=SUPERSEDED if is_purged(old) else before, updated=store.today)
        change.append(new.to_record())
        return new


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each record that changed a lesson in the form of `tacitd.files.change_view.describe_transaction`, oldest first.

    A record has a date only, so its time is that of its origin, otherwise the local date. Raises OSError.
    """
    store = LessonStore.from_environ(environ, SystemClock())
    origins, known, numbers = LessonOrigins(store.state_dir).read_all(), dict[int, Lesson](), dict[str, int]()
    for record in Log(store.log.path).read():
        number = number_of(record.get("id"))
        before = known.get(number) if number is not None else None
        records = [record] if before is None else [before.to_record(), record]
        after = next(iter(fold_lessons(records).lessons.values()), None)
        if number is None or after is None:
            continue
        known[number] = after
        added = after.text if after.is_active and (before is None or before.text != after.text) else ""
        added = after.text if after.is_active and before is not None and not before.is_active else added
        removed = before.text if before is not None and before.is_active and after.text != before.text else ""
        removed = after.text if not after.is_active and (before is None or before.is_active) else removed
        if not added and not removed:
            continue
        numbers[after.id] = numbers.get(after.id, 0) + 1
        origin = origins.get(int(after.id), {}) if before is None else {}
        yield _describe(after, numbers[after.id], origin, added, removed)


def _describe(
    lesson: Lesson, number: int, origin: Mapping[str, Any], added: str, removed: str
) -> dict[str, Any]:
    at = utc_seconds(float(origin["at"])) if origin else lesson.updated or lesson.created
    if number > 1:
        what = "changed" if added and removed else "active again"
    elif lesson.is_firm:
        what = "you added it"
    else:
        what = "drafted from your words" if origin.get("words") else "added with `lesson add`"
    return {
        "id": f"{at[:10].replace('-', '')}-lesson-{lesson.id}.{number}",
        "at": at,
        "root": str(origin.get("project", "")),
        "state": "done",
        "by": "lessons",
        "what": lesson.reason or what,
        "undoes": "",
        "undone_by": "",
        "sessions": [str(origin["session"])] if origin.get("session") else [],
        "prompts": [str(id) for id in origin.get("prompts", ())],
        "facts": [str(words) for words in origin.get("words", ())],
        "lines": [
            {
                "file": lesson_paths.LOG,
                "heading": f"lesson {lesson.id}",
                "added": added,
                "removed": removed,
            }
        ],
        "files": [],
        "undo": f"`tacitd forget {lesson.id}` removes the lesson, `tacitd forget --undo {lesson.id}` brings it back",
    }
