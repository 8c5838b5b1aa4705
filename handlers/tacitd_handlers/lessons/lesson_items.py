"""Lessons about which a person can decide: the hook `items`. It only reads files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tacitd.handler import StoredItem
from tacitd_handlers.lessons.lesson_fold import DELETED, DIGESTS, PROMOTED, WAITING
from tacitd_handlers.lessons.lesson_reader import LessonReader
from tacitd_handlers.lessons.similarity import find_contradictions


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each active or promoted lesson, and for each one that is marked wrong. Raises OSError.

    The id is the lesson's. Only a person promotes, so a promoted lesson counts as theirs. `review` asks about a lesson of
    an agent that contradicts another one (SPEC E-12).
    """
    lessons = LessonReader.from_environ(environ).read_lessons().lessons
    opposites = find_contradictions({id: one.parts for id, one in lessons.items() if one.is_active})
    for one in lessons.values():
        if one.status == WAITING:
            why = f"an agent added it, and it waits for you: {one.reason}"
            yield StoredItem(
                one.id, "lesson", one.text, f"lesson {one.id} ({one.scope})", None, "proposed", review=why
            )
        is_hidden = one.is_purged and not one.extra.get(DIGESTS)
        if (one.status == DELETED and is_hidden) or not (one.is_active or one.status in (DELETED, PROMOTED)):
            continue
        is_promoted = one.status == PROMOTED
        more = f", promoted to {one.promoted_to}" if is_promoted else ""
        other = lessons[opposites[one.id]] if one.id in opposites and not one.is_firm else None
        yield StoredItem(
            one.id,
            "lesson",
            "" if one.is_purged else one.text,
            f"lesson {one.id} ({one.scope}{more})",
            state="stored" if one.is_active or is_promoted else "forgotten",
            by_person=is_promoted or (one.is_active and one.is_firm),
            review=f"lesson {other.id} ({other.scope}) says the opposite: {other.text}" if other else "",
        )
