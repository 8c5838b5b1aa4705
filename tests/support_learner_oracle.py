"""A second computation of the learner's weaknesses, from the ledger's text alone, by the rules of SPEC L.

It was written independently of tacitd's code and shares nothing with it: loops and dictionaries over the whole history.
Slow and simple.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
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

    def counts(self) -> tuple[str, ...]:
        return (self.tested, self.failed, self.streak, str(self.clean))


@dataclass
class World:
    """The expected entries of the profile."""

    courses: dict[str, Course] = field(default_factory=dict)
    active: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    out: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)


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
    between = [row for row in rows if course.streak < row[0] < course.tested]
    shown = any(tag in re.split(r"; ", row[6]) for row in between)
    return {course.streak, course.tested} <= stamps and not shown


@dataclass
class Fold:
    """The rows of a ledger in the order of their stamps, and what follows from them."""

    courses: dict[str, Course] = field(default_factory=dict)
    past: list[list[str]] = field(default_factory=list)
    failing: dict[str, str] = field(default_factory=dict)
    counted: dict[str, set[str]] = field(default_factory=dict)


Tested = dict[tuple[str, str, str, str], list[str]]
"""What sessions report as tested: session, stamp, problem and mode to tags."""


def expect(past: list[list[str]], row: list[str], tested: Tested) -> list[str]:
    """L-21: the tags that are reported as tested; otherwise the gaps seen before on the same problem, and those of the
    pattern that were seen on at least two of its problems.
    """
    stamp, session, problem, pattern, mode, _, _, _ = row
    said = tested.get((session, stamp, problem, mode))
    if said is not None:
        return said
    seen = [(old[2], old[3], tag) for old in past if old[6] != "none" for tag in old[6].split("; ")]
    found = [tag for at, _, tag in seen if at == problem]
    for _, at, tag in seen:
        if at == pattern != "unknown" and len({one for one, p, t in seen if (p, t) == (pattern, tag)}) >= 2:
            found.append(tag)
    return found


def fold_one(fold: Fold, row: list[str], tested: Tested) -> None:
    """L-13 to L-25, for one row."""
    courses, past, failing, counted = fold.courses, fold.past, fold.failing, fold.counted
    stamp, session = row[0], row[1]
    shown = [] if row[6] == "none" else row[6].split("; ")
    for tag in shown:
        if tag not in courses:
            courses[tag] = Course(stamp, stamp, stamp)
        else:
            course = courses[tag]
            if not (failing[tag] == session and course.clean == 0):
                course.status = "recurring"
            course.tested = course.failed = stamp
            course.streak, course.clean = "", 0
        failing[tag], counted[tag] = session, set()
    for tag in dict.fromkeys(expect(past, row, tested)):
        if tag in shown or tag not in courses:
            continue
        course = courses[tag]
        course.tested = stamp
        if failing[tag] == session or session in counted[tag]:
            continue
        counted[tag].add(session)
        course.clean += 1
        if course.clean == 1:
            course.streak = stamp
        go_on_clean(course, [*past, row], tag)
    past.append(row)


def go_on_clean(course: Course, rows: list[list[str]], tag: str) -> None:
    """L-16: the status after a clean session that is counted already."""
    if course.status == "resolved (short-term)":
        if four_weeks(course, rows, tag):
            course.status = "resolved (long-term)"
    elif course.status != "resolved (long-term)":
        if course.clean >= 3:
            course.status = "resolved (short-term)"
        elif course.clean == 2 and course.status == "recurring":
            course.status = "improving"


@dataclass
class Arrivals:
    """Sessions as they arrive, which need not be in the order of their stamps, and what others changed in between.

    An entry that nobody changed has what follows from the ledger. If only its status was changed, the counts are the
    ledger's, and the status goes on from what was written (L-31). If more was changed, each session is one step from what
    was written, but a failure that the entry misses is the ledger's (L-25). The lists follow from the order of arrival.
    """

    w: World = field(default_factory=World)
    fold: Fold = field(default_factory=Fold)

    def add(self, row: list[str], tested: Tested) -> None:
        """One row arrives."""
        before = {tag: replace(course) for tag, course in self.fold.courses.items()}
        self._fold(row, tested)
        shown = [] if row[6] == "none" else row[6].split("; ")
        prior = {tag: course.status for tag, course in self.w.courses.items()}
        touched = []
        for tag, course in self.fold.courses.items():
            if tag not in (*self.w.active, *self.w.resolved):
                self.w.courses[tag] = replace(course)
                is_new = tag not in before
                if tag in shown or (tag in self.w.line and before[tag] != course):
                    touched += (
                        [tag]
                        if is_new or course.status != "resolved (long-term)" or tag in self.w.line
                        else []
                    )
            elif before[tag] != course or tag in shown:
                self.w.courses[tag] = self._go_on(self.w.courses[tag], before[tag], course, row, tag)
                touched.append(tag)
        order = {tag: at for at, tag in enumerate(shown)}
        touched.sort(key=lambda tag: order.get(tag, len(order)))
        place(self.w, touched, self.fold.past, prior)

    def add_judged(self, row: list[str], clean: list[str], tested: Tested) -> None:
        """A row of the skill, which wrote the weaknesses itself: those it showed, and those it tested without a fault."""
        self._fold(row, tested)
        there = [*self.w.active, *self.w.resolved]
        for tag, course in self.fold.courses.items():
            if tag not in there:
                self.w.courses[tag] = replace(course)
        for tag in [] if row[6] == "none" else row[6].split("; "):
            if tag in there:
                self.w.courses[tag] = fail(self.w.courses[tag], row[0])
            elif tag not in self.w.removed and tag not in self.w.line and len(self.w.active) < 20:
                self.w.courses[tag] = Course(row[0], row[0], row[0])
                self.w.out.discard(tag)
                self.w.active.append(tag)
        for tag in clean:
            course = self.w.courses[tag]
            self.w.courses[tag] = replace(
                course, tested=row[0], clean=course.clean + 1, streak=course.streak or row[0]
            )
            if not course.status.startswith("resolved"):
                go_on_clean(self.w.courses[tag], self.fold.past, tag)
        waits = [tag for tag in self.w.line if self.w.courses[tag].status == "resolved (long-term)"]
        place(self.w, waits, self.fold.past, {})

    def _fold(self, row: list[str], tested: Tested) -> None:
        if self.fold.past and row[0] < self.fold.past[-1][0]:
            rows = sorted([*self.fold.past, row], key=lambda one: one[0])
            self.fold = Fold()
            for one in rows:
                fold_one(self.fold, one, tested)
        else:
            fold_one(self.fold, row, tested)

    def _go_on(self, entry: Course, was: Course, now: Course, row: list[str], tag: str) -> Course:
        first = min(entry.first, now.first)
        if entry.counts() == was.counts() and entry.status == was.status:
            return replace(now, first=first)
        if entry.counts() == now.counts():
            return replace(entry, first=first)
        if entry.counts() == was.counts():
            mine = replace(now, first=first, status=entry.status)
            if now.clean == 0:
                mine.status = "recurring"
            else:
                go_on_clean(mine, self.fold.past, tag)
            return mine
        if was == now:
            return entry
        if tag in row[6].split("; ") and row[0] > entry.tested:
            return fail(entry, row[0])
        if entry.failed < now.failed <= max(entry.tested, row[0]):
            return replace(now, first=first)
        if row[0] <= entry.tested:
            return entry
        mine = replace(entry, tested=row[0], clean=entry.clean + 1, streak=entry.streak or row[0])
        go_on_clean(mine, self.fold.past, tag)
        return mine

    def remove(self, tag: str) -> None:
        """A person removes an entry (L-30)."""
        self.w.removed.add(tag)
        for each in (self.w.active, self.w.resolved):
            if tag in each:
                each.remove(tag)


def fail(course: Course, stamp: str) -> Course:
    """One step: the gap was observed again."""
    return replace(course, tested=stamp, failed=stamp, streak="", clean=0, status="recurring")


def world(text: str, tested: Tested | None = None) -> World:
    """The rows of a ledger as if they had arrived in the order of their stamps."""
    arrivals = Arrivals()
    for row in table(text):
        arrivals.add(row, tested or {})
    return arrivals.w


def place(w: World, touched: list[str], rows: list[list[str]], prior: dict[str, str]) -> None:
    """L-26 to L-29. `prior`: the statuses before."""
    for tag in touched:
        if tag in w.removed:
            continue
        gone = w.courses[tag].status == "resolved (long-term)"
        if gone and tag not in w.resolved and tag not in w.out:
            for each in (w.active, w.line):
                if tag in each:
                    each.remove(tag)
            w.resolved.append(tag)
        if not gone and tag not in w.active and tag not in w.line:
            if tag in w.resolved:
                if w.courses[tag].clean and prior[tag] != "resolved (long-term)":
                    continue  # a person archived it
                w.resolved.remove(tag)
                w.courses[tag] = replace(w.courses[tag])
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
    profile: str, ledger: str, tested: Tested | None = None, said: World | None = None
) -> list[str]:
    """The differences between a profile and the ledger. Empty: none. `said`: the world, if it was computed already."""
    wrong: list[str] = []
    head, _, history = profile.partition("## Session History")
    open_part, _, closed_part = head.partition("## Known Weaknesses")[2].partition("### Resolved")
    said = world(ledger, tested) if said is None else said
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
    rows = table(ledger)
    sessions = [m.groupdict() for m in SESSION.finditer(history)]
    if history.count("\n### ") != len(sessions) or len(sessions) > 20:
        wrong.append(f"history: {history.count('### ')} headers, {len(sessions)} entries")
    known = {(r[0], r[2], *r[4:]) for r in rows}
    for one in sessions:
        if tuple(one.values()) not in known:
            wrong.append(f"history: {one} is in no row")
    # The skill writes a late session first as well, so only the set is compared here.
    if sorted(s["stamp"] for s in sessions) != sorted(r[0] for r in rows)[-20:]:
        wrong.append("history: not the newest twenty")
    return wrong
