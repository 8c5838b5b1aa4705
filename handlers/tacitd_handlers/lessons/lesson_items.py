"""What the engine's commands ask about lessons: `forget`, `accept` and `review` by items, `why`, `history`, and a purge.

To forget a lesson is to mark it wrong: it is then neither loaded nor drafted again (SPEC E-15, E-32). A purge blanks its words in all
of its records. Digests of what it said become the reason of its deletion, so that it is still not drafted again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacitd.clock import utc_seconds
from tacitd.files.atomic import edit_file
from tacitd.handler import Decision, Notice, StoredItem
from tacitd_handlers.lessons import lesson_actions, lesson_log
from tacitd_handlers.lessons.lesson_log import Lesson, LessonLog
from tacitd_handlers.lessons.lesson_origins import Origin, load_origins, read_origins
from tacitd_handlers.lessons.pattern import FIRM, Pattern, parse_pattern

if TYPE_CHECKING:
    from tacitd.contract import Done, Rows, Tools

REASON = "forgotten with tacitd forget"
_WORDS = ("when", "do", "because", "reason")
_STATES: Mapping[str, Literal["stored", "proposed", "forgotten"]] = {
    lesson_log.ACTIVE: "stored",
    lesson_log.PROMOTED: "stored",
    lesson_log.WAITING: "proposed",
    lesson_log.DELETED: "forgotten",
}


def list_items(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each active, promoted or waiting lesson, and for each one that is marked wrong. Raises OSError.

    The id is the lesson's. Only a person promotes, so a promoted lesson counts as theirs. `review` asks about a lesson of
    an agent that waits, or that contradicts another one (SPEC E-12).
    """
    log = LessonLog.from_environ(environ)
    data, origins = log.read(), read_origins(rows, log)
    lessons, wordings = lesson_log.fold_log(data), list_wordings(data)
    opposites = lesson_actions.list_contradictions(lessons.list_active())
    for one in lessons.all.values():
        if one.state not in _STATES or (one.is_purged and not one.digests):
            continue
        review, other = "", opposites.get(one.id)
        if one.state == lesson_log.WAITING:
            review = f"an agent added it, and it waits for you: {one.reason}"
        elif one.is_active and not one.is_firm and other is not None:
            review = f"lesson {other.id} ({other.scope}) says the opposite: {other.text}"
        where = (
            f"{one.scope}, promoted to {one.promoted_to}" if one.status == lesson_log.PROMOTED else one.scope
        )
        yield StoredItem(
            one.id,
            "lesson",
            "" if one.is_purged else one.text,
            f"lesson {one.id} ({where})",
            state=_STATES[one.state],
            by_person=one.status == lesson_log.PROMOTED or (one.is_active and one.is_firm),
            review=review,
            words=origins.get(int(one.id), Origin()).words,
            earlier=tuple(wordings.get(one.id, ())),
        )


def decide(decision: Decision, tools: Tools) -> Done:
    log = LessonLog.from_environ(os.environ, tools.clock)
    match decision.choice:
        case "drop":
            lesson, _ = lesson_actions.mark_wrong(log, decision.id, REASON, is_promoted_too=True)
            did, more = "forgotten", "it is neither loaded nor drafted again"
            more += f"; {lesson.promoted_to} still has it, remove it there" if lesson.promoted_to else ""
        case "restore":
            lesson = lesson_actions.restore_lesson(log, decision.id)
            did = "restored"
            more = "it may be drafted again" if lesson.is_purged else f"it is {lesson.status} again"
        case _:
            words = parse_pattern(decision.text) if decision.choice == "edit" else None
            lesson = lesson_actions.confirm_lesson(log, decision.id, words)
            did, more = "changed" if words else "kept", "it is active, and yours"
    from tacitd.contract import Done  # commands that list lessons need none of its types

    return Done(notices=[Notice(did, f"lesson {lesson.id}; {more}")])


def explain(rows: Rows, asked: str, root: Path | None) -> Iterator[dict[str, Any]]:
    """The lessons that match an id or a part of a lesson's text, with their origins. Raises OSError."""
    log = LessonLog.from_environ(os.environ)
    origins = read_origins(rows, log)
    wanted = asked.strip().removeprefix("- ").casefold()
    number = lesson_log.number_of(wanted)
    for one in log.read_lessons().all.values():
        is_part = len(wanted) > 3 and wanted in f"{one.text}{FIRM}".casefold()
        if not (is_part if number is None else int(one.id) == number):
            continue
        origin = origins.get(int(one.id), Origin())
        where = f"lesson {one.id} ({one.scope}, {one.state})"
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


# --- what the log says of the past


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each record that changed a lesson in the form of `tacitd.files.change_view.describe_transaction`, oldest first.

    A record has a date only, so its time is that of its origin, otherwise the local date. Raises OSError.
    """
    log = LessonLog.from_environ(environ)
    origins, numbers, shown = load_origins(log), Counter[str](), dict[str, str]()
    for one in filter(None, lesson_log.trace_log(log.read())):
        origin = Origin() if one.id in shown else origins.get(int(one.id), Origin())
        removed, added = shown.get(one.id, ""), one.text if one.is_active else ""
        shown[one.id] = added
        if added != removed:
            numbers[one.id] += 1
            yield _describe(one, numbers[one.id], origin, added, removed)


def _describe(lesson: Lesson, number: int, origin: Origin, added: str, removed: str) -> dict[str, Any]:
    at = utc_seconds(origin.at) if origin.at else lesson.updated or lesson.created
    what = "you added it" if lesson.is_firm else "added with `lesson add`"
    if number > 1:
        what = "changed" if added and removed else "active again" if added else lesson.status
    elif origin.words:
        what = "drafted from your words"
    what = lesson.reason or what
    if lesson.status == lesson_log.PROMOTED:
        what = f"promoted to {lesson.promoted_to}" + (f": {lesson.reason}" if lesson.reason else "")
    undo = (
        f"`tacitd forget {lesson.id}` removes the lesson, `tacitd forget --undo {lesson.id}` brings it back"
    )
    lines = [{"file": lesson_log.LOG, "heading": f"lesson {lesson.id}", "added": added, "removed": removed}]
    return {
        "id": f"{at[:10].replace('-', '')}-lesson-{lesson.id}.{number}", "at": at, "root": origin.project, "state": "done",
        "by": "lessons", "what": what, "undoes": "", "undone_by": "", "undo": undo, "lines": lines, "files": [],
        "sessions": [origin.session] if origin.session else [], "prompts": list(origin.prompts), "facts": list(origin.words),
    }  # fmt: skip


def list_wordings(data: bytes) -> dict[str, dict[str, Pattern]]:
    """By id, what each lesson of a log has said, by its text, oldest first; without what is purged."""
    found: dict[str, dict[str, Pattern]] = {}
    for one in filter(None, lesson_log.trace_log(data)):
        if not one.is_purged:
            found.setdefault(one.id, {})[one.text] = one.parts
    return found


def purge_words(log: LessonLog, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank the lesson `id` if it is marked wrong and `texts` are its; return the files that changed.

    Its records keep their ids and dates, and all other lines stay byte for byte. Ids of other plugins' items may be numbers
    too. Raises OSError, FileRefusedError.
    """
    data = log.read()
    lesson = lesson_log.fold_log(data).get(id)
    wordings = list_wordings(data).get(lesson.id, {}) if lesson is not None else {}
    if lesson is None or lesson.status != lesson_log.DELETED or not {*wordings} & {*texts}:
        return []
    digests = sorted(map(lesson_actions.digest_meaning, wordings.values()))
    with log.begin_change():  # whoever appends waits, and then opens the new file
        edit_file(log.path, lambda now: _blank_log(now or b"", int(lesson.id), digests), disk=log.disk)
    card = log.directory / lesson_log.PROMOTED_DIR / f"{lesson.id}.md"
    changed = [log.path, *([card] if card.exists() else [])]
    card.unlink(missing_ok=True)
    return changed


def _blank_log(data: bytes, number: int, digests: Sequence[str]) -> bytes:
    lines = data.split(b"\n")
    for at, line in enumerate(lines):
        record = lesson_log.decode_record(line)
        if lesson_log.number_of(record.get("id")) == number:
            record |= {key: lesson_log.BLANK for key in _WORDS if key in record}
            record |= (
                {"reason": lesson_log.PURGED + " ".join(digests)}
                if record.get("status") == lesson_log.DELETED
                else {}
            )
            lines[at] = lesson_log.encode_record(record)
    return b"\n".join(lines)
