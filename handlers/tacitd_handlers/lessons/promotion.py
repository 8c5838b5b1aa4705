"""Promotion: a lesson becomes a line of a skill or tool file, and is no longer active (SPEC E-16).

Only a person promotes. The order of the writes makes it safe to kill and to repeat: the line in the target (once),
promoted/NNN.md, then the record. This module also resolves a target's file and validates its name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd.files.atomic import edit_file, replace_file
from tacitd.text.markdown import put_line
from tacitd_handlers.lessons.lesson_actions import change_lesson, refuse_secret, require_state
from tacitd_handlers.lessons.lesson_log import ACTIVE, PROMOTED, PROMOTED_DIR, Lesson, LessonLog
from tacitd_handlers.lessons.lesson_text import quote_yaml

HEADING = "Lessons"
DESCRIPTION_LIMIT = 1024
"""Characters of a skill's description that Claude Code reads."""
_BOM = b"\xef\xbb\xbf"
_TARGET = re.compile(r"(?P<kind>skill|tool)/(?P<name>[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,63})")


class LessonsSettings(BaseModel):
    """Where lessons are promoted to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tools: str = Field(
        default="",
        description="Directory of the tool files that lessons are promoted to. Empty: `tools` in Claude Code's directory.",
    )


class PromotionTarget(NamedTuple):
    """As stored in the record, `skill/config-edit`, and the file that a lesson is promoted to."""

    to: str
    file: Path


def parse_target(to: str, skills: Path, tools: Path) -> PromotionTarget:
    """The target for `skill/NAME` or `tool/NAME`; a name cannot lead out of its directory. Raises UsageError for anything else."""
    found = _TARGET.fullmatch(to)
    if found is None:
        hint = "use --to=skill/NAME or --to=tool/NAME, with letters, digits, . _ - in the name"
        raise UsageError(f"{to!r} is not a target", hint)
    name = found["name"]
    return PromotionTarget(
        to, skills / name / "SKILL.md" if found["kind"] == "skill" else tools / f"{name}.md"
    )


def promote_lesson(
    log: LessonLog, id: str, into: PromotionTarget, *, reason: str = "", create: bool = False
) -> tuple[Lesson, bool]:
    """Add the lesson to the target, and mark it promoted. Returns it, and whether it was active until now.

    Repeating it with the same target does nothing. Raises TacitdError if the lesson is not active or the target does
    not exist, FileRefusedError if the target cannot be edited; OSError.
    """
    refuse_secret(reason)
    why = " ".join(reason.split())

    def promote(lesson: Lesson) -> Lesson:
        if lesson.status == PROMOTED and lesson.promoted_to == into.to:
            return lesson
        require_state(lesson, ACTIVE)
        _put(into, lesson, log, create=create)
        new = lesson._replace(status=PROMOTED, updated=log.today, reason=why, promoted_to=into.to)
        card = log.directory / PROMOTED_DIR / f"{lesson.id}.md"
        replace_file(card, _card(new, into).encode("utf-8", "replace"), mode=0o600, disk=log.disk)
        return new

    return change_lesson(log, id, promote)


def _put(into: PromotionTarget, lesson: Lesson, log: LessonLog, *, create: bool) -> None:
    kind, _, name = into.to.partition("/")
    if not create and not into.file.is_file():
        raise TacitdError(f"there is no {kind} {name} ({into.file})", "--create creates the file")

    def add_line(data: bytes | None) -> bytes:
        if kind == "skill" and not (data or b"").removeprefix(_BOM).strip():
            data = f"{skill_front_matter(name, lesson)}\n# {name}\n".encode("utf-8", "replace")
        return put_line(data, HEADING, lesson.text, name)

    try:
        edit_file(into.file, add_line, disk=log.disk)
    except FileRefusedError as error:
        raise FileRefusedError(f"{into.file}: {error.what}", error.hint) from error


def skill_front_matter(name: str, lesson: Lesson) -> str:
    """The YAML block at the top of a SKILL.md.

    Claude Code decides by `description` when to use a skill; it is one line of at most 1,024 characters without tags.
    """
    when = lesson.parts.when.replace("<", " ").replace(">", " ")
    description = (
        f"Rules for {name} that were learned by working. Use it before work such as: {' '.join(when.split())}"
    )
    return f"---\nname: {quote_yaml(name)}\ndescription: {quote_yaml(description[:DESCRIPTION_LIMIT])}\n---\n"


def _card(lesson: Lesson, into: PromotionTarget) -> str:
    """The text of promoted/NNN.md, for reference. `uninstall` reads which file the lesson is in."""
    reason = f"- Reason: {lesson.reason}\n" if lesson.reason else ""
    return (
        f"# Lesson {lesson.id}\n\n{lesson.text}\n\n- Scope: {lesson.scope}\n- From: {lesson.source}\n"
        f"- Created: {lesson.created}\n- Promoted: {lesson.updated}\n- To: {into.to} ({into.file})\n{reason}"
    )
