"""Lessons from one machine to another: records out, records in (SPEC E-25). Pure but for `take_in`.

What goes out is the log's own form, one folded record for each lesson. What comes in gets ids of this log, keeps its
scope, origin, dates and foreign keys, and never overrides a person: what was marked wrong here stays away, and what
comes marked wrong is kept as such, so that it stays away here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.changes import barring
from tacitd_handlers.lessons.folding import ACTIVE, DELETED, KEYS, PROMOTED, Folded, Lesson, number_of
from tacitd_handlers.lessons.pattern import PatternError
from tacitd_handlers.lessons.scopes import GLOBAL, folded
from tacitd_handlers.lessons.store import Store

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that is no lesson, and why."""

    line: int
    why: str


@dataclass(slots=True)
class Imported:
    """What became of the lines."""

    added: list[str]
    known: list[str]
    """Ids of the lessons that say the same already."""
    wrong: list[str]
    """Ids of the lessons that said the same and were marked wrong here."""


def outgoing(found: Folded, scope: str | None, *, every: bool) -> list[dict[str, Any]]:
    """The records to export: those in force, of one scope or of all; with `every` those that are not, too."""
    chosen = (x for x in found.lessons.values() if (every or x.active) and scope in (None, x.scope))
    return [lesson.record() for lesson in chosen]


def read(data: bytes) -> tuple[list[Lesson], list[Bad]]:
    """Given the bytes of an export or of a whole lessons.jsonl, return its lessons, folded, and the lines that are none.

    Ids only tell which lines belong together; a line without one stands for itself.
    """
    merged: dict[object, tuple[int, dict[str, Any]]] = {}
    bad: list[Bad] = []
    for at, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        record = _record(line) if line.strip() else {}
        if record is None:
            bad.append(Bad(at, "it is no JSON object"))
        elif record:
            number = number_of(record.get("id"))
            first, known = merged.get(number, (at, {})) if number is not None else (at, {})
            merged[number if number is not None else f"line {at}"] = (first, {**known, **record})
    checked = [(at, _checked(record)) for at, record in merged.values()]
    bad += [Bad(at, one) for at, one in checked if isinstance(one, str)]
    return [one for _, one in checked if isinstance(one, Lesson)], sorted(bad, key=lambda one: one.line)


def take_in(store: Store, lessons: Iterable[Lesson], *, dry: bool = False) -> Imported:
    """Add what is not there yet, all under one lock. With `dry` nothing is written. Raises OSError."""
    done = Imported([], [], [])
    with store.change() as change:
        here: dict[str, list[Lesson]] = {}
        for one in change.folded.lessons.values():
            here.setdefault(pattern.normal(one.parts), []).append(one)
        for lesson in lessons:
            same = here.setdefault(pattern.normal(lesson.parts), [])
            known = _known(same, lesson)
            if known is not None:
                (done.wrong if known.status == DELETED != lesson.status else done.known).append(known.id)
                continue
            made = replace(lesson, id=change.next_id(), created=lesson.created or store.today)
            same.append(made)
            done.added.append(made.id)
            if not dry:
                change.append(made.record(), sync=False)
        store.log.flush()
    return done


def _known(same: Iterable[Lesson], lesson: Lesson) -> Lesson | None:
    """The lesson here because of which one from elsewhere is not taken: an active one as if it were added by its
    author; one out of force where there is one in its scope already, whatever became of that."""
    if lesson.active:
        return barring(same, lesson.scope, lesson.source)
    return next((one for one in same if one.scope == lesson.scope), None)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None


def _checked(record: Mapping[str, Any]) -> Lesson | str:
    """Every field against the seed's schema: a person's file is theirs to mend, so nothing is guessed."""
    text = {key: record.get(key, "") for key in KEYS if key != "id"}
    odd = next((key for key, value in text.items() if not isinstance(value, str)), None)
    if odd is not None:
        return f"{odd} is no text"
    scope = folded(text["scope"] or GLOBAL)
    if scope is None:
        return f"{text['scope']!r} is no scope"
    if text["action"] not in ("do", "dont"):
        return "action is neither do nor dont"
    if text["status"] not in ("", ACTIVE, DELETED, PROMOTED) or text["from"] not in ("", "ai", "user"):
        return "status or from is not one of the seed's"
    try:
        parts = pattern.compile(
            text["when"], "do" if text["action"] == "do" else "dont", text["do"], text["because"]
        )
    except PatternError as error:
        return error.what
    dates = {key: text[key] for key in ("created", "updated")}
    if any(date and not _DATE.fullmatch(date) for date in dates.values()):
        return "a date is not YYYY-MM-DD"
    extra = {key: value for key, value in record.items() if key not in KEYS}
    rest = {"reason": pattern.tidy(text["reason"]), "promoted_to": pattern.tidy(text["promoted_to"])}
    return Lesson(
        "", scope, text["from"] or "ai", text["status"] or ACTIVE, parts=parts, extra=extra, **dates, **rest
    )
