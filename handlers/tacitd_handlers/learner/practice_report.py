"""Reports of practice: finding them in a transcript, and validating what `record` is given. Pure.

A session counts as a teaching session once its person typed the skill's name as a command, its assistant called the
skill, or any tool used one of the learner's two files. Nothing is taken from earlier records. A report is a fenced block
of JSON with the fields of `tacitd learner record`; a block with other fields is an example.

Nothing is guessed. A verdict of another mode, a tag without a valid character and a malformed stamp are refused with a
message that lists what is allowed (SPEC L-35, X-10).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tacitd.errors import UsageError
from tacitd_handlers.learner.vocabulary import UNKNOWN, VERDICTS, name_of, tag_of, tags_of, time_of

if TYPE_CHECKING:
    from tacitd.events import Record, ToolUse

FIELDS = frozenset(
    {
        "problem",
        "pattern",
        "mode",
        "verdict",
        "gaps",
        "tested",
        "observations",
        "descriptions",
        "session",
        "timestamp",
    }
)
REQUIRED = ("problem", "mode", "verdict")


class PracticeReport(Struct, frozen=True):
    """One problem of a session, validated."""

    problem: str
    mode: str
    verdict: str
    pattern: str = UNKNOWN
    gaps: tuple[str, ...] = ()
    tested: tuple[str, ...] | None = None
    observations: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    stamp: str = ""


def parse_report(given: Mapping[str, Any]) -> PracticeReport:
    """Validate an object with the fields in `FIELDS`.

    Raises UsageError, whose hint lists what is allowed.
    """
    unknown = sorted(set(given) - FIELDS)
    if unknown:
        raise UsageError(f"unknown field: {unknown[0]!r}", f"the fields are: {', '.join(sorted(FIELDS))}")
    for name in REQUIRED:
        if not isinstance(given.get(name), str) or not given[name].strip():
            raise UsageError(f"the {name} is missing", _allowed(name, str(given.get("mode", ""))))
    mode, verdict = given["mode"].strip().lower(), given["verdict"].strip().lower()
    problem = name_of(given["problem"])
    _check(problem, mode, verdict)
    gaps = _tags(given.get("gaps"), "gaps") or ()
    return PracticeReport(
        problem,
        mode,
        verdict,
        name_of(_text(given, "pattern")) or UNKNOWN,
        gaps,
        _tags(given.get("tested"), "tested"),
        _text(given, "observations"),
        _descriptions(given.get("descriptions")),
        name_of(_text(given, "session")),
        _stamp(_text(given, "timestamp")),
    )


def _check(problem: str, mode: str, verdict: str) -> None:
    if not problem.strip("/ "):
        raise UsageError("the problem has no name", "for example two-sum")
    if mode not in VERDICTS:
        raise UsageError(f"{mode!r} is not a mode", _allowed("mode", ""))
    if verdict not in VERDICTS[mode]:
        raise UsageError(f"{verdict!r} is not a verdict of the mode {mode}", _allowed("verdict", mode))


def _allowed(name: str, mode: str) -> str:
    if name == "verdict" and mode.strip().lower() in VERDICTS:
        return f"in the mode {mode.strip().lower()}: {', '.join(VERDICTS[mode.strip().lower()])}"
    if name == "verdict":
        return "; ".join(f"{each}: {', '.join(names)}" for each, names in VERDICTS.items())
    return f"one of: {', '.join(VERDICTS)}" if name == "mode" else "for example two-sum"


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"{name} is not a string", "put it in quotes")
    return value.strip()


def _stamp(text: str) -> str:
    if text and time_of(text) is None:
        raise UsageError(
            f"{text!r} is not a timestamp", "YYYY-MM-DDTHH:MM, local time, for example 2026-02-19T14:30"
        )
    return text


def _tags(value: object, name: str) -> tuple[str, ...] | None:
    """The tags of `a; b` or of a list. None if `value` is None."""
    if value is None:
        return None
    parts = re.split(r"[;,\n]", value) if isinstance(value, str) else value
    if not isinstance(parts, Iterable) or not all(isinstance(part, str) for part in parts):
        raise UsageError(f"{name} is not a list of tags", 'write them as "edge:empty_input; edge:duplicates"')
    given = [part for part in parts if part.strip()]
    tags = list(dict.fromkeys(tag for part in given for tag in tags_of(part)))
    lost = [part for part in given if not tag_of(part)]
    if lost:
        raise UsageError(f"the tag {lost[0]!r} has no valid character", "tags consist of a-z, 0-9, _ . : -")
    return tuple(tags)


def _descriptions(value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise UsageError("descriptions is not an object of strings", '{"edge:empty_input": "misses …"}')
    return {tag_of(str(tag)): text for tag, text in value.items() if tag_of(str(tag))}


_FENCED = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:json\b[^\n]*)?\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S | re.I
)


def uses_skill(record: Record, skills: Collection[str], files: Collection[str]) -> bool:
    """Whether this record calls the teaching skill, or uses a tool on one of the learner's files.

    `files`: their names.
    """
    return _last_name(record.command) in skills or any(
        any(_last_name(name) in skills for name in tool.skills) or _touches(tool, files)
        for tool in record.tools
    )


def _last_name(name: str) -> str:
    """The last part of a name: `skill` for `plugin:skill` and `/skill`."""
    return re.split(r"[:/]", name.strip("/"))[-1]


def _touches(tool: ToolUse, files: Collection[str]) -> bool:
    return any(name.encode() in tool.input for name in files)


def find_reports(text: str) -> Iterator[dict[str, Any]]:
    """The reports in an assistant's text: objects with the required fields and no unknown ones."""
    for found in _FENCED.finditer(text):
        given = _object(found["body"])
        if set(REQUIRED) <= set(given) <= FIELDS:
            yield given


def report_id(record: Record, given: dict[str, Any]) -> str:
    """The identity of a report. A fork copies records under new ids, but keeps their time."""
    text = json.dumps(given, sort_keys=True, ensure_ascii=False)
    return sha256(f"{record.time}\0{text}".encode(errors="replace")).hexdigest()[:24]


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
