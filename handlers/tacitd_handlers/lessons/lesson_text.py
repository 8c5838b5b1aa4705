"""The texts of lessons: the table of `list`, the YAML of `show`, the Markdown of `load` (SPEC E-13, E-14, E-18), and what every session
gets by itself: at its start, for a failed call (SPEC E-31), and the global ones in the rules file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import Clock
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.wording import count_noun, format_table
from tacitd_handlers.lessons.lesson_log import KEYS, WAITING, Lesson, LessonLog
from tacitd_handlers.lessons.lesson_origins import ProjectLessons, read_origins
from tacitd_handlers.lessons.pattern import GLOBAL

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.session_context.context_request import ContextRequest, PersonRule

LINES = 200
"""Default maximum of lines of `load`. Agents' own tools would cut a longer output."""
START_LINES, START_LONGEST = 15, 2_000
"""Maximum lines and characters at a session's start."""
DELETED_LINE = "the line was deleted in rules/tacitd.md"

_PLAIN = compile_lazily(r"(?!(?:null|true|false|yes|no|on|off|y|n)$)[a-z][a-z0-9_./+-]*|\d{4}-\d{2}-\d{2}")
_CAMEL = compile_lazily(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_FAILURE = compile_lazily(r"\b(?:fail|error|exception|crash|broken|traceback|fatal)\w*", re.IGNORECASE)
_ESCAPED = compile_lazily("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def format_list(lessons: Iterable[Lesson], *, with_status: bool = False) -> str:
    head = ("ID", "SCOPE", "FROM", *(("STATUS",) if with_status else ()), "PATTERN")
    rows = (
        (one.id, one.scope, one.source, *((one.state,) if with_status else ()), one.text) for one in lessons
    )
    return "".join(f"{line}\n" for line in format_table(head, rows))


def format_lesson(lesson: Lesson) -> str:
    """The output of `lesson show`, the seed's YAML. `id: 002` is printed as in the seed, though YAML reads it as a number; programs
    should use `--json` (SPEC E-14)."""
    parts = lesson.parts._asdict()
    plain = lesson.to_record() | {"status": lesson.state}
    lines = [f"id: {lesson.id}"]
    for key in (key for key in KEYS[1:] if key in plain and key not in parts):
        is_plain = key != "reason" and _PLAIN.fullmatch(plain[key])
        lines.append(f"{key}: {plain[key] if is_plain else quote_yaml(plain[key])}")
    lines += [f"pattern: {quote_yaml(lesson.text)}", "parsed:"]
    lines += [f"  {key}: {text if key == 'action' else quote_yaml(text)}" for key, text in parts.items()]
    return "\n".join(lines) + "\n"


def build_document(lesson: Lesson) -> dict[str, Any]:
    """One lesson for `--json`: its record, its pattern, and the pattern's parts. The status is that which people see."""
    shown = {"status": lesson.state, "pattern": lesson.text, "parsed": lesson.parts._asdict()}
    return lesson.to_record() | shown


def quote_yaml(text: str) -> str:
    """A double-quoted YAML scalar: JSON's escapes, and further ones that YAML requires."""
    escaped = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)


def format_load(groups: Mapping[str, Sequence[Lesson]], lines: int) -> tuple[str, list[Lesson]]:
    """The text of `lesson load`, and the lessons in it (SPEC E-18).

    `groups` are lessons by scope, global first; `lines` is the maximum, 0 for no limit. If there are more lines, lessons are
    left out and the last line gives their number: those of people are kept longest, then those of scopes other than global,
    then newer ones. The order is by id alone, so that a prompt cache stays valid.
    """
    groups = {scope: lessons for scope, lessons in groups.items() if lessons}
    given = [lesson for lessons in groups.values() for lesson in lessons]
    kept = {lesson.id for lesson in given}
    if lines and 1 + 2 * len(groups) + len(given) > lines:
        given.sort(key=lambda one: (not one.is_firm, one.scope == GLOBAL, -int(one.id)))
        # The title, the last line, a blank and a heading for each group have their lines.
        kept = {lesson.id for lesson in given[: max(0, lines - 2 - 2 * len(groups))]}
    parts, shown = [f"## Lessons ({len(given)} active)"], list[Lesson]()
    for scope, lessons in groups.items():
        chosen = [lesson for lesson in lessons if lesson.id in kept]
        if chosen:
            parts += ["", "### Global" if scope == GLOBAL else f"### {scope}", *(one.line for one in chosen)]
        shown += chosen
    if len(shown) < len(given):
        parts.append(f"({len(given) - len(shown)} more are left out: lesson load --lines 0)")
    return "\n".join(parts) + "\n", shown


def make_text(request: ContextRequest) -> str:
    """The lessons of the directory's project and the global ones, in at most 15 lines; "" if there are none. For a failed call a
    line for each lesson that fits its error, the best first.

    What the session loads in another file is left out. The hook `session_text`. Raises OSError.
    """
    log = LessonLog.from_environ(os.environ)
    active = log.read_lessons().list_active()
    if not active:
        return ""
    project = ProjectLessons(request.cwd, read_origins(request.rows, log))
    in_force = project.list_in_force(active)
    if request.occasion == "failure":
        return "\n".join(one.line for one in list_matches(in_force, request.error))
    wanted = [one for one in in_force if not _is_given(one, request, project)]
    groups = {scope: [one for one in wanted if one.scope == scope] for scope in (GLOBAL, project.name)}
    # The budget is in characters and `format_load` counts lines, so fewer lines are tried until the text fits.
    for lines in range(START_LINES, 3, -1):
        text, shown = format_load(groups, lines)
        if shown and len(text) <= min(request.budget, START_LONGEST):
            return text
    return ""


def _is_given(lesson: Lesson, request: ContextRequest, project: ProjectLessons) -> bool:
    """Whether the client loads the lesson word for word, or the line that was made of the same words as its draft (SPEC E-30)."""
    lines = project.find_origin(lesson).lines if lesson.is_ours else ()
    return any(request.is_loaded(each) for each in (lesson.text, *lines))


def list_matches(lessons: Iterable[Lesson], error: str) -> list[Lesson]:
    """The lessons that fit an error by the words of their WHEN, the best first (SPEC E-31)."""
    scored = [(-score_match(one.parts.when, error), one.id, one) for one in lessons]
    return [one for score, _, one in sorted(scored) if score]


def score_match(when: str, error: str) -> float:
    """The share of WHEN's words that an error's text has; 0 if it is below 0.6, or if only words of failure are common."""
    common, share = share_words(*(_FAILURE.sub("fail", _CAMEL.sub(" ", text)) for text in (when, error)))
    return share if share >= 0.6 and common - {"fail"} else 0.0


def share_words(text: str, other: str) -> tuple[frozenset[str], float]:
    """The beginnings of a text's words with a meaning that another one has too, and their share of the text's."""
    from tacitd_handlers.shared.polarity import list_stems, match_stems  # `lesson load` needs none

    wanted, present = list_stems(text), list_stems(other)
    common = frozenset(word for word in wanted if any(match_stems(word, each) for each in present))
    return common, len(common) / max(1, len(wanted))


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """How many lessons are active, wait for the person, or cannot be read. Raises OSError."""
    log = LessonLog.from_environ(os.environ)
    lessons = log.read_lessons()
    active = lessons.list_active()
    firm, waiting = (
        sum(one.is_firm for one in active),
        sum(one.state == WAITING for one in lessons.all.values()),
    )
    lines = [f"{len(active)} active, {firm} of them stated by a person"] if active else []
    if waiting:
        lines.append(f"! {count_noun(waiting, 'lesson')} waiting for your decision: `tacitd review`")
    if lessons.odd:
        lines.append(f"! {log.describe_odd(lessons.odd)}; they are kept: correct or remove them")
    return {"lines": lines}


class LessonRules:
    """The global lessons for the rules file: the part `person-rules`. A rule's id is that of its lesson."""

    title = "Lessons"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._log = LessonLog.from_environ(environ, clock)

    def list_files(self) -> Sequence[Path]:
        return [self._log.path]

    def list_rules(self) -> Sequence[PersonRule]:
        from tacitd.session_context.context_request import PersonRule

        found = [one for one in self._log.read_lessons().list_active() if one.scope == GLOBAL]
        found.sort(key=lambda one: (not one.is_firm, -int(one.id)))
        return [PersonRule(one.id, one.text, not one.is_ours) for one in found]

    def withdraw_rule(self, id: str) -> None:
        """Mark the lesson wrong, so that it is neither loaded nor drafted again. Raises OSError, FileRefusedError."""
        from tacitd_handlers.lessons.lesson_actions import mark_wrong

        found = self._log.read_lessons().get(id)
        if found is not None and found.is_active:
            mark_wrong(self._log, id, DELETED_LINE)
