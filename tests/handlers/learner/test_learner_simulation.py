"""Simulated learners, with crashes between the writes: the two files agree after every start.

The full run is 200 learners by 300 sessions (`TACITD_SIMULATION=200x300 pytest …`); CI runs 2 by 60, which is 1/500
of it. The expected profile is computed independently, from the ledger alone, in `support_learner_oracle.py`.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support_learner_oracle import disagreements, table
from tacitd.testing import Crash, FakeClock, FaultyDisk
from tacitd_handlers.learner.learner_paths import resolve_paths
from tacitd_handlers.learner.recording import ReviewPlan, record_problem
from tacitd_handlers.learner.report_input import PracticeReport
from tacitd_handlers.learner.rules.session_stamps import SessionStamp
from tacitd_handlers.learner.rules.vocabulary import VERDICTS
from tacitd_handlers.learner.store import LearnerStore

LEARNERS, SESSIONS = map(int, os.environ.get("TACITD_SIMULATION", "2x60").split("x"))
CRASHES = 0.06
"""The fraction of calls that are interrupted."""
PATTERNS = ("hash_map", "two_pointers", "sliding_window", "dp", "graphs", "heap")
TAGS = tuple(
    f"{kind}:{name}" for kind in ("edge", "pattern", "syntax", "complexity") for name in "abcdefghij"
)


@dataclass
class Learner:
    """A simulated person who practises, forgets and improves."""

    home: Path
    dice: random.Random
    says_what_it_tests: bool
    now: datetime = datetime(2025, 1, 6, 18, 0)
    skill: dict[str, float] = field(default_factory=dict)
    starts: int = 0
    records: int = 0
    tested: dict[tuple[str, str, str, str], list[str]] = field(default_factory=dict)

    def store(self, disk: FaultyDisk | None = None) -> LearnerStore:
        return LearnerStore(
            resolve_paths({"HOME": str(self.home)}),
            FakeClock(self.now.timestamp()),
            disk=disk or FaultyDisk(),
        )

    def sessions(self) -> Iterator[tuple[SessionStamp, list[PracticeReport]]]:
        for number in range(SESSIONS):
            self.now += timedelta(minutes=self.dice.choice((90, 1440, 2880, 4320, 7200, 20160)))
            sitting = SessionStamp(f"session-{number}", self.now.strftime("%Y-%m-%dT%H:%M"))
            problems = self.dice.sample(range(40), 2 if self.dice.random() < 0.2 else 1)
            yield sitting, [self.outcome(f"problem-{n}") for n in problems]

    def outcome(self, problem: str) -> PracticeReport:
        pattern = PATTERNS[int(problem.split("-")[1]) % len(PATTERNS)]
        mode = self.dice.choice(("learning", "recall"))
        near = [tag for at, tag in enumerate(TAGS) if at % len(PATTERNS) == PATTERNS.index(pattern)]
        gaps = []
        for tag in near:
            if self.dice.random() < self.skill.setdefault(tag, self.dice.choice((0.5, 0.2, 0.05))):
                gaps.append(tag)
                self.skill[tag] *= 0.93
        tested = None
        if self.says_what_it_tests and self.dice.random() < 0.5:
            tested = tuple(self.dice.sample(TAGS, 6))
        return PracticeReport(problem, mode, self.dice.choice(VERDICTS[mode]), pattern, tuple(gaps), tested)

    def practise(self) -> None:
        for sitting, outcomes in self.sessions():
            for said in outcomes:
                before = self.ledger()
                if said.tested is not None:
                    self.tested[(sitting.session, sitting.stamp, said.problem, said.mode)] = list(said.tested)
                self.once(sitting, said)
                self.records += 1
                assert self.ledger().startswith(before), "L-04: the ledger only grows"
        self.start()

    def once(self, sitting: SessionStamp, said: PracticeReport) -> None:
        if self.dice.random() >= CRASHES:
            self.call(sitting, said, FaultyDisk())
            return
        try:
            self.call(
                sitting, said, FaultyDisk(crash_at=self.dice.randint(1, 24), torn=self.dice.random() < 0.5)
            )
        except Crash:
            self.start()
        self.call(sitting, said, FaultyDisk())  # the interrupted caller repeats the call, which counts once
        keys = [(row[0], row[1], row[2], row[4]) for row in table(self.ledger().decode())]
        assert keys.count((sitting.stamp, sitting.session, said.problem, said.mode)) == 1, "L-23"

    def call(self, sitting: SessionStamp, said: PracticeReport, disk: FaultyDisk) -> None:
        store = self.store(disk)
        with store.locked():
            record_problem(store, said, sitting, ReviewPlan())
        store.close()

    def start(self) -> None:
        """Start the daemon, and check that both files agree."""
        store = self.store()
        with store.locked():
            store.sync_files(first=True)
        store.close()
        self.starts += 1
        profile = self.home / ".claude" / "leetcode-teacher-profile.md"
        if self.ledger() or profile.exists():
            wrong = disagreements(profile.read_text(), self.ledger().decode(), self.tested)
            assert not wrong, wrong

    def ledger(self) -> bytes:
        path = self.home / ".claude" / "leetcode-teacher-ledger.md"
        return path.read_bytes() if path.exists() else b""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("says_what_it_tests", [False, True], ids=["ledger-alone", "with-tested"])
def test_L_37_L_25_L_09_learners_with_crashes(tmp_path: Path, says_what_it_tests: bool) -> None:
    """SPEC L-37, L-38, L-25, L-09, L-27, L-28, L-39: after each start the files agree, the caps hold, no weakness is
    promoted without a proof of 28 days, and every field equals the independent computation.
    """
    starts = records = waited = 0
    for number in range(max(1, LEARNERS // 2)):
        seed = number * 2 + says_what_it_tests
        learner = Learner(tmp_path / str(number), random.Random(seed), says_what_it_tests)
        learner.practise()
        starts, records = starts + learner.starts, records + learner.records
        waited += bool(
            learner.store().load_state().folded.tags.keys() - {*learner.store().load_state().wrote}
        )
    sys.stdout.write(
        f"{LEARNERS // 2} learners, {records} records, {starts} starts, {waited} with somebody waiting or dropped\n"
    )
    assert starts > records * CRASHES * 0.3
