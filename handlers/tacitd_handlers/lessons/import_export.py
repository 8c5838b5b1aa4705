"""Export and import of lessons (SPEC E-25). Pure but for `import_lessons`.

An export is in the log's format, one folded record per lesson. Imported lessons get new ids, and keep their scope,
source, dates and unknown keys. A person's mark is never overridden: what is marked wrong here is not added, and what
comes marked wrong is added as such, so that it is not drafted here either (SPEC E-32).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.lesson_fold import (
    ACTIVE,
    DELETED,
    KEYS,
    PROMOTED,
    SUPERSEDED,
    WAITING,
    FoldedLessons,
    Lesson,
)
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.lesson_operations import choose_duplicate
from tacitd_handlers.lessons.pattern import PatternError
from tacitd_handlers.lessons.scopes import GLOBAL, normalise_scope
from tacitd_handlers.lessons.store import LessonStore


class BadRecord(Struct, frozen=True):
    """A line that is not a lesson, and why."""

    line: int
    why: str


class Imported(Struct):
    """The result of an import."""

    added: list[str]
    known: list[str]
    """Ids of the lessons that say the same already."""
    wrong: list[str]
    """Ids of the lessons that say the same and are marked wrong here."""


def export_records(found: FoldedLessons, scope: str | None, *, every: bool) -> list[dict[str, Any]]:
    """The records to export: active ones, of one scope or of all; with `every` also inactive ones."""
    chosen = (x for x in found.lessons.values() if (every or x.is_active) and scope in (None, x.scope))
    return [lesson.to_record() for lesson in chosen]


def parse_export(data: bytes) -> tuple[list[Lesson], list[BadRecord]]:
    """The lessons in an export or in a whole lessons.jsonl, folded, and the lines that are not lessons.

    Ids only show which lines belong together; a line without an id is a lesson of its own.
    """
    merged: dict[object, tuple[int, dict[str, Any]]] = {}
    bad: list[BadRecord] = []
    for at, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        record = _record(line) if line.strip() else {}
        if record is None:
            bad.append(BadRecord(at, "it is not a JSON object"))
        elif record:
            number = number_of(record.get("id"))
            first, known = merged.get(number, (at, {})) if number is not None else (at, {})
            merged[number if number is not None else f"line {at}"] = (first, {**known, **record})
    checked = [(at, _checked(record)) for at, record in merged.values()]
    bad += [BadRecord(at, one) for at, one in checked if isinstance(one, str)]
    return [one for _, one in checked if isinstance(one, Lesson)], sorted(bad, key=lambda one: one.line)


def import_lessons(store: LessonStore, lessons: Iterable[Lesson], *, dry: bool = False) -> Imported:
    """Add the lessons that are new, all under one lock. `dry` writes nothing. Raises OSError, LogDamagedError."""
    done = Imported([], [], [])
    with store.begin_change() as change:
        here: dict[str, list[Lesson]] = {}
        for one in change.folded.lessons.values():
            here.setdefault(pattern.normalise_pattern(one.parts), []).append(one)
        for lesson in lessons:
            same = here.setdefault(pattern.normalise_pattern(lesson.parts), [])
            known = _known(same, lesson)
            if known is not None:
                (done.wrong if known.status == DELETED != lesson.status else done.known).append(known.id)
                continue
            made = replace(lesson, id=change.next_id(), created=lesson.created or store.today)
            same.append(made)
            done.added.append(made.id)
            if not dry:
                change.append(made.to_record(), sync=False)
        store.log.flush()
    return done


def _is_date(text: str) -> bool:
    """Whether it is a date of the calendar, as YYYY-MM-DD: dates are compared as texts."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _known(same: Iterable[Lesson], lesson: Lesson) -> Lesson | None:
    """The lesson that bars importing this one, or None.

    For an active lesson it is the one that bars adding it. For an inactive one it is any lesson of its scope with the
    same pattern.
    """
    if lesson.is_active:
        return choose_duplicate(same, lesson.scope, lesson.source)
    return next((one for one in same if one.scope == lesson.scope), None)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None


def _checked(record: Mapping[str, Any]) -> Lesson | str:
    """The lesson of a record, or why it is invalid.

    Every field is checked against the seed's schema; nothing is guessed.
    """
    text = {key: record.get(key, "") for key in KEYS if key != "id"}
    odd = next((key for key, value in text.items() if not isinstance(value, str)), None)
    if odd is not None:
        return f"{odd} is not a string"
    scope = normalise_scope(text["scope"] or GLOBAL)
    if scope is None:
        return f"{text['scope']!r} is not a scope"
    if text["action"] not in ("do", "dont"):
        return "action is neither do nor dont"
    if text["status"] not in ("", ACTIVE, DELETED, PROMOTED, SUPERSEDED, WAITING) or text["from"] not in (
        "",
        "ai",
        "user",
    ):
        return "status or from is not known"
    try:
        parts = pattern.build_pattern(
            text["when"], "do" if text["action"] == "do" else "dont", text["do"], text["because"]
        )
    except PatternError as error:
        return error.what
    dates = {key: text[key] for key in ("created", "updated")}
    if any(day and not _is_date(day) for day in dates.values()):
        return "a date is not YYYY-MM-DD"
    extra = {key: value for key, value in record.items() if key not in KEYS}
    rest = {
        "reason": pattern.tidy_part(text["reason"]),
        "promoted_to": pattern.tidy_part(text["promoted_to"]),
    }
    return Lesson(
        "", scope, text["from"] or "ai", text["status"] or ACTIVE, parts=parts, extra=extra, **dates, **rest
    )
