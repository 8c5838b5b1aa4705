"""What was learned in a project, from its files and the history: no daemon, no model, nothing written."""

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
from tacitd_handlers.learning.confidence import LineConfidence, current_confidence, record_sighting
from tacitd_handlers.learning.context import root_of
from tacitd_handlers.learning.refusals import read_refusals
from tacitd_handlers.learning.safe_read import read_plain_bytes
from tacitd_handlers.learning.state import LearningState

LIMIT = 16 << 20


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """One line that tacitd wrote and that still stands."""

    file: str
    heading: str
    line: str
    at: str
    """When: UTC, `2025-12-17T01:50:00Z`."""
    sessions: tuple[str, ...]
    prompts: tuple[str, ...]
    strength: LineConfidence
    confidence: float
    """As of now: 0 to 1."""
    projects: int
    """In how many projects it was learned (SPEC S-55)."""

    def as_data(self) -> dict[str, Any]:
        """JSON. `firstSeen` and its like are SPEC S-54's names."""
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
            "projects": self.projects,
        }


def list_learned(directory: Path, state_dir: Path) -> list[LearnedLine]:
    """Given a directory in the project, return its learned lines, in the files' order."""
    root, now = root_of(directory), SystemClock().now()
    history = History(Log(state_dir / "history.jsonl"), SystemClock())
    state, ours = state_of(state_dir), history.list_lines(root)
    standings = state.line_confidences.get(root, {})
    found: list[LearnedLine] = []
    for path in dict.fromkeys(path for path, _ in ours):
        for heading, line in _lines(path):
            past = ours.get((path, line))
            if past is None or past.put_at is None or past.taken_at is not None:
                continue
            file = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
            standing = standings.get(line) or record_sighting(None, past.put_at)
            where = (tuple(past.cause.get("sessions", ())), tuple(past.cause.get("prompts", ())))
            at, projects = utc_seconds(past.put_at), max(1, state.count_projects(line))
            found.append(
                LearnedLine(
                    file, heading, line, at, *where, standing, current_confidence(standing, now), projects
                )
            )
    return found


def list_withheld(directory: Path, state_dir: Path) -> dict[str, str]:
    """Given a directory in the project, return the lines that a person removed and that were said again, with the file
    that they are meant for."""
    return dict(state_of(state_dir).withheld.get(root_of(directory), {}))


def list_refusals(directory: Path, state_dir: Path) -> list[dict[str, Any]]:
    """Given a directory in the project, return what of the model's proposals was not stored in the last 90 days.

    Raises OSError.
    """
    home = state_dir / "handlers" / "learning"
    return read_refusals(home, SystemClock().now(), root_of(directory))


def state_of(state_dir: Path) -> LearningState:
    """What the learning handler has committed so far."""
    state = LearningState()
    for commit in _commits(Log(state_dir / "handlers" / "learning" / "log.jsonl")):
        with suppress(KeyError, TypeError, ValueError):  # a newer version's: not ours to judge
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
