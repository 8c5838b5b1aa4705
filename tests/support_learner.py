"""A learner's two files with the real engine and a fake clock: problems are recorded, people and the skill edit, processes end.

with Desk(tmp_path) as desk:
    desk.record("two-sum", gaps="edge:empty_input")      # a day later each time
    assert desk.entry("edge:empty_input").status == "new"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from support_plugins import PluginHome, save
from tacitd.contract import Done
from tacitd.testing import FakeClock
from tacitd_handlers.learner import make_plugin
from tacitd_handlers.learner.entry_texts import HistoryEntry, WeaknessEntry
from tacitd_handlers.learner.learner_state import LearnerState, read_state, resolve_paths
from tacitd_handlers.learner.ledger_file import HEADER, LedgerRow, format_row, parse_ledger
from tacitd_handlers.learner.profile_text import (
    ABOUT,
    PROFILE_FORMAT,
    list_entries,
    list_sessions,
    parse_profile,
)

START = datetime(2026, 2, 19, 14, 30)
VERDICT = {"recall": "pass", "learning": "solved_independently"}
MINUTE = 60.0


def stamp(days: float = 0, minutes: int = 0) -> str:
    """A stamp at the given time after 2026-02-19T14:30."""
    return (START + timedelta(days=days, minutes=minutes)).strftime("%Y-%m-%dT%H:%M")


def read_about(data: bytes) -> str:
    """The text of all sections About Me, headings included."""
    return "".join(block.text for block in parse_profile(data) if block.section == ABOUT)


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


class Desk(PluginHome):
    """The two files, and tacitd that runs."""

    def __init__(self, tmp: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(tmp, make_plugin(), FakeClock(START.timestamp()), settings=settings)
        self.where = resolve_paths({"HOME": str(self.home)})
        self.day = self._serial = 0
        self.where.profile.parent.mkdir(parents=True, exist_ok=True)

    # --- what happens

    def do(self, do: str, name: str = "", tag: str = "", **more: Any) -> Done:
        """A command of the person or of the skill. Raises what it is refused with."""
        self._serial += 1
        return self.bench.run_command(f"command {self._serial}", {"do": do, "name": name, "tag": tag, **more})

    def report(
        self, problem: str = "two-sum", *, days: float | None = None, session: str = "", **said: Any
    ) -> dict[str, Any]:
        """What `record` is given: a problem in a session of its own, on the next day."""
        if days is None:
            self.day += 1
            days = self.day
        mode = str(said.get("mode", "recall"))
        given = {"problem": problem, "pattern": "hash_map", "mode": mode, "verdict": VERDICT[mode]}
        return {**given, "session": session or f"s{days}", "timestamp": stamp(days), **said}

    def record(self, problem: str = "two-sum", **said: Any) -> Done:
        """Record one problem as `tacitd learner record` does; the result says what changed in the profile."""
        report = self.report(problem, **said)
        (made,) = self.do("record", report=report).notices
        done = self.do("follow", made.item)
        return Done(notices=[made, *done.notices])

    def look(self) -> list[LedgerRow]:
        """Let the daemon compare the files, as often as it takes; return the rows that it appended."""
        before = len(self.rows)
        for _ in range(4):
            self.bench.settle(MINUTE)
        return self.rows[before:]

    def crash_at(self, number: int, happens: Callable[[], object]) -> bool:
        """End as `kill -9` would at the n-th durable step, if it comes to that, and start again. Returns whether it came to that."""
        steps = count(1)
        return self.crash(happens, lambda reached: next(steps) == number)

    def edit(self, old: str, new: str) -> None:
        """Edit the profile as a person or Claude would."""
        assert old in self.text, f"{old!r} is not there"
        self.put(self.text.replace(old, new, 1))

    def put(self, text: str | bytes, path: Path | None = None) -> None:
        """Save the profile, or another file, as an editor does that replaces it."""
        save(path or self.where.profile, text)

    def take_out(self, label: str) -> None:
        """Remove a weakness as a person would."""
        self.put(self.text.replace(self.entry(label).text + "\n", "", 1))

    def write_rows(self, *rows: LedgerRow) -> None:
        """Write the ledger as another program would."""
        head = "" if self.ledger else HEADER.decode()
        with self.where.ledger.open("a") as file:
            file.write(head + "".join(format_row(one) + "\n" for one in rows))

    # --- what came of it

    @property
    def state(self) -> LearnerState:
        return read_state(self.bench.rows)

    @property
    def notices(self) -> list[str]:
        """What the next session's start prints."""
        return [text for (text,) in self.bench.rows("SELECT text FROM learner_notice ORDER BY rowid")]

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
    def weaknesses(self) -> list[WeaknessEntry]:
        """The entries of Known Weaknesses, in the order of the file."""
        return list_entries(PROFILE_FORMAT.read_leaves(self.where.profile.read_bytes()))

    @property
    def sessions(self) -> list[HistoryEntry]:
        """The entries of Session History, in the order of the file."""
        return list_sessions(PROFILE_FORMAT.read_leaves(self.where.profile.read_bytes()))

    @property
    def problems(self) -> list[str]:
        """The problems of Session History, as they are in the file."""
        return [one.problem for one in self.sessions]

    @property
    def labels(self) -> list[str]:
        """The labels of Known Weaknesses, as they are in the file."""
        return [one.label for one in self.weaknesses]

    def find(self, label: str) -> WeaknessEntry | None:
        return next((one for one in self.weaknesses if one.label == label), None)

    def entry(self, label: str) -> WeaknessEntry:
        found = self.find(label)
        assert found is not None, f"{label} is not in the profile"
        return found
