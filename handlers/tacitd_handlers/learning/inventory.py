"""What was learned in projects, read from their files and the state directory: no daemon, no model, no writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.clock import Clock, SystemClock, utc_seconds
from tacitd.errors import FileRefusedError
from tacitd.files.git import find_project_root
from tacitd.files.history_fold import FoldedHistory
from tacitd.files.log import Log
from tacitd.files.transaction_records import StoredCause
from tacitd.text.markdown import lines_of
from tacitd.work.commit_rows import read_commits
from tacitd_handlers.learning.confidence import current_confidence, describe_count, is_stale, record_sighting
from tacitd_handlers.learning.folders import LEARNED
from tacitd_handlers.learning.inherited_origins import find_origin, is_by_person, list_facts
from tacitd_handlers.learning.person_decisions import make_line_id
from tacitd_handlers.learning.safe_read import read_plain_bytes
from tacitd_handlers.learning.state_snapshot import fold_commits
from tacitd_handlers.shared.equality import find_equal

if TYPE_CHECKING:
    from tacitd.files.provenance import LineHistory
    from tacitd.files.transaction import History
    from tacitd_handlers.learning.confidence import LineConfidence
    from tacitd_handlers.learning.state import LearningState

LIMIT = 16 << 20
"""Bytes that are read of a Markdown file."""


class LearnedLine(Struct, frozen=True):
    """One line that tacitd wrote and that is still in its file."""

    root: Path
    file: str
    """Path relative to the project."""
    heading: str
    line: str
    """Text of the bullet without `- `."""
    at: str
    """When it was written: UTC, `2025-12-17T01:50:00Z`."""
    restored_at: str
    """When a person's undo brought it back last, in the same form; "" if it was never removed."""
    sessions: tuple[str, ...]
    """Ids of the sessions that it came from."""
    prompts: tuple[str, ...]
    """Ids of the prompts that it came from."""
    facts: tuple[str, ...]
    """The facts that it was made of; () for lines of older versions."""
    strength: LineConfidence
    confidence: float
    """The confidence now, 0 to 1."""
    is_stale: bool
    """Whether it was not said for so long that its confidence is under 0.1 (SPEC S-54)."""

    @property
    def id(self) -> str:
        """Eight hexadecimal digits, derived from the project, the file and the text."""
        return make_line_id(self.root, self.file, self.line)

    def describe_count(self) -> str:
        """Return `said 3 times in 2 sessions`; "" for a line that was said once."""
        known = self.strength
        if known.seen_count < 2:
            return ""
        return describe_count(known.seen_count, len(known.sessions), known.corrections)

    def as_data(self, projects: int) -> dict[str, Any]:
        """Return JSON, with SPEC S-54's names for the confidence's fields. Times are UTC, `2025-12-17T01:50:00Z`.

        `projects`: the number of projects in which it was learned.
        """
        return {
            "id": self.id,
            "root": str(self.root),
            "file": self.file,
            "heading": self.heading,
            "line": self.line,
            "at": self.at,
            "restoredAt": self.restored_at,
            "sessions": list(self.sessions),
            "prompts": list(self.prompts),
            "firstSeen": utc_seconds(self.strength.first_seen),
            "lastSeen": utc_seconds(self.strength.last_seen),
            "confidence": round(self.confidence, 4),
            "seenCount": self.strength.seen_count,
            "corrections": self.strength.corrections,
            "projects": projects,
            "stale": self.is_stale,
        }


class OwnLine(Struct, frozen=True):
    """A bullet that the person wrote into a file in which tacitd has lines too."""

    file: str
    heading: str
    line: str


class Inventory:
    """What the state directory and the projects' files contain. Each log is read once, when it is first needed."""

    def __init__(self, state_dir: Path, clock: Clock | None = None, history: History | None = None) -> None:
        """`history`: one that has read its log already."""
        self.state_dir = state_dir
        self.clock = clock or SystemClock()
        self._given = history

    @cached_property
    def history(self) -> FoldedHistory | History:
        """What was written. Raises OSError."""
        return self._given or FoldedHistory(Log(self.state_dir / "history.jsonl").read())

    @cached_property
    def state(self) -> LearningState:
        """The folded log of the learning handler. Raises OSError."""
        return state_of(self.state_dir)

    @cached_property
    def _projects(self) -> Mapping[str, int]:
        """By `find_normal` of a line, the number of projects in which it was learned."""
        return self.state.count_projects()

    def count_projects(self, line: str) -> int:
        """The number of projects in which a line was learned (SPEC S-55). Raises OSError."""
        return max(1, self._projects[self.state.find_normal(line)])

    def list_roots(self) -> list[Path]:
        """The projects in which something was written, withheld or refused, by path."""
        found = {each.root for each in self.history.list_transactions()}
        found |= {Path(str(one["project"])) for one in self.read_all_refusals()}
        return sorted(found | {root for root, lines in self.state.withheld.items() if lines})

    def list_lines(self, root: Path) -> list[LearnedLine]:
        """The learned lines of a project, in the files' order."""
        found: list[LearnedLine] = []
        origin: Mapping[str, Any] = {}
        cause = origin
        for file, heading, line, past in self._list_bullets(root):
            if past is not None and _is_ours(past):
                # Decoded once for all lines of a transaction, which are mostly one after the other.
                if past.origin is not origin:
                    origin = past.origin
                    cause = origin.decode() if isinstance(origin, StoredCause) else origin
                found.append(self._describe(root, file, heading, line, past, cause))
        return found

    def list_own_lines(self, root: Path) -> list[OwnLine]:
        """The person's bullets in LEARNED.md and in the other files that have lines of tacitd's."""
        bullets = self._list_bullets(root)
        return [
            OwnLine(file, heading, line)
            for file, heading, line, past in bullets
            if past is None or not _is_ours(past)
        ]

    def list_withheld(self, root: Path) -> dict[str, str]:
        """The lines that the user removed and that were learned again, with the file that they were proposed for.

        One that is in the file again, which the handler has not seen yet, is left out.
        """
        present = [line for _, _, line, _ in self._list_bullets(root)]
        withheld = self.state.withheld.get(root, {})
        return {line: file for line, file in withheld.items() if find_equal(line, present) is None}

    def list_refusals(self, root: Path) -> list[dict[str, Any]]:
        """The refusals of the last 90 days for a project, as `read_refusals` does. Raises OSError."""
        return [one for one in self.read_all_refusals() if one["project"] == str(root)]

    def read_all_refusals(self) -> list[dict[str, Any]]:
        """The refusals of the last 90 days. Raises OSError."""
        from tacitd_handlers.learning.refusals import read_refusals

        home = self.state_dir / "handlers" / "learning"
        return [one for one in read_refusals(home, self.clock.now()) if "project" in one]

    def _list_bullets(self, root: Path) -> Iterator[tuple[str, str, str, LineHistory | None]]:
        """File, heading, text and history of each bullet of LEARNED.md and of the files that tacitd wrote into."""
        written = self.history.list_lines(root)
        for path in dict.fromkeys([root / LEARNED, *(path for path, _ in written)]):
            file = _relative(path, root)
            for heading, line in _read_lines(path):
                yield file, heading, line, written.get((path, line))

    def _describe(
        self, root: Path, file: str, heading: str, line: str, past: LineHistory, cause: Mapping[str, Any]
    ) -> LearnedLine:
        now, put_at = self.clock.now(), past.first_at or 0.0
        restored_at = utc_seconds(past.put_at or 0.0) if past.is_restored else ""
        strength = self.state.get_confidences(root).get(line) or record_sighting(None, put_at)
        origin = find_origin(cause, line)
        sessions, prompts = (tuple(map(str, origin.get(key, ()))) for key in ("sessions", "prompts"))
        return LearnedLine(
            root,
            file,
            heading,
            line,
            utc_seconds(put_at),
            restored_at,
            sessions,
            prompts,
            list_facts(cause, line),
            strength,
            current_confidence(strength, now),
            is_stale(strength, now),
        )


def list_learned(directory: Path, state_dir: Path) -> list[LearnedLine]:
    """Return the learned lines of the project that contains `directory`, in the files' order."""
    return Inventory(state_dir).list_lines(find_project_root(directory))


def list_withheld(directory: Path, state_dir: Path) -> dict[str, str]:
    """Return the lines that the user removed and that were learned again, with the file that they were proposed for."""
    return Inventory(state_dir).list_withheld(find_project_root(directory))


def state_of(state_dir: Path) -> LearningState:
    """Fold the learning handler's log into a state. Raises OSError, LogDamagedError."""
    return fold_commits(read_commits(state_dir / "handlers" / "learning"))


def _is_ours(past: LineHistory) -> bool:
    """Whether a bullet with this history is tacitd's.

    Otherwise it is not ours, or tacitd took its own back and the user wrote the same one, or the person worded it.
    """
    return past.put_at is not None and past.taken_at is None and not is_by_person(past.origin)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _read_lines(path: Path) -> list[tuple[str, str]]:
    try:
        return lines_of(read_plain_bytes(path, LIMIT))
    except (OSError, FileRefusedError):
        return []
