"""The text forms of lessons: the table of `list`, the YAML of `show` (SPEC E-13, E-14). Pure text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.text_table import format_table
from tacitd_handlers.lessons.lesson_fold import Lesson

_PLAIN = compile_lazily(r"[a-z][a-z0-9_./+-]*")
_DATE = compile_lazily(r"\d{4}-\d{2}-\d{2}")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_ESCAPED = compile_lazily("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def format_list(lessons: Iterable[Lesson], *, status: bool = False) -> str:
    """The table of `lesson list` (SPEC E-13). `status` adds the column for deleted and promoted lessons."""
    if not status:
        return format_rows(
            ("ID", "SCOPE", "FROM", "PATTERN"), ((x.id, x.scope, x.source, x.text) for x in lessons)
        )
    rows = ((x.id, x.scope, x.source, x.status, x.text) for x in lessons)
    return format_rows(("ID", "SCOPE", "FROM", "STATUS", "PATTERN"), rows)


def format_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as one text; "" without rows."""
    return "".join(f"{line}\n" for line in format_table(head, rows))


def format_lesson(lesson: Lesson, origin: Mapping[str, Any] | None = None) -> str:
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
    lines += [f"  because: {quote_yaml(lesson.parts.because)}", *_origin(origin)]
    return "\n".join(lines) + "\n"


def build_document(lesson: Lesson) -> dict[str, Any]:
    """One lesson for `--json`: its record, its pattern, and the pattern's parts."""
    parts = {"when": lesson.parts.when, "action": lesson.parts.action}
    parts |= {"do": lesson.parts.do, "because": lesson.parts.because}
    return lesson.to_record() | {"pattern": lesson.text, "parsed": parts}


def quote_yaml(text: str) -> str:
    """A double-quoted YAML scalar: JSON's escapes, and further ones that YAML requires."""
    escaped = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)


def _origin(origin: Mapping[str, Any] | None) -> list[str]:
    if not origin:
        return []
    lines = ["origin:"]
    lines += [
        f"  {key}: {quote_yaml(str(origin[key]))}"
        for key in ("session", "project", "date")
        if origin.get(key)
    ]
    words = origin.get("words", ())
    return [*lines, "  words:", *(f"    - {quote_yaml(each)}" for each in words)] if words else lines


def _scalar(key: str, value: str) -> list[str]:
    """The line `key: value`, quoted if YAML would read another value; [] for an empty value."""
    if not value:
        return []
    plain = (_PLAIN.fullmatch(value) and value not in _WORDS) or _DATE.fullmatch(value)
    return [f"{key}: {value if plain else quote_yaml(value)}"]


def format_status_lines(status: Mapping[str, Any]) -> Iterator[str]:
    """Given the plugin's part of the status document, yield the lines of `tacitd status`."""
    if status["active"]:
        by_people = f", {status['user']} of them stated by people" if status["active"] > 1 else ""
        yield f"{status['active']} active{by_people or (', stated by a person' if status['user'] else '')}"
