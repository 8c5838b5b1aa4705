"""The text forms of lessons: the table of `list`, the YAML of `show`, the Markdown of `load` (SPEC E-13, E-14, E-18). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacitd.clock import local_date
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.wording import format_table
from tacitd_handlers.lessons.lesson_log import Lesson
from tacitd_handlers.lessons.lesson_origins import Origin
from tacitd_handlers.lessons.pattern import GLOBAL

LINES = 200
"""Default maximum of lines of `load`. Agents' own tools would cut a longer output."""

_PLAIN = compile_lazily(r"[a-z][a-z0-9_./+-]*")
_DATE = compile_lazily(r"\d{4}-\d{2}-\d{2}")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_ESCAPED = compile_lazily("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def format_list(lessons: Iterable[Lesson], *, with_status: bool = False) -> str:
    """The table of `lesson list` (SPEC E-13); "" without lessons. `with_status`: a column for deleted and promoted ones."""
    head = ("ID", "SCOPE", "FROM", *(("STATUS",) if with_status else ()), "PATTERN")
    rows = (
        (one.id, one.scope, one.source, *((one.status,) if with_status else ()), one.text) for one in lessons
    )
    return "".join(f"{line}\n" for line in format_table(head, rows))


def format_lesson(lesson: Lesson, origin: Origin | None) -> str:
    """The output of `lesson show`: the seed's YAML, then the origin, if known.

    `id: 002` is printed as in the seed, though YAML reads it as a number; programs should use `--json` (SPEC E-14).
    """
    lines = [f"id: {lesson.id}", *_scalar("scope", lesson.scope), *_scalar("from", lesson.source)]
    lines += [*_scalar("status", lesson.status), *_scalar("created", lesson.created)]
    lines += _scalar("updated", lesson.updated)
    lines += [f"reason: {quote_yaml(lesson.reason)}"] if lesson.reason else []
    lines += _scalar("promoted_to", lesson.promoted_to)
    lines += [f"pattern: {quote_yaml(lesson.text)}", "parsed:", f"  when: {quote_yaml(lesson.parts.when)}"]
    lines += [f"  action: {lesson.parts.action}", f"  do: {quote_yaml(lesson.parts.do)}"]
    lines += [f"  because: {quote_yaml(lesson.parts.because)}", *_list_origin(origin)]
    return "\n".join(lines) + "\n"


def build_document(lesson: Lesson) -> dict[str, Any]:
    """One lesson for `--json`: its record, its pattern, and the pattern's parts."""
    return lesson.to_record() | {"pattern": lesson.text, "parsed": lesson.parts._asdict()}


def quote_yaml(text: str) -> str:
    """A double-quoted YAML scalar: JSON's escapes, and further ones that YAML requires."""
    escaped = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)


def _list_origin(origin: Origin | None) -> list[str]:
    if origin is None:
        return []
    found = {"session": origin.session, "project": origin.project, "date": local_date(origin.at)}
    lines = ["origin:", *(f"  {key}: {quote_yaml(value)}" for key, value in found.items() if value)]
    return [
        *lines,
        *(["  words:"] if origin.words else ()),
        *(f"    - {quote_yaml(each)}" for each in origin.words),
    ]


def _scalar(key: str, value: str) -> list[str]:
    """The line `key: value`, quoted if YAML would read another value; [] for an empty value."""
    if not value:
        return []
    plain = (_PLAIN.fullmatch(value) and value not in _WORDS) or _DATE.fullmatch(value)
    return [f"{key}: {value if plain else quote_yaml(value)}"]


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
        room = max(
            0, lines - 2 - 2 * len(groups)
        )  # the title, the last line, a blank and a heading for each group
        given.sort(key=lambda one: (not one.is_firm, one.scope == GLOBAL, -int(one.id)))
        kept = {lesson.id for lesson in given[:room]}
    parts, shown = [f"## Lessons ({len(given)} active)"], list[Lesson]()
    for scope, lessons in groups.items():
        chosen = [lesson for lesson in lessons if lesson.id in kept]
        if chosen:
            parts += ["", "### Global" if scope == GLOBAL else f"### {scope}", *(one.line for one in chosen)]
        shown += chosen
    if len(shown) < len(given):
        parts.append(f"({len(given) - len(shown)} more are left out: lesson load --lines 0)")
    return "\n".join(parts) + "\n", shown
