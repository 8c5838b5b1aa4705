"""The learning handler's state, folded from its commits when the handler opens. No disk, no model.

The data of a commit depends on its `kind`:

    batch      one call of the fast tier: `id`, `project`, `prompts` (ids), `new` (facts), `folders`, `words`, `usd`,
               `times` (of the prompts), `marks` (of the facts, see `fact_marks`), the numbers `seen`, `asked`,
               `facts`, `dropped`; `again`: lines that a fact repeated,
               `corrected_again`: those of them that were corrections;
               `refused`: number of texts of the answer that were not stored
    skipped    prompts that were not put to the model: `seen` (number), `why`
    synthesis  batches that were written as lines: `batches`, `lines` (number), `put`, `swapped` (new to old), `again`,
               `corrected_again` and `sessions` of the latter, `origins` (line to its origin, see `synthesize`),
               `left_out_facts` and `used` (facts without a line, and such ones that now have one), `reworded` (lines that
               were to be reworded), `conflicts` (line to file and text of the user's line that it contradicts),
               `merged` (line to the line that took its place), `waits` (facts that wait for the next synthesis, each as a
               batch: `id`, `session`, `prompts`, `new`, `marks`, `folders`),
               `withheld`, `look` (as tombstone), `files` (line to file), `usd` (all calls that led to it), `from` (number
               of prompts); `no_line`: why no line was written; `read`: claimed files that grew meanwhile, with the byte
               offset up to which they are handled
    aside      facts that were put aside: `files` (in `tmp/`), `reason`, `batches`; `unfiled`: those of the batches that
               were put aside without the file that contains them
    tombstone  `removed`: lines of ours that the user removed; `lifted`: lines whose tombstone is lifted; `looks`: what was
               seen of our lines; `head`: HEAD's commit
    summary    the known-facts summary was made on request

`left_out` in batch and synthesis is the number of facts that were not stored, by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import local_date
from tacitd.handler import Commit
from tacitd.text.hashes import blake2b
from tacitd_handlers.learning.confidence import LineConfidence, add_confidence, record_sighting
from tacitd_handlers.learning.fact_marks import FactMark, read_marks
from tacitd_handlers.learning.folders import LEARNED
from tacitd_handlers.learning.person_decisions import LineDecisions, make_line_id
from tacitd_handlers.learning.rule_life import RuleLife, begin_rule, correct_rule, is_flagged, list_unheeded
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.line_table import LineTable

COUNTED_FIELDS = ("seen", "asked", "facts", "lines")
"""Numbers in commits that `status` adds up."""
SECRET_FACT = "looks like a secret"
FORGOTTEN_FACT = "forgotten by you"
UNREADABLE = "not in the form that was asked for"
UNSUPPORTED_REPETITION = "repetitions that no message shows"
"""Reasons why facts are left out. Their number is counted; their text is not stored."""
WRITING_KINDS = ("batch", "synthesis", "summary")
"""Kinds of commits after which a file of ours is in the project."""


class Extracted(Struct, frozen=True):
    """Facts of one call that are not written as lines yet."""

    id: str
    at: float
    """When the call was committed: seconds since 1970, UTC."""
    root: Path
    session: str
    prompts: tuple[str, ...]
    facts: tuple[str, ...]
    folders: tuple[str, ...]
    words: tuple[str, ...] = ()
    """The beginnings of the prompts, with secrets blanked."""
    usd: float = 0.0
    """Cost of the call in US dollars."""
    marks: tuple[FactMark, ...] = ()
    """The facts' marks, one for each."""
    times: tuple[float | None, ...] = ()
    """When each prompt was typed: seconds since 1970, UTC; None if unknown. () for batches of older versions."""


class LineSnapshot(Struct, frozen=True):
    """The lines of ours that a file contained at the last check."""

    lines: tuple[str, ...]
    at: float
    """Seconds since 1970, UTC; 0: never."""


class SetAsideFacts(Struct, frozen=True):
    """Facts that were put aside in the project's `tmp/`, because no usable answer was received (SPEC S-23)."""

    root: Path
    names: tuple[str, ...]
    """Names of the files in `tmp/`."""
    reason: str


class LeftOutFact(Struct, frozen=True):
    """A fact from which no line was made, kept so that a repetition counts (SPEC S-36)."""

    text: str
    at: float
    """When it was said last: seconds since 1970, UTC."""
    said: int = 1
    corrections: int = 0
    sessions: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


SYNTHESISED_LIMIT = 20_000
"""Maximum number of ids of written batches that are kept, the newest: more than a year has. A raw file, which may have the
lines of a written batch after a crash, has the last few."""
LEFT_OUT_LIMIT = 40
"""Maximum number of left-out facts that are kept of a project, the newest."""


class LearningState(Struct):
    """The folded commits. Paths as keys are project roots. It is not thread-safe; its owner guards it with a lock."""

    waiting: dict[Path, dict[str, Extracted]] = field(default_factory=dict)
    """Batches that are not written as lines yet, by id."""
    synthesised: dict[str, None] = field(default_factory=dict)
    """Ids of batches that were written as lines, or from which no line was made, the oldest first."""
    synthesised_upto: dict[Path, dict[str, int]] = field(default_factory=dict)
    """By name of a claimed file that had grown: the byte offset up to which it is handled."""
    tombstones: dict[Path, dict[str, set[str]]] = field(default_factory=dict)
    """By file, relative to the project: the lines that the user removed (SPEC S-28)."""
    withheld: dict[Path, dict[str, str]] = field(default_factory=dict)
    """Lines that were learned again after the user removed them, with their file. They are listed, not written."""
    heads: dict[Path, str] = field(default_factory=dict)
    """HEAD's commit at the last check."""
    snapshots: dict[Path, dict[str, LineSnapshot]] = field(default_factory=dict)
    """By file, relative to the project: the last check."""
    line_confidences: dict[Path, LineTable[LineConfidence]] = field(default_factory=dict)
    """By line: its confidence (SPEC S-54)."""
    rule_lives: dict[Path, dict[str, RuleLife]] = field(default_factory=dict)
    """By line: the corrections before and after it was written."""
    asked_messages: Counter[Path] = field(default_factory=Counter)
    """How many messages of each project were put to the model."""
    first_written_at: dict[Path, float] = field(default_factory=dict)
    """When something was written in the project for the first time: seconds since 1970, UTC."""
    judged: dict[Path, dict[str, Extracted]] = field(default_factory=dict)
    """Batches that were put aside, by id. If the user retries them, their facts need not be grounded again."""
    unreadable_batches: dict[Path, set[str]] = field(default_factory=dict)
    """Ids of batches that were put aside without the file that contains them. Their lines in it are ignored."""
    set_aside: list[SetAsideFacts] = field(default_factory=list)
    total: Counter[str] = field(default_factory=Counter)
    days: dict[str, Counter[str]] = field(default_factory=dict)
    asked_since_fact: int = 0
    """Number of prompts put to the model since the last fact. A known fact counts as one too."""
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: dict[Path, dict[str, LeftOutFact]] = field(default_factory=dict)
    """Facts from which no line was made, by `digest_normal`, the oldest first."""
    reworded: dict[Path, set[str]] = field(default_factory=dict)
    """Lines that were reworded as a rule, or that synthesis was asked to reword. It is not asked again."""
    conflicts: dict[Path, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Lines of ours that contradict a line of the user's, with the file and text of the latter."""
    normals: dict[str, str] = field(default_factory=dict)
    """By line: a digest that lines which say the same share, for those that were asked about."""

    def fold_commit(self, commit: Commit) -> None:
        """Fold one commit. Raises KeyError, TypeError or ValueError if its data has another format."""
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

    def get_confidences(self, root: Path) -> LineTable[LineConfidence]:
        """The confidences of a project's lines; an empty table if there are none."""
        return self.line_confidences.get(root) or LineTable()

    def count_projects(self) -> Counter[str]:
        """By `find_normal` of a line, the number of projects in which it was learned (SPEC S-55)."""
        by_project = ({self.find_normal(line) for line in lines} for lines in self.line_confidences.values())
        return Counter(text for texts in by_project for text in texts)

    def find_normal(self, line: str) -> str:
        """The line's `digest_normal`. To normalise a line takes 0.1 ms, so it is kept."""
        found = self.normals.get(line)
        if found is None:
            found = self.normals[line] = digest_normal(line)
        return found

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
        facts = tuple(map(_check_text, data.get("new", ())))
        marks = read_marks(data.get("marks"), len(facts))
        root = Path(data["project"])
        self.asked_messages[root] += int(data.get("asked", 0))
        has_result = facts or data.get("dropped") or data.get("left_out") or data.get("refused")
        self.asked_since_fact = 0 if has_result else self.asked_since_fact + int(data.get("asked", 0))
        self._repeat(root, data, commit.at, (commit.session,))
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
            marks,
            tuple(data.get("times", ())),
        )
        self.waiting.setdefault(root, {})[made.id] = made

    def _fold_synthesis(self, commit: Commit) -> None:
        data = commit.data
        root = Path(data["project"])
        typed = self._find_times(root, data.get("batches", ()))
        for one in data.get("waits", ()):
            self._keep_waiting(root, one, commit.at, typed)
        for id in data.get("batches", ()):
            self.synthesised[id] = None
            self.judged.get(root, {}).pop(id, None)
            self.waiting.get(root, {}).pop(id, None)
        while len(self.synthesised) > SYNTHESISED_LIMIT:
            del self.synthesised[next(iter(self.synthesised))]
        if data.get("read"):
            self.synthesised_upto.setdefault(root, {}).update(
                {str(name): int(at) for name, at in data["read"].items()}
            )
        confidences = self.line_confidences.setdefault(root, LineTable())
        swapped = data.get("swapped", {})
        self._repeat(root, data, commit.at, tuple(map(str, data.get("sessions", ()))))
        reworded = self.reworded.setdefault(root, set())
        reworded.update(map(str, data.get("reworded", ())))
        for line in data.get("put", ()):
            old = swapped.get(line) or line
            # A line that replaces another one continues with its confidence.
            confidences[line] = _count_origin(
                confidences.pop(old, None), commit.at, data.get("origins", {}).get(line, {})
            )
            if old in reworded or confidences[line].corrections > 1:
                reworded.add(line)
            self._begin_rule(root, line, old, data, commit.at, typed)
        for old, line in data.get("merged", {}).items():
            self.rule_lives.get(root, {}).pop(old, None)
            if (other := confidences.pop(old, None)) is not None and line in confidences:
                confidences[line] = add_confidence(confidences[line], other)
        self._fold_left_out(root, data, commit.at)
        self.conflicts.setdefault(root, {}).update(
            {
                str(line): (str(file), str(theirs))
                for line, (file, theirs) in data.get("conflicts", {}).items()
            }
        )
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

    def wants_rewording(self, root: Path, line: str) -> bool:
        """Whether one more correction of this line is the second one, and the line was not reworded yet (SPEC S-36)."""
        known = self.find_line(root, line)
        if known is None or known in self.reworded.get(root, ()):
            return False
        return self.line_confidences[root][known].corrections >= 1

    def list_repeated_lines(self, root: Path) -> tuple[str, ...]:
        """Lines of ours that were said more than once, the most often said first, at most 20."""
        counts = {
            line: one.seen_count for line, one in self.get_confidences(root).items() if one.seen_count > 1
        }
        return tuple(sorted(counts, key=lambda line: -counts[line])[:20])

    def find_line(self, root: Path, line: str) -> str | None:
        """The line of ours that says the same; None if there is none. A line of the user's has no confidence."""
        return self.get_confidences(root).find_equal(line)

    def _repeat(self, root: Path, data: Mapping[str, Any], at: float, sessions: Sequence[str]) -> None:
        """Record a sighting of each line that was said again (SPEC P-11). A line of the user's gets no confidence."""
        corrected = set(data.get("corrected_again", ()))
        for line in data.get("again", ()):
            known = self.find_line(root, line)
            if known is not None:
                confidences = self.line_confidences[root]
                confidences[known] = record_sighting(
                    confidences[known], at, sessions[-1] if sessions else "", corrected=line in corrected
                )
                lives = self.rule_lives.get(root, {})
                if line in corrected and known in lives:
                    lives[known] = correct_rule(lives[known], at)

    def _find_times(self, root: Path, batches: Iterable[str]) -> dict[str, float]:
        """When the prompts of waiting batches were typed, by their ids; those that are not known are left out."""
        waiting = self.waiting.get(root, {})
        pairs = (
            zip(one.prompts, one.times, strict=False)
            for id in batches
            if (one := waiting.get(str(id))) is not None
        )
        return {id: at for each in pairs for id, at in each if at is not None}

    def _begin_rule(
        self, root: Path, line: str, old: str, data: Mapping[str, Any], at: float, typed: Mapping[str, float]
    ) -> None:
        lives = self.rule_lives.setdefault(root, {})
        before = lives.pop(old, None)
        file = str(data.get("files", {}).get(line, ""))
        if before is not None and old in map(str, data.get("reworded", ())):
            lives[line] = replace(before, file=file or before.file)
            return
        origin = data.get("origins", {}).get(line, {})
        times = [typed[id] for id in map(str, origin.get("prompts", ())) if id in typed]
        asked = self.asked_messages[root]
        lives[line] = begin_rule(at, int(origin.get("corrections", 0)), times, asked=asked, file=file)

    def list_unheeded_rules(self, decisions: LineDecisions) -> dict[Path, tuple[str, ...]]:
        """By project: the lines that were corrected twice although they were written, the most often corrected first.

        One that the person forgot is left out, and one that the person kept, until it is corrected again.
        """
        flagged = {
            root: {
                line: life
                for line, life in lives.items()
                if life.is_unheeded  # first: it takes no digest, and few of thousands of lines are
                and is_flagged(life, decisions.kept_at(make_line_id(root, life.file or LEARNED, line)))
                and not decisions.is_dropped(root, line)
            }
            for root, lives in self.rule_lives.items()
        }
        found = {root: list_unheeded(lives) for root, lives in flagged.items()}
        return {root: lines for root, lines in found.items() if lines}

    def _keep_waiting(
        self, root: Path, batch: Mapping[str, Any], at: float, typed: Mapping[str, float]
    ) -> None:
        """Add facts that wait for the next synthesis."""
        facts = tuple(map(_check_text, batch["new"]))
        prompts = tuple(map(str, batch["prompts"]))
        times = tuple(typed.get(id) for id in prompts)
        marks = read_marks(batch.get("marks"), len(facts))
        made = Extracted(
            str(batch["id"]),
            at,
            root,
            str(batch["session"]),
            prompts,
            facts,
            tuple(batch["folders"]),
            marks=marks,
            times=times,
        )
        self.waiting.setdefault(root, {})[made.id] = made

    def _fold_left_out(self, root: Path, data: Mapping[str, Any], at: float) -> None:
        kept = self.left_out.setdefault(root, {})
        for text in (*data.get("put", ()), *data.get("used", ())) if kept else ():
            kept.pop(digest_normal(text), None)
        for one in data.get("left_out_facts", ()):
            key = digest_normal(str(one["fact"]))
            kept.pop(key, None)
            kept[key] = LeftOutFact(
                str(one["fact"]),
                at,
                int(one.get("said", 1)),
                int(one.get("corrections", 0)),
                tuple(map(str, one.get("sessions", ()))),
                tuple(map(str, one.get("prompts", ()))),
            )
        while len(kept) > LEFT_OUT_LIMIT:
            del kept[next(iter(kept))]

    def _fold_tombstones(self, data: Mapping[str, Any]) -> None:
        root = Path(data["project"])
        tombstones = self.tombstones.setdefault(root, {})
        for name, lines in data.get("removed", {}).items():
            tombstones.setdefault(name, set()).update(lines)
            for line in lines:
                self.rule_lives.get(root, {}).pop(line, None)
        for name, lines in data.get("lifted", {}).items():
            tombstones.setdefault(name, set()).difference_update(lines)
            self._unwithhold(root, lines)
        snapshots = self.snapshots.setdefault(root, {})
        for name, seen in data.get("looks", {}).items():
            snapshots[name] = LineSnapshot(tuple(seen["lines"]), float(seen["at"]))
        if data.get("head"):
            self.heads[root] = str(data["head"])

    def _unwithhold(self, root: Path, lines: Iterable[str]) -> None:
        """Stop listing withheld lines that the user put back."""
        restored = tuple(lines)
        withheld = self.withheld.get(root, {})
        for line in [line for line in withheld if find_equal(line, restored) is not None]:
            del withheld[line]


def digest_normal(text: str) -> str:
    """A digest that texts which say the same share. The state is stored, and no words may be in it that a purge cannot find."""
    return blake2b(normalise_text(text).encode(errors="replace"), digest_size=12).hexdigest()


def _count_origin(before: LineConfidence | None, at: float, origin: Mapping[str, Any]) -> LineConfidence:
    """The confidence of a line after the facts of its origin were said.

    Without an origin they count as one. An origin of no fact is a rewording, which is not a sighting.
    """
    said, corrections = int(origin.get("said", 1)), int(origin.get("corrections", 0))
    sessions = [str(one) for one in origin.get("sessions", ())] or [""]
    confidence = before
    for number in range(said):
        session = sessions[min(number, len(sessions) - 1)]
        confidence = record_sighting(confidence, at, session, corrected=number < corrections)
    return confidence or record_sighting(None, at)


def _check_text(value: Any) -> str:
    """The value if it is a text. Raises TypeError: a commit that cannot be read is skipped."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no fact")
    return value
