"""What a person decides about lessons with `tacitd forget`, `accept` and `review`: the hooks `items`, `decide` and `purge`.

To forget a lesson is to mark it wrong: it is then neither loaded nor drafted again (SPEC E-15, E-32). A purge blanks its words
in the log; digests of what it said become the reason of its deletion, so that it is still not drafted again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from tacitd.files.replaced import edit_file
from tacitd.handler import Decided, Decision, Handler, StoredItem, Tools
from tacitd_handlers.lessons.lesson_actions import (
    confirm_lesson,
    digest_meaning,
    list_contradictions,
    mark_wrong,
    restore_lesson,
)
from tacitd_handlers.lessons.lesson_log import (
    BLANK,
    DELETED,
    PROMOTED,
    PROMOTED_DIR,
    PURGED,
    Lesson,
    LessonLog,
    decode_record,
    encode_record,
    number_of,
    trace_log,
)
from tacitd_handlers.lessons.lesson_origins import Origin, read_origins
from tacitd_handlers.lessons.pattern import parse_pattern

REASON = "forgotten with tacitd forget"
_WORDS = ("when", "do", "because", "reason")


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each active, promoted or waiting lesson, and for each one that is marked wrong. Raises OSError.

    The id is the lesson's. Only a person promotes, so a promoted lesson counts as theirs. `review` asks about a lesson of
    an agent that waits, or that contradicts another one (SPEC E-12).
    """
    lessons = LessonLog.from_environ(environ).read_lessons()
    opposites = list_contradictions(lessons.list_active())
    for one in lessons.all.values():
        if one.is_waiting:
            why = f"an agent added it, and it waits for you: {one.reason}"
            yield _item(one, "proposed", why)
        elif one.is_active:
            other = None if one.is_firm else opposites.get(one.id)
            why = f"lesson {other.id} ({other.scope}) says the opposite: {other.text}" if other else ""
            yield _item(one, "stored", why)
        elif one.status == PROMOTED:
            yield _item(one, "stored")
        elif one.is_wrong and (one.digests or not one.is_purged):
            yield _item(one, "forgotten")


def _item(lesson: Lesson, state: Literal["stored", "proposed", "forgotten"], review: str = "") -> StoredItem:
    is_promoted = lesson.status == PROMOTED
    where = f"{lesson.scope}, promoted to {lesson.promoted_to}" if is_promoted else lesson.scope
    return StoredItem(
        lesson.id,
        "lesson",
        "" if lesson.is_purged else lesson.text,
        f"lesson {lesson.id} ({where})",
        state=state,
        by_person=is_promoted or (lesson.is_active and lesson.is_firm),
        review=review,
    )


def decide_lesson(handler: Handler, tools: Tools, decision: Decision) -> Decided:
    """Carry out a decision about a lesson. Raises UsageError, and TacitdError if it does not exist; OSError."""
    log = LessonLog.from_environ(os.environ, tools.clock)
    match decision.choice:
        case "drop":
            lesson, _ = mark_wrong(log, decision.id, REASON, is_promoted_too=True)
            what = f"lesson {lesson.id} is neither loaded nor drafted again"
            what += f"; {lesson.promoted_to} still has it, remove it there" if lesson.promoted_to else ""
            texts = [one.text for one in _list_wordings(log.read(), lesson.id)]
            texts += read_origins(log).get(int(lesson.id), Origin()).words
            return Decided(what, tuple(dict.fromkeys(text for text in texts if text != BLANK)))
        case "restore":
            lesson = restore_lesson(log, decision.id)
            back = "may be drafted again" if lesson.is_purged else f"is {lesson.status} again"
            return Decided(f"lesson {lesson.id} {back}")
        case "edit":
            lesson = confirm_lesson(log, decision.id, parse_pattern(decision.text))
            return Decided(f"lesson {lesson.id} is changed, and yours")
        case "keep":
            lesson = confirm_lesson(log, decision.id)
            return Decided(f"lesson {lesson.id} is active, and yours")


def purge_words(handler: Handler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank the lesson `id` if it is marked wrong and `texts` are its; return the files that changed.

    Its records keep their ids and dates, and all other lines stay byte for byte. Ids of other plugins' items may be numbers
    too. Raises OSError, FileRefusedError.
    """
    del handler
    log = LessonLog.from_environ(os.environ, tools.clock)
    lesson, wordings = log.read_lessons().get(id), _list_wordings(log.read(), id)
    if lesson is None or lesson.status != DELETED or not any(one.text in texts for one in wordings):
        return []
    with log.begin_change():  # whoever appends waits, and then opens the new file
        digests = sorted({digest_meaning(one.parts) for one in wordings})
        edit_file(log.path, lambda data: _blank_log(data or b"", int(lesson.id), digests), disk=log.disk)
    log.update_index()
    card = log.directory / PROMOTED_DIR / f"{lesson.id}.md"
    if not card.exists():
        return [log.path]
    card.unlink()
    return [log.path, card]


def _list_wordings(data: bytes, id: str) -> list[Lesson]:
    """Every state of a lesson in which it had another text, oldest first; without what is purged."""
    states = (one.after for one in trace_log(data) if one.number is not None and one.number == number_of(id))
    return list({one.text: one for one in states if one is not None and not one.is_purged}.values())


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
