"""What a person decides about lessons with `tacitd forget` and the like: the hook `decide`.

To forget a lesson is to mark it wrong: it is then neither loaded nor drafted again (SPEC E-15).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec.structs import replace

from tacitd.errors import UsageError
from tacitd.files.log import BLANK
from tacitd.handler import Decided, Decision, Handler, Tools
from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.lesson_fold import ACTIVE, DELETED, DIGESTS, PROMOTED, WAITING, Lesson
from tacitd_handlers.lessons.lesson_operations import edit_lesson, get_lesson, mark_wrong
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.purged_lessons import list_wordings
from tacitd_handlers.lessons.store import LessonStore

REASON = "forgotten with tacitd forget"


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
        case "edit" | "keep" if get_lesson(store.read_lessons(), decision.id).status == WAITING:
            lesson = _accept(store, decision)
            return Decided(f"lesson {lesson.id} is active")
        case "edit":
            lesson, _ = edit_lesson(store, decision.id, pattern.parse_pattern(decision.text), None, None)
            return Decided(f"lesson {lesson.id} is changed")
        case "keep":
            lesson = get_lesson(store.read_lessons(), decision.id)
            if lesson.is_active:  # who confirms a lesson has stated it, so `review` does not ask again
                lesson, _ = edit_lesson(store, lesson.id, None, None, "user", force=True)
            return Decided(f"lesson {lesson.id} stays")


def _list_texts(store: LessonStore, id: str) -> Iterator[str]:
    """Every text in which the words of a lesson may be stored: its wordings, and the person's words. Raises OSError."""
    yield from (one.text for one in list_wordings(store.log.read(), id))
    origin = LessonOrigins(store.state_dir).find_origin(id) or {}
    yield from (str(words) for words in origin.get("words", ()) if words != BLANK)


def _accept(store: LessonStore, decision: Decision) -> Lesson:
    """Make a lesson of an agent active, with the person's own words if there are any."""
    with store.begin_change() as change:
        old = get_lesson(change.folded, decision.id)
        parts = pattern.parse_pattern(decision.text) if decision.choice == "edit" else old.parts
        # An empty value replaces the reason for which it waited.
        new = replace(old, status=ACTIVE, updated=store.today, parts=parts, reason="")
        change.append({**new.to_record(), "reason": ""})
        return new


def _restore(store: LessonStore, id: str) -> Lesson:
    """Make a lesson active or promoted again that was marked wrong. Raises UsageError if it was not.

    The words of a purged one are gone, so only its digests are removed: it may be drafted again.
    """
    with store.begin_change() as change:
        old = get_lesson(change.folded, id)
        if old.status != DELETED:
            raise UsageError(f"lesson {old.id} is not marked wrong")
        before = PROMOTED if old.promoted_to else ACTIVE
        if old.is_purged:
            new = replace(old, updated=store.today, extra={**old.extra, DIGESTS: []})
        else:
            new = replace(old, status=before, updated=store.today)
        change.append(new.to_record())
        return new
