"""What the daemon does for lessons: those that the model drafts from corrections, as a part of the synthesis (SPEC E-30, E-32, S-67);
it withdraws lessons of deleted lines, and purges words. The rest works without it.

One model call serves both: `render_addition` makes the part of the prompt, `extract_finding` takes the drafts out of the answer,
`ground_finding` refuses what the facts do not support, and `store_finding` adds what is left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from tacitd.contract import Done, Outcome, Task, Tools, Tx
from tacitd.events import Project
from tacitd.handler import Notice
from tacitd.logging_setup import logger
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import has_secret
from tacitd_handlers.lessons.lesson_actions import find_same, mark_wrong
from tacitd_handlers.lessons.lesson_items import purge_words
from tacitd_handlers.lessons.lesson_log import ACTIVE, DELETED, Lesson, LessonLog
from tacitd_handlers.lessons.lesson_origins import (
    Origin,
    ProjectLessons,
    load_origins,
    put_origin,
    read_origins,
)
from tacitd_handlers.lessons.lesson_text import share_words
from tacitd_handlers.lessons.pattern import (
    GLOBAL,
    Pattern,
    PatternError,
    format_pattern,
    normalise_scope,
    parse_pattern,
)
from tacitd_handlers.shared.model_text import fence_text, fill_template
from tacitd_handlers.shared.words import Sources, word_line

name = "lessons"
"""The plugin that gets the findings."""
only_corrected_again = True
"""A lesson is drafted only of a correction that was made again."""
LONGEST = 400
"""Maximum characters of a draft. It is short because every session reads it."""
SHOWN = 60
"""Lessons of each kind in the prompt, the newest. Drafts are compared with the others afterwards."""
DELETED_LINE = "its line was deleted by hand"
_KEY = compile_lazily(
    r"^\s*(?:(?:[-*+•>]|\d{1,3}[.)])\s+)?(?:\*\*|__|`)?(LESSON|SCOPE)(?:\*\*|__|`)?\s*[:：]\s*(?:\*\*|__)?"
    r"(.*?)(?:\*\*|__|`)?\s*$"
)
_EXAMPLE = Pattern("the case", "do", "the action", "the reason")
_FETCHES = compile_lazily(
    r"https?://|\b(?:curl|wget)\s|--no-verify\b|--dangerously|\bskip[ -]permissions\b|\bbypass\w* permissions?\b|"
    r"\ballow(?:ed)? (?:all|every|any) (?:tools?|commands?|permissions?)\b|\bwithout (?:asking for )?permission\b|"
    r"\bignore (?:all |any )?(?:previous|earlier|other) instructions\b",
    re.IGNORECASE,
)
"""What a drafted rule may not contain: downloads, grants of permissions, disabled checks (ANCHORS P19)."""


class Draft(NamedTuple):
    text: str
    scope: str = GLOBAL


def render_addition(project: str) -> str:
    """The part of the prompt for a project's root, with the lessons in force and those marked wrong; "" if they cannot be read."""
    log = LessonLog.from_environ(os.environ)
    try:
        lessons = log.read_lessons()
    except OSError as error:
        logger.warning("lessons cannot be read, so none are drafted: {}", error)
        return ""
    here = ProjectLessons(Path(project), load_origins(log))
    wrong = [one for one in lessons.all.values() if one.state == DELETED and not one.is_purged]
    values = {
        "project_scope": here.name,
        "in_force": _fence(here.list_in_force(lessons.list_active())),
        "marked_wrong": _fence(wrong),
    }
    template = (files("tacitd_handlers.lessons") / "prompts" / "lessons.md").read_text("utf-8").rstrip("\n")
    return fill_template(template, values) + "\n"


def _fence(lessons: Sequence[Lesson]) -> str:
    lines = "\n".join(f"{lesson.id} ({lesson.scope}) {lesson.text}" for lesson in lessons[-SHOWN:])
    return fence_text(lines) if lines else "(none)"


def extract_finding(answer: str) -> tuple[Any | None, str]:
    drafts, rest = parse_drafts(answer)
    return {"drafts": [list(draft) for draft in drafts]} if drafts else None, rest


def parse_drafts(answer: str) -> tuple[tuple[Draft, ...], str]:
    """The drafts in an answer, and the answer without their lines.

    A SCOPE line belongs to the LESSON above it; blank lines between are ignored.
    """
    drafts, rest, is_open = list[Draft](), list[str](), False
    for line in answer.splitlines():
        found = _KEY.match(line)
        key, value = (found[1], found[2].strip()) if found else ("", "")
        if key == "LESSON":
            drafts.append(Draft(value))
            is_open = True
        elif is_open and key == "SCOPE":
            drafts[-1] = drafts[-1]._replace(scope=value)
            is_open = False
        else:
            rest.append(line)
            is_open = is_open and not line.strip()
    return tuple(dict.fromkeys(drafts)), "\n".join(rest).strip("\n")


def ground_finding(found: Any, sources: Sources) -> tuple[Any | None, int]:
    """The finding without the drafts that are invalid or that the facts do not support, and the number of these."""
    drafts, given = list[list[Any]](), found.get("drafts", ())
    for text, scope, *_ in given:
        checked = check_draft(Draft(text, scope))
        # Neither a draft nor its action alone may say more than the facts.
        said = (text, *re.split(r"->|→", text, maxsplit=2)[1:2])
        if checked is not None and all(word_line(part, sources) is None for part in said):
            # In the form in which it is stored, so that a purge of the lesson finds it in the record of the findings too.
            drafts.append([format_pattern(checked[0]), scope])
    return {"drafts": drafts} if drafts else None, len(given) - len(drafts)


def check_draft(draft: Draft) -> tuple[Pattern, str] | None:
    """The parts and the scope of a draft; None if it may not be taken from a model.

    It is no pattern, too long, or repeats the prompt; it has a secret, downloads something, grants a permission, or disables a check.
    """
    try:
        parts = parse_pattern(draft.text)
    except PatternError:
        return None
    text, scope = format_pattern(parts), normalise_scope(draft.scope)
    if scope is None or "{" in scope or parts == _EXAMPLE or len(text) > LONGEST:
        return None
    return None if has_secret(text) or _FETCHES.search(text) else (parts, scope)


def store_finding(
    log: LessonLog, message: Mapping[str, Any], session: str, project: str, known: Mapping[int, Origin]
) -> tuple[list[Lesson], list[tuple[str, Origin]]]:
    """Add the drafts of a synthesis to the log; return the new lessons, and the origins by id: theirs, and those of known lessons that
    have none. Repeating it adds nothing.

    Only from a correction a lesson is made; what somebody likes or a thing is becomes a line. `project`: the project's root.
    `known`: the origins by number. Raises OSError, FileRefusedError: lessons added before stay, and are known the next time.
    """
    added, origins = list[Lesson](), list[tuple[str, Origin]]()
    given = [Draft(*map(str, draft[:2])) for found in message.get("found", ()) for draft in found["drafts"]]
    drafts = [checked for draft in given if (checked := check_draft(draft)) is not None]
    if not drafts or not message.get("corrected"):
        return added, origins
    sessions = message.get("sessions") or [session]
    words = message.get("words") or message.get("facts", ())
    prompts = map(str, message.get("prompts", ()))
    origin = Origin(str(sessions[-1]), log.clock.now(), project, tuple(prompts), tuple(map(str, words)))
    here = ProjectLessons(Path(project), known) if project else None
    with log.begin_change() as change:
        for parts, scope in drafts:
            said, lines = f"{parts.when} {parts.do}", map(str, message.get("lines", ()))
            own = tuple(line for line in lines if share_words(said, line)[1] >= 0.5)
            twin = find_same(change.lessons, parts, scope, here, is_draft=True)
            if twin is None:
                twin = Lesson(change.next_id(), scope, "ai", ACTIVE, log.today, parts)
                added.append(change.append(twin))
            elif not (twin.is_active and twin.is_ours) or known.get(int(twin.id), Origin()).words:
                continue  # one of ours without words: an agent added it, or a crash came before its origin was stored
            origins.append((twin.id, origin._replace(lines=own)))
    return added, origins


def run(task: Task, tools: Tools) -> Outcome:
    """Purge a lesson's words; or store the drafts of a synthesis, and withdraw the lessons of deleted lines (SPEC E-30, E-32)."""
    log = LessonLog.from_environ(os.environ, tools.clock)
    if task.kind == "purge":
        texts = [str(text) for text in task.data.get("texts", ())]
        return Done(notices=[Notice("purged", str(path)) for path in purge_words(log, task.key, texts)])
    root = str(task.project.root) if isinstance(task.project, Project) else ""
    known = read_origins(tools.rows, log)
    added, origins = store_finding(log, task.data, task.session, root, known)
    notices = [Notice("learned", one.text, f"lesson {one.id}", item=one.id) for one in added]
    removed = {str(line) for line in task.data.get("removed", ())}
    here = ProjectLessons(Path(root), known)
    for one in log.read_lessons().list_active() if root and removed else ():
        # Lessons that somebody stated or changed stay, and so do those of other projects.
        if one.is_ours and {*here.find_origin(one).lines} & removed and here.is_from_here(one):
            mark_wrong(log, one.id, DELETED_LINE)
            notices.append(Notice("withdrawn", one.text, f"lesson {one.id}", DELETED_LINE))

    def apply(tx: Tx) -> None:
        for id, origin in origins:
            put_origin(tx, log, id, origin)

    return Done(apply, notices=notices)
