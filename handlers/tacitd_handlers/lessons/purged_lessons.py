"""Blank a forgotten lesson in the log of lessons: the hook `purge` of the lessons plugin.

Its records stay with their ids and dates, and with digests of what it said, so that it is not drafted again (SPEC E-32). All
other lines stay byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tacitd.files.log import BLANK, encode_record
from tacitd.files.replaced import edit_file
from tacitd.handler import Handler, Tools
from tacitd.text.hashes import sha256
from tacitd_handlers.lessons.lesson_fold import DELETED, DIGESTS, FoldedLessons, Lesson, fold_lessons
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.lesson_paths import PROMOTED
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.store import LessonStore
from tacitd_handlers.shared.equality import normalise_text

_WORDS = ("when", "do", "because", "reason")


def purge_words(handler: Handler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank the lesson `id` if it is marked wrong and `texts` are its; return the files that changed.

    Raises OSError, LogDamagedError, FileRefusedError.
    """
    del handler
    store = LessonStore.from_environ(os.environ, tools.clock)
    if not _is_meant(store, id, texts):
        return []
    with store.begin_change() as change:
        lesson = change.folded.get(id)
        wordings = list_wordings(store.log.read(), id)
        if lesson is None or not wordings:
            return []
        digests = sorted({digest_parts(one.parts) for one in wordings})
        edit_file(
            store.log.path, lambda data: _blank_records(data or b"", int(lesson.id), digests), disk=store.disk
        )
    store.update_index()
    card = store.directory / PROMOTED / f"{lesson.id}.md"
    if not card.exists():
        return [store.log.path]
    card.unlink()
    return [store.log.path, card]


def _is_meant(store: LessonStore, id: str, texts: Collection[str]) -> bool:
    """Whether `id` is that of a lesson that was forgotten just now: ids of other plugins' items may be numbers too."""
    lesson = store.read_lessons().get(id)
    if lesson is None or lesson.status != DELETED:
        return False
    return any(one.text in texts for one in list_wordings(store.log.read(), id))


def list_wordings(records: Iterable[Mapping[str, Any]], id: str) -> list[Lesson]:
    """Every state of a lesson in which it had another text, oldest first; without what is purged."""
    found: dict[str, Lesson] = {}
    known: dict[str, Any] = {}
    for record in records:
        if number_of(record.get("id")) == number_of(id):
            known |= record
            lesson = next(iter(fold_lessons([known]).lessons.values()), None)
            if lesson is not None and not lesson.is_purged:
                found.setdefault(lesson.text, lesson)
    return list(found.values())


def digest_parts(parts: Pattern) -> str:
    """Identifies the case and the action of a lesson after spelling is folded: 32 hexadecimal digits."""
    said = "\0".join((normalise_text(parts.when), parts.action, normalise_text(parts.do)))
    return sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


def find_purged_twin(parts: Pattern, folded: FoldedLessons) -> Lesson | None:
    """The lesson that is marked wrong, was purged, and said the same."""
    digest = digest_parts(parts)
    wrong = (one for one in folded.lessons.values() if one.status == DELETED)
    return next((one for one in wrong if digest in one.extra.get(DIGESTS, ())), None)


def _blank_records(data: bytes, number: int, digests: Sequence[str]) -> bytes:
    return b"\n".join(_blank_line(line, number, digests) for line in data.split(b"\n"))


def _blank_line(line: bytes, number: int, digests: Sequence[str]) -> bytes:
    try:
        record = msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, RecursionError):
        return line
    if number_of(record.get("id")) != number:
        return line
    return encode_record(
        {**{key: BLANK if key in _WORDS else record[key] for key in record}, DIGESTS: digests}
    )
