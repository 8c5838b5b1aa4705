"""What the log says of the past: the changes of lessons, for `tacitd history`, and their earlier wordings, for a purge.

A purge blanks the words of a lesson in all of its records. Digests of what it said become the reason of its deletion, so that it is
not drafted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.files.replaced import edit_file
from tacitd_handlers.lessons.lesson_actions import digest_meaning
from tacitd_handlers.lessons.lesson_log import (
    BLANK,
    DELETED,
    LOG,
    PROMOTED_DIR,
    PURGED,
    Lesson,
    LessonLog,
    decode_record,
    encode_record,
    number_of,
    trace_log,
)
from tacitd_handlers.lessons.lesson_origins import Origin, load_origins

_WORDS = ("when", "do", "because", "reason")


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each record that changed a lesson in the form of `tacitd.files.change_view.describe_transaction`, oldest first.

    A record has a date only, so its time is that of its origin, otherwise the local date. Raises OSError.
    """
    log = LessonLog.from_environ(environ)
    origins, numbers = load_origins(log), dict[str, int]()
    for one in trace_log(log.read()):
        after = one.after
        if after is None:
            continue
        removed = one.before.text if one.before is not None and one.before.is_active else ""
        added = after.text if after.is_active else ""
        if added == removed:
            continue
        numbers[after.id] = numbers.get(after.id, 0) + 1
        origin = origins.get(int(after.id), Origin()) if one.before is None else Origin()
        yield _describe(after, numbers[after.id], origin, added, removed)


def _describe(lesson: Lesson, number: int, origin: Origin, added: str, removed: str) -> dict[str, Any]:
    at = utc_seconds(origin.at) if origin.at else lesson.updated or lesson.created
    if number > 1:
        what = "changed" if added and removed else "active again"
    elif lesson.is_firm:
        what = "you added it"
    else:
        what = "drafted from your words" if origin.words else "added with `lesson add`"
    return {
        "id": f"{at[:10].replace('-', '')}-lesson-{lesson.id}.{number}",
        "at": at,
        "root": origin.project,
        "state": "done",
        "by": "lessons",
        "what": lesson.reason or what,
        "undoes": "",
        "undone_by": "",
        "sessions": [origin.session] if origin.session else [],
        "prompts": list(origin.prompts),
        "facts": list(origin.words),
        "lines": [{"file": LOG, "heading": f"lesson {lesson.id}", "added": added, "removed": removed}],
        "files": [],
        "undo": f"`tacitd forget {lesson.id}` removes the lesson, `tacitd forget --undo {lesson.id}` brings it back",
    }


def list_wordings(data: bytes) -> dict[int, tuple[str, ...]]:
    """By number, the texts that each lesson of a log has had, oldest first; without what is purged."""
    found: dict[int, dict[str, None]] = {}
    for one in trace_log(data):
        if one.number is not None and one.after is not None and not one.after.is_purged:
            found.setdefault(one.number, {})[one.after.text] = None
    return {number: tuple(texts) for number, texts in found.items()}


def purge_words(log: LessonLog, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank the lesson `id` if it is marked wrong and `texts` are its; return the files that changed.

    Its records keep their ids and dates, and all other lines stay byte for byte. Ids of other plugins' items may be numbers
    too. Raises OSError, FileRefusedError.
    """
    lesson, data = log.read_lessons().get(id), log.read()
    if lesson is None or lesson.status != DELETED:
        return []
    number = int(lesson.id)
    if not {*list_wordings(data).get(number, ())} & {*texts}:
        return []
    states = [one.after for one in trace_log(data) if one.number == number and one.after is not None]
    digests = sorted({digest_meaning(one.parts) for one in states if not one.is_purged})
    with log.begin_change():  # whoever appends waits, and then opens the new file
        edit_file(log.path, lambda now: _blank_log(now or b"", number, digests), disk=log.disk)
    log.update_index()
    card = log.directory / PROMOTED_DIR / f"{lesson.id}.md"
    if not card.exists():
        return [log.path]
    card.unlink()
    return [log.path, card]


def _blank_log(data: bytes, number: int, digests: Sequence[str]) -> bytes:
    return b"\n".join(_blank_line(line, number, digests) for line in data.split(b"\n"))


def _blank_line(line: bytes, number: int, digests: Sequence[str]) -> bytes:
    record = decode_record(line)
    if number_of(record.get("id")) != number:
        return line
    blanked = {key: BLANK if key in _WORDS else value for key, value in record.items()}
    if record.get("status") == DELETED:
        blanked["reason"] = PURGED + " ".join(digests)
    return encode_record(blanked)
