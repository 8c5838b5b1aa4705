"""Reports of practice: finding them in a transcript, validating what `record` is given, and when a problem comes again. Pure.

A session counts as a teaching session once its person typed the skill's name as a command, its assistant called the
skill, or any tool used one of the learner's two files. Nothing is taken from earlier records. A report is a fenced block
of JSON with the fields of `tacitd learner record`; a block with other fields is an example.

Nothing is guessed: what is wrong is refused with a message that lists what is allowed (SPEC L-35, X-10).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from tacitd.errors import TacitdError, UsageError
from tacitd.text.hashes import sha256
from tacitd_handlers.learner.learner_state import ReportRecord, SessionStamp
from tacitd_handlers.learner.ledger_file import (
    LEARNING,
    NO_GAPS,
    RECALL,
    UNKNOWN,
    VERDICTS,
    LedgerRow,
    name_of,
    tag_of,
    tags_of,
    time_of,
)

if TYPE_CHECKING:
    from tacitd.events import Record
    from tacitd_handlers.learner.practice_tasks import LearnerSettings

SKILL = "leetcode-teacher"
REQUIRED = frozenset({"problem", "mode", "verdict"})
FIELDS = REQUIRED | {"pattern", "gaps", "tested", "observations", "descriptions", "session", "timestamp"}


def parse_report(given: Mapping[str, Any]) -> ReportRecord:
    """Validate an object with the fields in `FIELDS`. Its row has no review date, and "" for a session and a stamp that are not given.

    Raises UsageError, whose hint lists what is allowed.
    """
    for name in sorted({*given} - FIELDS):
        raise UsageError(f"unknown field: {name!r}", f"the fields are: {', '.join(sorted(FIELDS))}")
    texts = {name: given.get(name) or "" for name in FIELDS - {"gaps", "tested", "descriptions"}}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} is not a string", "put it in quotes")
    problem, pattern, session = (name_of(texts[name]) for name in ("problem", "pattern", "session"))
    mode, verdict = texts["mode"].strip().lower(), texts["verdict"].strip().lower()
    stamp, descriptions = texts["timestamp"].strip(), given.get("descriptions") or {}
    if not problem.strip("/ "):
        raise UsageError("the problem has no name", "for example two-sum")
    if mode not in VERDICTS:
        raise UsageError(f"{mode!r} is not a mode", f"one of: {', '.join(VERDICTS)}")
    if verdict not in VERDICTS[mode]:
        what = f"{verdict!r} is not a verdict of the mode {mode}"
        raise UsageError(what, f"in the mode {mode}: {', '.join(VERDICTS[mode])}")
    if stamp and time_of(stamp) is None:
        hint = "YYYY-MM-DDTHH:MM, local time, for example 2026-02-19T14:30"
        raise UsageError(f"{stamp!r} is not a timestamp", hint)
    if not isinstance(descriptions, Mapping) or {*map(type, descriptions.values())} - {str}:
        raise UsageError("descriptions is not an object of strings", '{"edge:empty_input": "misses …"}')
    gaps = "; ".join(_read_tags(given.get("gaps"), "gaps") or ()) or NO_GAPS
    return ReportRecord(
        LedgerRow(stamp, session, problem, pattern or UNKNOWN, mode, verdict, gaps, ""),
        _read_tags(given.get("tested"), "tested"),
        texts["observations"].strip(),
        {tag_of(str(tag)): text for tag, text in descriptions.items()},
    )


def _read_tags(value: object, name: str) -> tuple[str, ...] | None:
    """The tags of `a; b` or of a list. None if `value` is None."""
    if value is None:
        return None
    parts = re.split(r"[;,\n]", value) if isinstance(value, str) else value
    if not isinstance(parts, Iterable) or not all(isinstance(part, str) for part in parts):
        raise UsageError(f"{name} is not a list of tags", 'write them as "edge:empty_input; edge:duplicates"')
    for part in parts:
        if part.strip() and not tag_of(part):
            raise UsageError(f"the tag {part!r} has no valid character", "tags consist of a-z, 0-9, _ . : -")
    return tags_of(";".join(parts))


def plan_report(
    report: ReportRecord, at: SessionStamp, rows: Sequence[LedgerRow], settings: LearnerSettings
) -> ReportRecord:
    """Given the ledger's rows, return what to record. Its row is the one that is there already, if the problem is (SPEC L-23).

    Raises TacitdError if the ledger has the same key with another verdict or other gaps, because it is never edited.
    """
    row = report.row._replace(stamp=at.stamp, session=at.session)
    same = next((one for one in rows if one.key == row.key), None)
    if same is not None:
        if (same.verdict, same.tags) != (row.verdict, row.tags):
            raise TacitdError(
                f"the ledger has {row.problem} on {row.stamp} with {same.verdict} and gaps {same.gaps}",
                "the ledger is never edited; record another session, or correct the line by hand",
            )
        return ReportRecord(same)
    past = [one for one in rows if one.problem == row.problem and one.stamp <= row.stamp]
    past.sort(key=lambda one: one.stamp)
    trend = describe_trajectory(past) if row.mode == RECALL else ""
    observed = "\n".join(part for part in (report.observations, trend) if part)
    row = row._replace(review=find_review(row, past, settings))
    return ReportRecord(row, report.tested, observed, report.texts)


# --- in a transcript

_FENCED = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:json\b[^\n]*)?\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S | re.I
)


def uses_skill(record: Record, files: Collection[str]) -> bool:
    """Whether this record calls the teaching skill, or uses a tool on one of the learner's files, which have these names."""
    names = [record.command, *(name for tool in record.tools for name in tool.skills)]
    # `plugin:skill` and `/skill` are the skill.
    if any(name and re.split(r"[:/]", name.strip("/"))[-1] == SKILL for name in names):
        return True
    return any(name.encode() in tool.input for tool in record.tools for name in files)


def find_reports(text: str) -> Iterator[dict[str, Any]]:
    """The reports in an assistant's text: objects with the required fields and no unknown ones."""
    for found in _FENCED.finditer(text):
        try:
            given = json.loads(found["body"])
        except (ValueError, RecursionError):
            continue
        if isinstance(given, dict) and REQUIRED <= set(given) <= FIELDS:
            yield given


def report_id(record: Record, given: dict[str, Any]) -> str:
    """The identity of a report. A fork copies records under new ids, but keeps their time."""
    text = json.dumps(given, sort_keys=True, ensure_ascii=False)
    return sha256(f"{record.time}\0{text}".encode(errors="replace")).hexdigest()[:24]


# --- review intervals and dates (SPEC L-41 to L-46), and what came before

FIXED: Final = {
    "solved_independently": 7,
    "solved_with_minor_hints": 3,
    "solved_with_significant_scaffolding": 1,
    "did_not_reach_solution": 1,
    "borderline": 2,
    "needs_work": 1,
}
"""Days until the review, for verdicts whose interval does not grow (SPEC L-42, L-46)."""
GROWING: Final = {"strong_pass": (7, 2, 1), "pass": (5, 3, 2)}
"""The minimum in days, and the growth factor as a fraction: x2 and x1.5, rounded down (SPEC L-42, L-44)."""
PAST_SESSIONS = 3
"""Earlier sessions of a problem that its trajectory names (SPEC L-40)."""


def find_due(rows: Sequence[LedgerRow], on: date) -> list[dict[str, Any]]:
    """The problems whose latest review date is `on` or earlier, oldest first: problem, review, days since then, reason."""
    latest: dict[str, tuple[LedgerRow, date]] = {}
    for row in rows:
        when = date_of(row.review)
        if when is not None and (row.problem not in latest or latest[row.problem][0].stamp <= row.stamp):
            latest[row.problem] = row, when
    found = []
    for row, when in latest.values():
        if when <= on:
            how = "learned" if row.mode == LEARNING else "recalled"
            days = _read_interval(row)
            after = f", {days} days later" if days else ""
            why = f"{how} with {row.verdict}{after} (on {row.stamp[:10]})"
            one = {"problem": row.problem, "review": row.review, "days": (on - when).days, "reason": why}
            found.append(one)
    return sorted(found, key=lambda one: (one["review"], one["problem"]))


def find_review(row: LedgerRow, past: Sequence[LedgerRow], settings: LearnerSettings) -> str:
    """The review date of a row with a valid stamp and verdict; at most 9999-12-31.

    `past`: the earlier rows of its problem, by stamp. The interval grows from the one that the latest of them was
    scheduled with; a row whose date does not parse counts as none (SPEC L-43).
    """
    days = FIXED.get(row.verdict, 0)
    if not days:
        least, times, over = GROWING[row.verdict]
        scheduled = [(one, interval) for one in past if (interval := _read_interval(one)) is not None]
        last, before = scheduled[-1] if scheduled else (row, 0)
        early = settings.grow_only_when_due and bool(scheduled) and row.stamp[:10] < last.review
        days = max(least, before if early else before * times // over)
    if settings.longest_interval is not None:
        days = min(days, settings.longest_interval)
    try:
        return (date.fromisoformat(row.stamp[:10]) + timedelta(days=days)).isoformat()
    except OverflowError:
        return date.max.isoformat()


def describe_trajectory(past: Sequence[LedgerRow]) -> str:
    """One sentence on the earlier sessions of a problem (SPEC L-40)."""
    if not past:
        return "Trajectory: first session of this problem."
    latest = ", ".join(f"{row.verdict} ({row.stamp[:10]})" for row in past[-PAST_SESSIONS:])
    return f"Trajectory: before this, {latest}."


def _read_interval(row: LedgerRow) -> int | None:
    """The interval of a row in days. None if its review date does not parse or is before its stamp (SPEC L-43)."""
    when, due = time_of(row.stamp), date_of(row.review)
    return None if when is None or due is None or due < when.date() else (due - when.date()).days


def date_of(text: str) -> date | None:
    """The date of `YYYY-MM-DD`; None for anything else."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
