"""Simulated learners, with crashes between the writes and everybody else who writes the files.

The full run is 30 learners by 110 sessions, about 4,000 records (`TACITD_SIMULATION=30x110 pytest …`); CI runs nine by 30.
The expected profile is computed independently, from the ledger and the edits alone, in `support_learner_oracle.py`.
"""

from __future__ import annotations

import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support_learner import Desk
from support_learner_oracle import Arrivals, Tested, disagreements, place, table
from support_learner_skill import TeachingSkill, find_weakness
from tacitd.errors import ParkedError
from tacitd_handlers.learner.ledger_file import STATUSES, VERDICTS

LEARNERS, SESSIONS = map(int, os.environ.get("TACITD_SIMULATION", "9x30").split("x"))
CRASHES = 0.06
"""The fraction of records at which the process ends, at one of the durable steps."""
PATTERNS = ("hash_map", "two_pointers", "sliding_window", "dp", "graphs", "heap", "unknown")
TAGS = tuple(
    f"{kind}:{name}" for kind in ("edge", "pattern", "syntax", "complexity") for name in "abcdefghij"
)
Report = dict[str, Any]
KINDS = ("plain", "tested", "late", "minutes", "status", "removals", "stamps", "skill", "all")
"""What happens besides sessions in order: reported tags, late sessions, shared minutes, edits of a status, removed
entries, stamps that the skill wrote for another session, sessions that the skill wrote itself."""


@dataclass
class Learner:
    """A simulated person who practises, forgets, improves and edits."""

    desk: Desk
    dice: random.Random
    kind: str
    now: datetime = datetime(2025, 1, 6, 18, 0)
    faults: dict[str, float] = field(default_factory=dict)
    count: Counter[str] = field(default_factory=Counter)
    tested: Tested = field(default_factory=dict)
    arrivals: Arrivals = field(default_factory=Arrivals)

    def is_kind(self, *kinds: str) -> bool:
        return self.kind == "all" or self.kind in kinds

    @property
    def profile(self) -> Path:
        return self.desk.where.profile

    @property
    def ledger(self) -> Path:
        return self.desk.where.ledger

    def sessions(self) -> Iterator[tuple[str, str, list[Report]]]:
        """The sessions in the order in which they end; some began before one that ended earlier."""
        late: list[tuple[str, str, list[Report]]] = []
        for number in range(SESSIONS):
            if not (self.is_kind("minutes") and self.dice.random() < 0.15):
                self.now += timedelta(minutes=self.dice.choice((90, 1440, 2880, 4320, 7200, 20160)))
            stamp = self.now.strftime("%Y-%m-%dT%H:%M")
            problems = self.dice.sample(range(30), 2 if self.dice.random() < 0.25 else 1)
            session = f"session-{number}", stamp, [self.report(f"problem-{n}") for n in problems]
            if self.is_kind("late") and self.dice.random() < 0.1:
                late.append(session)
                continue
            yield session
            if late and self.dice.random() < 0.4:
                yield late.pop(0)
        yield from late

    def report(self, problem: str) -> Report:
        place = int(problem.split("-")[1]) % len(PATTERNS)
        near = [tag for at, tag in enumerate(TAGS) if at % len(PATTERNS) == place]
        gaps = []
        for tag in near:
            if self.dice.random() < self.faults.setdefault(tag, self.dice.choice((0.5, 0.2, 0.05))):
                gaps.append(tag)
                self.faults[tag] *= 0.93
        tested = None
        if self.is_kind("tested") and self.dice.random() < 0.5:
            tested = self.dice.sample(TAGS, 6)
        mode = self.dice.choice(("learning", "recall"))
        verdict = self.dice.choice(VERDICTS[mode])
        said = {"problem": problem, "mode": mode, "verdict": verdict, "pattern": PATTERNS[place]}
        return said | {"gaps": gaps, "tested": tested}

    def practise(self) -> None:
        for session, stamp, reports in self.sessions():
            for report in reports:
                before = self.ledger.read_bytes() if self.ledger.exists() else b""
                self.edit()
                if self.is_kind("skill") and self.dice.random() < 0.15 and self.profile.exists():
                    self.let_skill_write(session, stamp, report)
                else:
                    self.record(session, stamp, report)
                assert self.ledger.read_bytes().startswith(before), "L-04: the ledger only grows"
                self.count["records"] += 1
            self.compare()
        self.look()
        self.compare()

    def record(self, session: str, stamp: str, report: Report) -> None:
        given = report | {"session": session, "timestamp": stamp}
        if report["tested"] is not None:
            self.tested[(session, stamp, report["problem"], report["mode"])] = report["tested"]

        def call() -> None:
            (made,) = self.desk.do("record", report=given).notices
            try:
                self.desk.do("follow", made.item)
            except (
                ParkedError
            ):  # two sessions had one header, and one of them left: a second look decides, two seconds later
                self.look()

        if self.dice.random() < CRASHES and self.desk.crash_at(self.dice.randint(1, 12), call):
            self.count["crashes"] += 1
        call()  # an interrupted caller repeats the call, which counts once
        key = stamp, session, report["problem"], report["mode"]
        rows = [row for row in table(self.ledger.read_text()) if (row[0], row[1], row[2], row[4]) == key]
        assert len(rows) == 1, "L-23"
        self.arrivals.add(rows[0], self.tested)

    def let_skill_write(self, session: str, stamp: str, report: Report) -> None:
        """The skill writes the session itself: row, entry, and the weaknesses that have an entry or find room."""
        self.look()
        w = self.arrivals.w
        skill = TeachingSkill(self.profile, self.ledger)
        there = [*w.active, *w.resolved]
        labels = {tag: tag for tag in report["gaps"] if tag in there}
        room = 20 - len(w.active)
        for tag in report["gaps"]:
            if tag not in there and tag not in w.line and tag not in w.removed and room > 0:
                labels[tag] = tag
                room -= 1
        older = [tag for tag in there if tag not in report["gaps"] and w.courses[tag].tested < stamp]
        clean = self.dice.sample(older, min(len(older), 2))
        labels = {tag: tag for tag in labels if tag not in there or w.courses[tag].tested < stamp}
        if set(labels) != {
            tag for tag in report["gaps"] if tag not in w.line and tag not in w.removed
        } or not (labels or clean):
            self.record(session, stamp, report)  # it would leave something to judge
            return
        skill.write_session(
            stamp,
            report["problem"],
            gaps={tag: tag for tag in report["gaps"]},
            labels=labels,
            clean=clean,
            pattern=report["pattern"],
            session=session,
        )
        row = next(
            row for row in table(self.ledger.read_text()) if row[:3] == [stamp, session, report["problem"]]
        )
        self.arrivals.add_judged(row, clean, self.tested)
        self.count["judged"] += 1
        self.look()

    def edit(self) -> None:
        """A person or the skill changes something between two sessions."""
        w = self.arrivals.w
        if not self.profile.exists():
            return
        if self.is_kind("status") and self.dice.random() < 0.1 and w.active:
            tag = self.dice.choice(w.active)
            w.courses[tag].status = self.rewrite(tag, status=self.dice.choice(STATUSES))
            self.count["statuses"] += 1
        if self.is_kind("removals") and self.dice.random() < 0.03 and w.active:
            tag = self.dice.choice(w.active)
            found = find_weakness(self.profile.read_text(), tag)
            assert found is not None
            self.desk.put(self.profile.read_text().replace(found[0], "", 1))
            self.arrivals.remove(tag)
            self.count["removals"] += 1
            self.look()
        if self.is_kind("stamps") and self.dice.random() < 0.08 and w.active:
            tag = self.dice.choice(w.active)
            course = w.courses[tag]
            later = [row[0] for row in self.arrivals.fold.past if row[0] > course.tested]
            if later:
                course.tested = self.dice.choice(later)
                course.clean += 1
                course.streak = course.streak or course.tested
                self.rewrite(tag, tested=course.tested, streak=course.streak, clean=str(course.clean))
                self.count["stamps"] += 1
        if self.is_kind("status", "stamps") and (w.line or self.dice.random() < 0.5):
            self.look()

    def rewrite(self, tag: str, **fields: str) -> str:
        """Write fields into an entry; returns its status."""
        text = self.profile.read_text()
        found = find_weakness(text, tag)
        assert found is not None, tag
        entry, given = found[0], {**found.groupdict(), **fields}
        for name, before in (
            ("tested", "Last tested"),
            ("streak", "Last clean streak start"),
            ("clean", "Sessions since last failure"),
        ):
            entry = re.sub(rf"{before}: [^.\n]*", f"{before}: {given[name]}", entry)
        entry = re.sub(r"Status: .*", f"Status: {given['status']}", entry)
        self.desk.put(text.replace(found[0], entry, 1))
        return given["status"]

    def look(self) -> None:
        """Let the daemon compare the files; what waits gets room that there is."""
        self.desk.look()
        place(self.arrivals.w, [], self.arrivals.fold.past, {})
        self.count["looks"] += 1

    def compare(self) -> None:
        wrong = disagreements(self.profile.read_text(), self.ledger.read_text(), self.tested, self.arrivals.w)
        assert not wrong, (self.kind, self.count, wrong)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("share", [0, 1])
def test_L_37_L_25_L_09_learners_with_crashes(tmp_path: Path, share: int) -> None:
    """SPEC L-09, L-21, L-23, L-25 to L-31, L-37 to L-39: after each session the files agree, the caps hold, and every field equals
    the independent computation, whoever else wrote the files.
    """
    count: Counter[str] = Counter()
    for number in range(share, LEARNERS, 2):
        with Desk(tmp_path / str(number)) as desk:
            learner = Learner(desk, random.Random(number), KINDS[number % len(KINDS)])
            learner.practise()
        count += learner.count
        count["learners"] += 1
        count["with somebody waiting or out"] += bool(learner.arrivals.w.line or learner.arrivals.w.out)
    sys.stdout.write(", ".join(f"{number} {name}" for name, number in count.items()) + "\n")
    assert count["crashes"] > count["records"] * CRASHES * 0.3
