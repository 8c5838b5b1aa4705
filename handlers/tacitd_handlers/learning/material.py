"""What one synthesis is made of: the facts that wait, claimed so that nobody else appends to them meanwhile.

Here belongs telling what waits from what a transaction has already made lines of; a crash may come between any two
steps, and afterwards the history knows best. Asking the model and writing lines are synthesize.py's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tacitd.events import Project
from tacitd.files.transaction import History
from tacitd_handlers.learning.raw import RawLine, parse
from tacitd_handlers.learning.state import State
from tacitd_handlers.learning.store import Files, append_raw, claim, facts_in

CALL_LIMIT = 48_000
"""Bytes of facts that go into one call."""


@dataclass(frozen=True, slots=True)
class Material:
    """Facts that wait, and what became of those that wait no longer."""

    id: str
    lines: tuple[RawLine, ...]
    claimed: tuple[Path, ...]
    bad: tuple[bytes, ...] = ()
    """Lines in the claimed files that are no facts."""
    settled: tuple[str, ...] = ()
    """Batches of which lines were made before a crash."""
    settled_lines: int = 0
    """How many."""

    @property
    def facts(self) -> tuple[str, ...]:
        """All facts, in order."""
        return tuple(fact for line in self.lines for fact in line.facts)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that were worked in, as the lines say; not checked."""
        return tuple(dict.fromkeys(folder for line in self.lines for folder in line.folders))[:30]

    @property
    def batches(self) -> list[str]:
        """Ids of the batches that are ours."""
        return [line.batch for line in self.lines if line.batch]


@dataclass(slots=True)
class _Written:
    """What transactions of this project made lines of."""

    batches: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    lines: dict[str, int] = field(default_factory=dict)
    """By the first batch or file of its transaction."""


def take(project: Project, files: Files, state: State, history: History, now: float) -> Material:
    """Claim what waits in the project and return it. Raises OSError and FileRefusedError."""
    written = _written(history, project)
    waiting = state.waiting.get(project.root, {})
    settled = [id for id in waiting if id in written.batches]
    append_raw(files, [made for id, made in waiting.items() if id not in written.batches])
    claim(files, now)
    claimed = tuple(files.claimed())
    lines: dict[str, RawLine] = {}
    bad: list[bytes] = []
    for path in claimed:
        if path.name in written.files:
            continue
        raw = parse(facts_in(path))
        bad += raw.bad
        done = written.batches | state.synthesised
        for at, line in enumerate(raw.lines):
            if line.batch not in done:
                lines.setdefault(line.batch or f"{path.name}:{at}", line)
    known = {*settled, *(path.name for path in claimed)}
    count = sum(number for name, number in written.lines.items() if name in known)
    return Material(
        _id(claimed, lines.values()), tuple(lines.values()), claimed, tuple(bad), tuple(settled), count
    )


def portions(facts: Sequence[str], limit: int = CALL_LIMIT) -> Iterator[list[str]]:
    """Given facts, yield them in order in portions of at most `limit` bytes: each is one call."""
    portion: list[str] = []
    size = 0
    for fact in facts:
        more = len(fact.encode(errors="replace"))
        if portion and size + more > limit:
            yield portion
            portion, size = [], 0
        portion.append(fact)
        size += more
    if portion:
        yield portion


def done_batches(history: History, root: Path) -> set[str]:
    """Batches whose lines a transaction wrote, whether the handler's own record lived to see it or not."""
    return _written(history, Project(root, False)).batches


def _written(history: History, project: Project) -> _Written:
    found = _Written()
    for entry in history.entries(project.root):
        if entry.state != "done":
            continue
        batches = [str(id) for id in entry.cause.get("batches", ())]
        names = [str(name) for name in entry.cause.get("files", ())]
        found.batches.update(batches)
        found.files.update(names)
        for first in (*batches, *names)[:1]:
            found.lines[first] = sum(effect.did in ("put", "swapped") for effect in entry.effects)
    return found


def _id(claimed: Sequence[Path], lines: Iterable[RawLine]) -> str:
    """The same files with the same lines are the same work: a retry, or the same work after a crash."""
    digest = hashlib.sha256()
    for path in claimed:
        digest.update(path.name.encode(errors="replace") + b"\0")
    for line in lines:
        digest.update(f"{line.ts}\0{line.batch}\0{line.facts}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]
