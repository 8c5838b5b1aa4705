"""What the learning handler remembers: folded from its commits, so a restart knows it again. No disk, no model.

Data of its commits, by their `kind`:

    batch      one call of the fast tier: id, project, prompts (ids), new facts, folders, asked; `again`: lines of
               LEARNED.md that a fact repeated; `refused`: how many texts of the answer were not stored
    skipped    prompts that were looked at and not put to the model, and why
    (batch and synthesis: `left_out`, how many facts were kept nowhere, by reason)
    synthesis  batches that became lines: batches, lines (how many), put, swapped (new to old), again, withheld, look,
               files (line to file), usd (all calls that led there), from (prompts);
               `no_line`: why no line was made; `read`: claimed files that grew meanwhile, and up to which byte they are done with
    aside      facts that no answer could make lines of: files (in `tmp/`), reason, batches;
               `unfiled`: those of the batches whose own file could not be read, or has other facts too
    tombstone  lines of ours that a person removed, lines whose tombstone is lifted, and the commit seen
    summary    the known-facts summary was made because somebody asked
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacitd.clock import local_date
from tacitd.handler import Commit
from tacitd_handlers.learning.confidence import LineConfidence
from tacitd_handlers.learning.confidence import record_sighting as seen_again
from tacitd_handlers.shared.equality import find_equal, normalise_text

COUNTED_FIELDS = ("seen", "asked", "facts", "lines")
SECRET_FACT, TOO_MANY_FACTS = "looks like a secret", "more than 20 facts in one answer"
"""Why facts are left out. How many is counted, what they said is kept nowhere."""
WRITING_KINDS = ("batch", "synthesis", "summary")
"""Kinds of commits that come with a file in the project."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """Facts of one call that are not in any LEARNED.md yet."""

    id: str
    at: float
    root: Path
    session: str
    prompts: tuple[str, ...]
    facts: tuple[str, ...]
    folders: tuple[str, ...]
    words: tuple[str, ...] = ()
    """The beginnings of the prompts, secrets blanked."""
    usd: float = 0.0
    """What the call cost."""


@dataclass(frozen=True, slots=True)
class LineSnapshot:
    """Which lines of ours stood in a file when it was looked at last."""

    lines: tuple[str, ...]
    at: float
    """Seconds since 1970, UTC; 0: never."""


@dataclass(frozen=True, slots=True)
class SetAsideFacts:
    """Facts that no answer could make lines of. They lie in the project's `tmp/`."""

    root: Path
    names: tuple[str, ...]
    reason: str


@dataclass(slots=True)
class LearningState:
    """Folded commits. The owner guards it with a lock."""

    waiting: dict[Path, dict[str, Extracted]] = field(default_factory=dict)
    synthesised: set[str] = field(default_factory=set)
    synthesised_upto: dict[Path, dict[str, int]] = field(default_factory=dict)
    """Project, then claimed file that had grown meanwhile, then up to which byte it was made lines of."""
    tombstones: dict[Path, dict[str, set[str]]] = field(default_factory=dict)
    """Project, then file (relative), then the lines that a person removed."""
    withheld: dict[Path, dict[str, str]] = field(default_factory=dict)
    """Lines that were learned again after a person removed them, with their file: offered, not written."""
    heads: dict[Path, str] = field(default_factory=dict)
    """Project, then HEAD's commit at the last look."""
    snapshots: dict[Path, dict[str, LineSnapshot]] = field(default_factory=dict)
    """Project, then file, then what was seen of our lines."""
    line_confidences: dict[Path, dict[str, LineConfidence]] = field(default_factory=dict)
    """Project, then line: how much it still counts (SPEC S-54)."""
    first_written_at: dict[Path, float] = field(default_factory=dict)
    """When something was written in each project for the first time: seconds since 1970, UTC."""
    judged: dict[Path, dict[str, Extracted]] = field(default_factory=dict)
    """Batches that were put aside: should a person have them tried again, their facts were judged already."""
    unreadable_batches: dict[Path, set[str]] = field(default_factory=dict)
    """Batches that were put aside without their own file: what it still has of them is left out."""
    set_aside: list[SetAsideFacts] = field(default_factory=list)
    total: Counter[str] = field(default_factory=Counter)
    days: dict[str, Counter[str]] = field(default_factory=dict)
    asked_since_fact: int = 0
    """Prompts put to the model since the last fact, known ones included."""
    skipped: Counter[str] = field(default_factory=Counter)
    recent_facts: deque[str] = field(default_factory=lambda: deque(maxlen=40))
    """The newest facts, so that a correction made twice is seen to be one."""

    def fold_commit(self, commit: Commit) -> None:
        """Take in one commit. Raises KeyError, TypeError or ValueError for data that is not ours."""
        data = commit.data
        self._count(commit)
        self.skipped.update({str(why): int(n) for why, n in data.get("left_out", {}).items()})
        if data.get("kind") in WRITING_KINDS:
            self.first_written_at.setdefault(Path(data["project"]), commit.at)
        match data.get("kind"):
            case "batch":
                self._fold_batch(commit)
            case "skipped":
                self.skipped[str(data.get("why", ""))] += int(data.get("seen", 0))
            case "synthesis":
                self._fold_synthesis(commit)
            case "aside":
                self._fold_aside(data)
            case "tombstone":
                self._fold_tombstones(data)
            case _:
                pass

    def count_projects(self, line: str) -> int:
        """In how many projects a line was learned (SPEC S-55)."""
        wanted = normalise_text(line)
        return sum(
            any(normalise_text(one) == wanted for one in lines) for lines in self.line_confidences.values()
        )

    def _count(self, commit: Commit) -> None:
        day = self.days.setdefault(local_date(commit.at), Counter())
        for name in COUNTED_FIELDS:
            number = int(commit.data.get(name, 0))
            self.total[name] += number
            day[name] += number
        if len(self.days) > 3:
            self.days.pop(min(self.days))

    def _fold_batch(self, commit: Commit) -> None:
        data = commit.data
        facts, root = tuple(data.get("new", ())), Path(data["project"])
        alive = facts or data.get("dropped") or data.get("left_out") or data.get("refused")
        self.asked_since_fact = 0 if alive else self.asked_since_fact + int(data.get("asked", 0))
        self._reinforce(root, data.get("again", ()), commit.at)
        if not facts or data["id"] in self.synthesised:
            return
        made = Extracted(
            data["id"],
            commit.at,
            root,
            commit.session,
            tuple(data["prompts"]),
            facts,
            tuple(data["folders"]),
            tuple(data.get("words", ())),
            float(data.get("usd", 0.0)),
        )
        self.waiting.setdefault(root, {})[made.id] = made
        self.recent_facts.extend(facts)

    def _fold_synthesis(self, commit: Commit) -> None:
        data = commit.data
        root = Path(data["project"])
        for id in data.get("batches", ()):
            self.synthesised.add(id)
            self.judged.get(root, {}).pop(id, None)
            self.waiting.get(root, {}).pop(id, None)
        if data.get("read"):
            self.synthesised_upto.setdefault(root, {}).update(
                {str(name): int(at) for name, at in data["read"].items()}
            )
        standings = self.line_confidences.setdefault(root, {})
        swapped = data.get("swapped", {})
        for line in data.get("put", ()):
            # What updates a line goes on from how often that line was said.
            standings[line] = seen_again(standings.pop(swapped.get(line, line), None), commit.at)
        self._reinforce(root, data.get("again", ()), commit.at)
        self.withheld.setdefault(root, {}).update(data.get("withheld", {}))
        if data.get("look"):
            self._fold_tombstones(data["look"])

    def _fold_aside(self, data: Mapping[str, Any]) -> None:
        root = Path(data["project"])
        for id in data.get("batches", ()):
            if (made := self.waiting.get(root, {}).pop(id, None)) is not None:
                self.judged.setdefault(root, {})[id] = made
        self.unreadable_batches.setdefault(root, set()).update(map(str, data.get("unfiled", ())))
        self.set_aside.append(SetAsideFacts(root, tuple(data.get("files", ())), str(data.get("reason", ""))))

    def _reinforce(self, root: Path, lines: Iterable[str], at: float) -> None:
        """Lines that were said again (SPEC P-11). A person's own line has no standing, and gets none."""
        standings = self.line_confidences.get(root, {})
        for line in lines:
            mine = line if line in standings else find_equal(line, standings)
            if mine is not None:
                standings[mine] = seen_again(standings[mine], at)

    def _fold_tombstones(self, data: Mapping[str, Any]) -> None:
        root = Path(data["project"])
        stones = self.tombstones.setdefault(root, {})
        for name, lines in data.get("removed", {}).items():
            stones.setdefault(name, set()).update(lines)
        for name, lines in data.get("lifted", {}).items():
            stones.setdefault(name, set()).difference_update(lines)
            self._unwithhold(root, lines)
        looks = self.snapshots.setdefault(root, {})
        for name, seen in data.get("looks", {}).items():
            looks[name] = LineSnapshot(tuple(seen["lines"]), float(seen["at"]))
        if data.get("head"):
            self.heads[root] = str(data["head"])

    def _unwithhold(self, root: Path, lines: Iterable[str]) -> None:
        """What a person put back is not offered any more."""
        back = tuple(lines)
        withheld = self.withheld.get(root, {})
        for line in [line for line in withheld if find_equal(line, back) is not None]:
            del withheld[line]
