"""A learner's two files in a temporary directory, and helpers that record problems, edit and read the files.

desk = Desk(tmp_path)
desk.record("two-sum", gaps="edge:empty_input")      # a day later each time
desk.entry("edge:empty_input").status == "new"
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tacitd.files.disk import Disk
from tacitd.testing import FakeClock, FaultyDisk
from tacitd_handlers.learner.learner_paths import resolve_paths
from tacitd_handlers.learner.learner_state import LearnerState
from tacitd_handlers.learner.learner_store import FilesInStep, LearnerStore
from tacitd_handlers.learner.ledger_file import HEADER, LedgerRow, format_row, parse_ledger
from tacitd_handlers.learner.practice_record import RecordedProblem, join_label, record_problem
from tacitd_handlers.learner.practice_report import parse_report
from tacitd_handlers.learner.profile_text import ABOUT, LearnerProfile, PlacedEntry, parse_profile
from tacitd_handlers.learner.review_dates import ReviewPlan
from tacitd_handlers.learner.session_stamps import SessionStamp
from tacitd_handlers.learner.weakness_text import WeaknessEntry

START = datetime(2026, 2, 19, 14, 30)
VERDICT = {"recall": "pass", "learning": "solved_independently"}


def stamp(days: float = 0, minutes: int = 0) -> str:
    """A stamp at the given time after 2026-02-19T14:30."""
    return (START + timedelta(days=days, minutes=minutes)).strftime("%Y-%m-%dT%H:%M")


def read_about(profile: LearnerProfile) -> str:
    """The text of all sections About Me, headings included."""
    spans = [span for title, span in profile.sections if title == ABOUT]
    return "".join("".join(profile.lines[span.start : span.end]) for span in spans)


def row(days: float, gaps: str = "none", problem: str = "two-sum", **more: str) -> LedgerRow:
    """A ledger row; fields that a test does not name have defaults."""
    given = {
        "session": f"s{days}",
        "pattern": "hash_map",
        "mode": "recall",
        "verdict": "pass",
        "review": "2026-12-24",
    }
    return LedgerRow(**{**given, **more, "stamp": stamp(days), "problem": problem, "gaps": gaps})


class Desk:
    """The two files, and tacitd's state about them."""

    def __init__(self, tmp: Path) -> None:
        self.home = tmp / "home"
        self.clock = FakeClock(START.timestamp())
        self.where = resolve_paths({"HOME": str(self.home)})
        self.day = 0
        self.where.profile.parent.mkdir(parents=True)

    def store(self, disk: Disk | None = None) -> LearnerStore:
        """Open the files as a new process would."""
        return LearnerStore(self.where, self.clock, settle=0.0, disk=disk or FaultyDisk())

    def record(
        self,
        problem: str = "two-sum",
        *,
        days: float | None = None,
        session: str = "",
        disk: Disk | None = None,
        plan: ReviewPlan | None = None,
        **said: Any,
    ) -> RecordedProblem:
        """Record one problem, in a session of its own on the next day."""
        if days is None:
            self.day += 1
            days = self.day
        mode = str(said.get("mode", "recall"))
        given = {"problem": problem, "pattern": "hash_map", "mode": mode, "verdict": VERDICT[mode], **said}
        store = self.store(disk)
        with store.locked():
            at = SessionStamp(session or f"s{days}", stamp(days))
            return record_problem(store, parse_report(given), at, plan or ReviewPlan())

    def look(self, *, first: bool = False, force: bool = True) -> FilesInStep:
        """Let the daemon check the files."""
        store = self.store()
        with store.locked():
            return store.sync_files(force=force, first=first)

    def join(self, label: str, tag: str) -> None:
        """Say that the entry with this label is a gap's."""
        store = self.store()
        with store.locked():
            join_label(store, label, tag)

    @property
    def state(self) -> LearnerState:
        return self.store().load_state()

    @property
    def ledger(self) -> str:
        return self.where.ledger.read_text() if self.where.ledger.exists() else ""

    @property
    def rows(self) -> list[LedgerRow]:
        return parse_ledger(self.ledger.encode()).rows

    @property
    def text(self) -> str:
        return self.where.profile.read_text()

    @property
    def profile(self) -> LearnerProfile:
        return parse_profile(self.where.profile.read_bytes())

    def placed(self, label: str) -> PlacedEntry | None:
        return next((one for one in self.profile.weaknesses if one.entry.label == label), None)

    def entry(self, label: str) -> WeaknessEntry:
        found = self.placed(label)
        assert found is not None, f"{label} is not in the profile"
        return found.entry

    def edit(self, old: str, new: str) -> None:
        """Edit the profile as a person or Claude would."""
        text = self.text
        assert old in text, f"{old!r} does not stand there"
        self.where.profile.write_text(text.replace(old, new, 1))

    def take_out(self, label: str) -> None:
        """Remove a weakness as a person would."""
        placed = self.placed(label)
        assert placed is not None
        lines = self.profile.lines
        self.where.profile.write_text("".join(lines[: placed.span.start] + lines[placed.span.end :]))

    def write_rows(self, *rows: LedgerRow) -> None:
        """Write the ledger as another program would."""
        head = "" if self.ledger else HEADER.decode()
        with self.where.ledger.open("a") as file:
            file.write(head + "".join(format_row(one) + "\n" for one in rows))
