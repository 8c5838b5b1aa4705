"""Lessons about which a person can decide: the hook `items`. It only reads files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tacitd.handler import StoredItem
from tacitd_handlers.lessons.lesson_fold import DELETED, PROMOTED, SUPERSEDED, WAITING
from tacitd_handlers.lessons.lesson_reader import LessonReader


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each active or promoted lesson, and for each one that is marked wrong or superseded. Raises OSError.

    The id is the lesson's. Only a person promotes, so a promoted lesson counts as theirs.
    """
    store = LessonReader.from_environ(environ)
    for one in store.read_lessons().lessons.values():
        if one.status == WAITING:
            why = f"an agent added it, and it waits for you: {one.reason}"
            yield StoredItem(
                one.id, "lesson", one.text, f"lesson {one.id} ({one.scope})", None, "proposed", review=why
            )
        is_hidden = one.status == SUPERSEDED and one.is_purged
        if (one.is_active or one.status in (DELETED, PROMOTED, SUPERSEDED)) and not is_hidden:
            is_promoted = one.status == PROMOTED
            more = f", promoted to {one.promoted_to}" if is_promoted else ""
            more = f", {one.reason}" if one.status == SUPERSEDED else more
            yield StoredItem(
                one.id,
                "lesson",
                "" if one.is_purged else one.text,
                f"lesson {one.id} ({one.scope}{more})",
                state="stored" if one.is_active or is_promoted else "forgotten",
                by_person=is_promoted or (one.is_active and one.is_firm),
            )
