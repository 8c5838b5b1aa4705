"""A second computation of the learner's weaknesses, from the ledger's text alone, by the rules of SPEC L.

It was written independently of tacitd's code and shares nothing with it: loops and dictionaries over the whole history.
Slow and simple.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

ENTRY = re.compile(
    r"^- \*\*(?P<label>.+?)\*\* — .*\n"
    r"  First observed: (?P<first>.*?)\. Last tested: (?P<tested>.*?)\. Last failed: (?P<failed>.*?)\.\n"
    r"  Last clean streak start: (?P<streak>.*?)\. Sessions since last failure: (?P<clean>\d+)\.\n"
    r"  Status: (?P<status>.+)$",
    re.M,
)
SESSION = re.compile(
    r"^### (?P<stamp>\S+) \| (?P<problem>[^|]+) \| (?P<mode>\w+) \| (?P<verdict>\w+)\n"
    r"Gaps: (?P<gaps>.*)\nReview: (?P<review>.*)\n---$",
    re.M,
)


@dataclass
class Course:
    """One weakness."""

    first: str
    tested: str
    failed: str
    status: str = "new"
    streak: str = ""
    clean: int = 0

    def fields(self) -> tuple[str, ...]:
        return (self.first, self.tested, self.failed, self.streak, str(self.clean), self.status)


@dataclass
class World:
    """The expected entries of the profile."""

    courses: dict[str, Course] = field(default_factory=dict)
    active: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    out: set[str] = field(default_factory=set)


def table(text: str) -> list[list[str]]:
    """The rows of a ledger, ordered by time and then as in the file, without torn rows."""
    whole = [line for line in text.splitlines() if line.startswith("| 2") and line.endswith(" |")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in whole]
    return sorted((row for row in rows if len(row) == 8), key=lambda row: row[0])


def minutes(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


def four_weeks(course: Course, rows: list[list[str]], tag: str) -> bool:
    """L-24, L-25: three clean sessions with 28 days between the first and the last, according to the ledger."""
    if course.clean < 3 or not course.streak:
        return False
    if minutes(course.tested) - minutes(course.streak) < timedelta(days=28):
        return False
    stamps = {row[0] for row in rows}
    between = [row for row in rows if course.streak <= row[0] <= course.tested]
    shown = any(tag in re.split(r"; ", row[6]) for row in between)
    return {course.streak, course.tested} <= stamps and not shown


@dataclass
class Fold:
    """The fold of the rows so far. A simulation keeps it, so that a ledger that grew is not folded from its beginning."""

    w: World = field(default_factory=World)
    past: list[list[str]] = field(default_factory=list)
    failing: dict[str, str] = field(default_factory=dict)
    counted: dict[str, set[str]] = field(default_factory=dict)


def world(
    text: str,
    tested: dict[tuple[str, str, str, str], list[str]] | None = None,
    before: Fold | None = None,
) -> World:
    """The fold of the ledger, row by row. `tested`: what sessions report as tested, by their keys.

    `before`: an earlier fold, which goes on if its rows are the first ones of this ledger. Otherwise it begins anew.
    """
    rows = table(text)
    fold = before if before is not None else Fold()
    if fold.past != rows[: len(fold.past)]:
        fold.w, fold.past, fold.failing, fold.counted = World(), [], {}, {}
    w, past, failing, counted = fold.w, fold.past, fold.failing, fold.counted
    for row in rows[len(past) :]:
        stamp, session, problem, pattern, mode, _, gaps, _ = row
        shown = [] if gaps == "none" else gaps.split("; ")
        said = (tested or {}).get((session, stamp, problem, mode))
        if said is None:
            expected = [
                tag for old in past if old[3] == pattern and old[6] != "none" for tag in old[6].split("; ")
            ]
        else:
            expected = said
        touched = []
        for tag in shown:
            touched.append(tag)
            if tag not in w.courses:
                w.courses[tag] = Course(stamp, stamp, stamp)
            else:
                course = w.courses[tag]
                if not (failing.get(tag) == session and course.clean == 0):
                    course.status = "recurring"
                course.tested = course.failed = stamp
                course.streak, course.clean = "", 0
            failing[tag], counted[tag] = session, set()
        for tag in dict.fromkeys(expected):
            if tag in shown or tag not in w.courses:
                continue
            course = w.courses[tag]
            course.tested = stamp
            if failing[tag] == session or session in counted[tag]:
                continue
            touched.append(tag)
            counted[tag].add(session)
            course.clean += 1
            if course.clean == 1:
                course.streak = stamp
            after = [*past, row]
            if course.status == "resolved (short-term)":
                if four_weeks(course, after, tag):
                    course.status = "resolved (long-term)"
            elif course.status != "resolved (long-term)":
                if course.clean >= 3:
                    course.status = "resolved (short-term)"
                elif course.clean == 2 and course.status == "recurring":
                    course.status = "improving"
        past.append(row)
        place(w, touched, past)
    return w


def place(w: World, touched: list[str], rows: list[list[str]]) -> None:
    """L-26 to L-29."""
    for tag in touched:
        gone = w.courses[tag].status == "resolved (long-term)"
        if gone and tag not in w.resolved and tag not in w.out:
            for each in (w.active, w.line):
                if tag in each:
                    each.remove(tag)
            w.resolved.append(tag)
        if not gone and tag not in w.active and tag not in w.line:
            if tag in w.resolved:
                w.resolved.remove(tag)
            w.out.discard(tag)
            w.line.append(tag)
    leave(w)
    while w.line:
        if len(w.active) == 20:
            able = [
                t
                for t in w.active
                if w.courses[t].status == "resolved (short-term)" and four_weeks(w.courses[t], rows, t)
            ]
            if not able:
                return
            best = min(able, key=lambda t: (-w.courses[t].clean, w.courses[t].tested, t))
            w.courses[best].status = "resolved (long-term)"
            w.active.remove(best)
            w.resolved.append(best)
            leave(w)
        w.active.append(w.line.pop(0))


def leave(w: World) -> None:
    while len(w.resolved) > 10:
        oldest = min(w.resolved, key=lambda t: (w.courses[t].tested, w.courses[t].first, t))
        w.resolved.remove(oldest)
        w.out.add(oldest)


def disagreements(
    profile: str,
    ledger: str,
    tested: dict[tuple[str, str, str, str], list[str]] | None = None,
    before: Fold | None = None,
) -> list[str]:
    """The differences between a profile and the ledger. Empty: none. `before`: as in `world`."""
    wrong: list[str] = []
    head, _, history = profile.partition("## Session History")
    open_part, _, closed_part = head.partition("## Known Weaknesses")[2].partition("### Resolved")
    said = world(ledger, tested, before)
    for name, part, wanted, cap in (
        ("active", open_part, said.active, 20),
        ("resolved", closed_part, said.resolved, 10),
    ):
        there = {
            m["label"]: m.group("first", "tested", "failed", "streak", "clean", "status")
            for m in ENTRY.finditer(part)
        }
        if part.count("- **") != len(there) or len(there) > cap:
            wrong.append(f"{name}: {part.count('- **')} bullets, {len(there)} entries, cap {cap}")
        if set(there) != set(wanted):
            wrong.append(f"{name}: {sorted(set(there) ^ set(wanted))} differ")
        for label, fields in there.items():
            if label in said.courses and fields != said.courses[label].fields():
                wrong.append(f"{label}: {fields} instead of {said.courses[label].fields()}")
            if fields[-1] == "resolved (long-term)" and minutes(fields[1]) - minutes(fields[3]) < timedelta(
                days=28
            ):
                wrong.append(f"{label}: promoted without 28 days")
    rows = table(ledger)
    sessions = [m.groupdict() for m in SESSION.finditer(history)]
    if history.count("\n### ") != len(sessions) or len(sessions) > 20:
        wrong.append(f"history: {history.count('### ')} headers, {len(sessions)} entries")
    by_key = {(r[0], r[2], r[4]): r for r in rows}
    for one in sessions:
        row = by_key.get((one["stamp"], one["problem"], one["mode"]))
        if row is None or [one["verdict"], one["gaps"], one["review"]] != row[5:]:
            wrong.append(f"history: {one} is not {row}")
    if [s["stamp"] for s in sessions] != sorted((r[0] for r in rows), reverse=True)[:20]:
        wrong.append("history: not the newest twenty, newest first")
    return wrong
