"""What was learned in a project, read from its files and the state directory: no daemon, no model, no writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd.clock import SystemClock, utc_seconds
from tacitd.errors import FileRefusedError
from tacitd.files.log import Log
from tacitd.files.transaction import History
from tacitd.handler import Commit
from tacitd.text.markdown import lines_of
from tacitd_handlers.learning.confidence import (
    LineConfidence,
    current_confidence,
    describe_count,
    record_sighting,
)
from tacitd_handlers.learning.context import root_of
from tacitd_handlers.learning.refusals import read_refusals
from tacitd_handlers.learning.removals import MIRROR_EDIT
from tacitd_handlers.learning.safe_read import read_plain_bytes
from tacitd_handlers.learning.state import LearningState

LIMIT = 16 << 20
"""Bytes that are read of a Markdown file."""


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """One line that tacitd wrote and that is still in its file."""

    file: str
    """Path relative to the project."""
    heading: str
    line: str
    """Text of the bullet without `- `."""
    at: str
    """When it was written: UTC, `2025-12-17T01:50:00Z`."""
    sessions: tuple[str, ...]
    """Ids of the sessions that it came from."""
    prompts: tuple[str, ...]
    """Ids of the prompts that it came from."""
    strength: LineConfidence
    confidence: float
    """The confidence now, 0 to 1."""
    projects: int
    """Number of projects in which it was learned (SPEC S-55)."""

    def describe_count(self) -> str:
        """Return `said 3 times in 2 sessions`; "" for a line that was said once."""
        known = self.strength
        if known.seen_count < 2:
            return ""
        return describe_count(known.seen_count, len(known.sessions), known.corrections)

    def as_data(self) -> dict[str, Any]:
        """Return JSON, with SPEC S-54's names for the confidence's fields. Times are UTC, `2025-12-17T01:50:00Z`."""
        return {
            "file": self.file,
            "heading": self.heading,
            "line": self.line,
            "at": self.at,
            "sessions": list(self.sessions),
            "prompts": list(self.prompts),
            "firstSeen": utc_seconds(self.strength.first_seen),
            "lastSeen": utc_seconds(self.strength.last_seen),
            "confidence": round(self.confidence, 4),
            "seenCount": self.strength.seen_count,
            "corrections": self.strength.corrections,
            "projects": self.projects,
        }


def list_learned(directory: Path, state_dir: Path) -> list[LearnedLine]:
    """Return the learned lines of the project that contains `directory`, in the files' order."""
    root, now = root_of(directory), SystemClock().now()
    history = History(Log(state_dir / "history.jsonl"), SystemClock())
    state, ours = state_of(state_dir), history.list_lines(root)
    confidences = state.line_confidences.get(root, {})
    found: list[LearnedLine] = []
    for path in dict.fromkeys(path for path, _ in ours):
        for heading, line in _lines(path):
            past = ours.get((path, line))
            # The line is not ours, or tacitd took its own back and the user wrote the same one.
            if past is None or past.put_at is None or past.taken_at is not None:
                continue
            if past.cause.get("what") == MIRROR_EDIT:  # the person's, written into a mirror
                continue
            file = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
            strength = confidences.get(line) or record_sighting(None, past.put_at)
            # Transactions of older versions have no origin for each line.
            origin = past.cause.get("lines", {}).get(line, past.cause)
            where = (tuple(origin.get("sessions", ())), tuple(origin.get("prompts", ())))
            at, projects = utc_seconds(past.put_at), max(1, state.count_projects(line))
            found.append(
                LearnedLine(
                    file, heading, line, at, *where, strength, current_confidence(strength, now), projects
                )
            )
    return found


def list_withheld(directory: Path, state_dir: Path) -> dict[str, str]:
    """Return the lines that the user removed and that were learned again, with the file that they were proposed for."""
    return dict(state_of(state_dir).withheld.get(root_of(directory), {}))


def list_refusals(directory: Path, state_dir: Path) -> list[dict[str, Any]]:
    """Return the refusals of the last 90 days for the project that contains `directory`, as `read_refusals` does.

    Raises OSError.
    """
    home = state_dir / "handlers" / "learning"
    return read_refusals(home, SystemClock().now(), root_of(directory))


def state_of(state_dir: Path) -> LearningState:
    """Fold the learning handler's log into a state. Raises OSError."""
    state = LearningState()
    for commit in _commits(Log(state_dir / "handlers" / "learning" / "log.jsonl")):
        with suppress(KeyError, TypeError, ValueError):  # the commit may be a newer version's
            state.fold_commit(commit)
    return state


def _commits(log: Log) -> Iterator[Commit]:
    for record in log.read():
        data = record.get("d")
        if record.get("k") in ("done", "kept") and isinstance(data, dict) and data:
            event, transcript, session = (str(record.get(key, "")) for key in ("ev", "t", "s"))
            at, upto = float(record.get("at", 0.0)), int(record.get("o", -1))
            yield Commit(at, event, transcript, session, upto, data)


def _lines(path: Path) -> list[tuple[str, str]]:
    try:
        return lines_of(read_plain_bytes(path, LIMIT))
    except (OSError, FileRefusedError):
        return []
