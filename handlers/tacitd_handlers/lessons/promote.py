"""Promotion: a lesson becomes a line of a skill or tool file, and is no longer active (SPEC E-16).

Only a person promotes. The order of the writes makes it safe to kill and to repeat: the line in the target (once),
promoted/NNN.md, then the record. This module also resolves a target's file and validates its name.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd.files.replaced import edit_file, replace_file
from tacitd.text.markdown import put_line
from tacitd_handlers.lessons import lesson_operations, lesson_paths
from tacitd_handlers.lessons.lesson_fold import PROMOTED, Lesson
from tacitd_handlers.lessons.pattern import tidy_part
from tacitd_handlers.lessons.render import quote_yaml
from tacitd_handlers.lessons.store import LessonStore

HEADING = "Lessons"
DESCRIPTION_LIMIT = 1024
"""Characters of a skill's description that Claude Code reads."""
_BOM = b"\xef\xbb\xbf"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class PromotionTarget(Struct, frozen=True):
    """The file that a lesson is promoted to."""

    to: str
    """As stored in the record: `skill/config-edit`."""
    file: Path


def parse_target(to: str, skills: Path, tools: Path) -> PromotionTarget:
    """The target for `skill/NAME` or `tool/NAME`. Raises UsageError for anything else.

    A name is one word of letters, digits, `.`, `_` and `-`, so it cannot lead out of its directory.
    """
    kind, slash, name = to.partition("/")
    if not slash or kind not in ("skill", "tool"):
        raise UsageError(f"{to!r} is not a target", "use --to=skill/NAME or --to=tool/NAME")
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(f"{name!r} is not a name of a {kind}", "use only letters, digits, . _ -")
    return PromotionTarget(to, skills / name / "SKILL.md" if kind == "skill" else tools / f"{name}.md")


def promote_lesson(
    store: LessonStore, id: str, into: PromotionTarget, *, reason: str = "", create: bool = False
) -> tuple[Lesson, bool]:
    """Add the lesson to the target, and mark it promoted. Returns it, and whether it was active until now.

    Repeating it with the same target does nothing. Raises TacitdError if the lesson is not active or the target does
    not exist, FileRefusedError if the target cannot be edited; OSError, LogDamagedError.
    """
    lesson_operations.get_lesson(store.read_lessons(), id)
    with store.begin_change() as change:
        lesson = lesson_operations.get_lesson(change.folded, id)
        if lesson.status == PROMOTED and lesson.promoted_to == into.to:
            return lesson, False
        lesson_operations.get_active(change.folded, id)
        _put(into, lesson, store, create=create)
        card = store.directory / lesson_paths.PROMOTED / f"{lesson.id}.md"
        replace_file(
            card,
            _card(lesson, into, store.today, reason).encode("utf-8", "replace"),
            mode=0o600,
            disk=store.disk,
        )
        return lesson_operations.append_promotion(change, lesson, into.to, reason, store.today), True


def _put(into: PromotionTarget, lesson: Lesson, store: LessonStore, *, create: bool) -> None:
    if not create and not into.file.is_file():
        kind, _, name = into.to.partition("/")
        raise TacitdError(f"there is no {kind} {name} ({into.file})", "--create creates the file")
    try:
        edit_file(into.file, lambda data: _with_lesson(data, into, lesson), disk=store.disk)
    except FileRefusedError as error:
        raise FileRefusedError(f"{into.file}: {error.what}", error.hint) from error


def _with_lesson(data: bytes | None, into: PromotionTarget, lesson: Lesson) -> bytes:
    """The target's bytes with the lesson's line; a new skill starts with its front matter."""
    kind, _, name = into.to.partition("/")
    if kind == "skill" and not (data or b"").removeprefix(_BOM).strip():
        data = f"{skill_front_matter(name, lesson)}\n# {name}\n".encode("utf-8", "replace")
    return put_line(data, HEADING, lesson.text, name)


def skill_front_matter(name: str, lesson: Lesson) -> str:
    """The YAML block at the top of a SKILL.md.

    Claude Code decides by `description` when to use a skill; it is one line of at most 1,024 characters without tags.
    """
    when = tidy_part(lesson.parts.when).replace("<", " ").replace(">", " ")
    description = (
        f"Rules for {name} that were learned by working. Use it before work such as: {' '.join(when.split())}"
    )
    return f"---\nname: {quote_yaml(name)}\ndescription: {quote_yaml(description[:DESCRIPTION_LIMIT])}\n---\n"


def _card(lesson: Lesson, into: PromotionTarget, today: str, reason: str) -> str:
    """The text of promoted/NNN.md, for reference; nothing reads it."""
    lines = [
        f"# Lesson {lesson.id}",
        "",
        lesson.text,
        "",
        f"- Scope: {lesson.scope}",
        f"- From: {lesson.source}",
    ]
    lines += [f"- Created: {lesson.created}", f"- Promoted: {today}", f"- To: {into.to} ({into.file})"]
    return "\n".join([*lines, *([f"- Reason: {' '.join(reason.split())}"] if reason else [])]) + "\n"
