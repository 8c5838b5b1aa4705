"""Simulated learners whose skill writes both files itself, with labels of its own: one entry for each weakness.

The full run is 200 learners by 300 sessions (`TACITD_SIMULATION=200x300 pytest …`); CI runs 2 by 60. The expected
profile is computed from the ledger alone, in `support_learner_oracle.py`. Whatever tacitd asks is answered truthfully.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support_learner_oracle import Fold, disagreements, table
from support_learner_skill import TeachingSkill, find_weakness
from tacitd.testing import Crash, FakeClock, FaultyDisk
from tacitd_handlers.learner.label_decisions import join_label, separate_label
from tacitd_handlers.learner.learner_paths import resolve_paths
from tacitd_handlers.learner.store import LearnerStore

LEARNERS, SESSIONS = map(int, os.environ.get("TACITD_SIMULATION", "2x60").split("x"))
CRASHES = 0.1
"""The fraction of syncs that are interrupted."""
PATTERNS = ("hash_map", "two_pointers", "sliding_window", "dp")
TAGS = ["edge:empty_input", "edge:off_by_one", "edge:duplicate_values", "edge:negative_index", "edge:single_element", "edge:integer_overflow", "edge:empty_tree", "pattern:window_shrink", "pattern:missed_sort", "pattern:wrong_base_case", "pattern:greedy_choice", "pattern:state_transition", "pattern:visited_set", "pattern:lost_carry", "syntax:dict_comprehension", "syntax:slice_copy", "syntax:lambda_key", "syntax:missing_return", "complexity:nested_loops", "complexity:string_concat", "complexity:heap_size", "complexity:input_scan", "edge:sorted_input", "edge:cycle_start", "pattern:pointer_reset", "pattern:prefix_sum", "pattern:wrong_pivot", "syntax:default_dict", "edge:unicode_text", "edge:time_zone"]  # fmt: skip
COLLIDING = ["edge:empty_input", "edge:off_by_one", "pattern:base_case", "pattern:missed_sort", "edge:empty_tree", "loop:off_by_one", "edge:base_value", "edge:sorted_input", "edge:empty_list", "pattern:window_shrink", "pattern:wrong_case", "syntax:sort_key", "tree:empty_input", "pattern:window_start", "edge:duplicate_values", "syntax:missing_key", "pattern:missed_input", "edge:start_index", "edge:wrong_values", "pattern:heap_key", "syntax:list_copy", "edge:negative_index", "pattern:case_order", "complexity:heap_sort", "pattern:tree_order", "pattern:window_index", "edge:value_order", "complexity:input_scan", "edge:input_order", "edge:one_element", "syntax:base_class", "pattern:missed_scan"]  # fmt: skip
"""Tags of which each shares words with others of its pattern. Two of them differ only in their kind."""
FILLERS = ("keeps", "slips", "hasty", "again", "first", "mostly", "trips", "rushes", "unsure", "blurry")
FOREIGN = ("Grenze", "Leerlauf", "Doppelt", "Zeiger", "Rand", "Summe", "Stapel", "Fenster", "Haufen", "Kante")


@dataclass
class LabelledLearner:
    """A simulated person, and the skill that writes both files."""

    home: Path
    dice: random.Random
    foreign: bool
    """Whether the labels share no word with the tags."""
    colliding: bool = False
    """Whether tags share words with each other, and labels also have words of other tags."""
    now: datetime = datetime(2025, 1, 6, 18, 0)
    names: dict[str, str] = field(default_factory=dict)
    expected: dict[str, list[str]] = field(default_factory=dict)
    """By pattern, the tags seen with it."""
    sessions: int = SESSIONS
    fold: Fold = field(default_factory=Fold)
    """The expected entries so far."""
    questions: int = 0
    crashes: int = 0

    def __post_init__(self) -> None:
        places = resolve_paths({"HOME": str(self.home)})
        places.profile.parent.mkdir(parents=True)
        self.places = places
        self.skill = TeachingSkill(places.profile, places.ledger)
        self.tags = COLLIDING if self.colliding else TAGS
        name = self.colliding_name if self.colliding else self.name_of
        for number, tag in enumerate(self.tags):
            self.names[tag] = name(tag, number)
        assert len(set(self.names.values())) == len(self.tags)

    def name_of(self, tag: str, number: int) -> str:
        words = tag.partition(":")[2].split("_")
        if self.foreign:
            return f"{self.dice.choice(FOREIGN)} {self.dice.choice(FOREIGN)} {number}"
        shape = self.dice.randrange(4)
        if shape == 0:
            return tag
        if shape == 1:
            return " ".join(words).capitalize()
        return f"{self.dice.choice(FILLERS).capitalize()} {self.dice.choice(words)}s {FILLERS[number % 10]} {number}"

    def colliding_name(self, tag: str, number: int) -> str:
        """A label with at least one word of its tag, often with one of another tag of the pattern."""
        near = [other for at, other in enumerate(self.tags) if at % len(PATTERNS) == number % len(PATTERNS)]
        words = tag.partition(":")[2].split("_")
        while True:
            shape, own, filler = self.dice.randrange(5), self.dice.choice(words), self.dice.choice(FILLERS)
            other = self.dice.choice(self.dice.choice(near).partition(":")[2].split("_"))
            name = (tag, " ".join(words), f"{own} {filler}", f"{own} {other}", f"{own} {other} {filler}")[
                shape
            ]
            if (name := name.capitalize() if shape else name) not in self.names.values():
                return name

    def practise(self) -> None:
        synced = True
        for number in range(self.sessions):
            self.now += timedelta(minutes=self.dice.choice((90, 1440, 2880, 4320, 7200, 20160)))
            for problem in self.dice.sample(range(40), 2 if self.dice.random() < 0.2 else 1):
                self.write_problem(f"session-{number}", problem, careful=not synced)
            synced = self.dice.random() < 0.8
            if synced:
                self.sync()
        self.sync()

    def write_problem(self, session: str, problem: int, *, careful: bool) -> None:
        """Let the skill write one problem. `careful`: it forgets no entry."""
        pattern = PATTERNS[problem % len(PATTERNS)]
        near = [tag for at, tag in enumerate(self.tags) if at % len(PATTERNS) == problem % len(PATTERNS)]
        gaps = [tag for tag in near if self.dice.random() < 0.12]
        text = self.text()
        head = text.partition("### Resolved")[0]
        room = 20 - head.count("\n- **")
        labels: dict[str, str] = {}
        tagged = dict.fromkeys(gaps, "")
        for tag in gaps:
            label = self.label_in(text, tag)
            if not find_weakness(text, label):
                if room <= 0:
                    continue
                room -= 1
            labels[tag] = label
        clean = [self.label_in(text, tag) for tag in self.expected.get(pattern, ()) if tag not in gaps]
        kept = [label for label in clean if careful or self.dice.random() < 0.7]
        stamp = self.now.strftime("%Y-%m-%dT%H:%M")
        self.skill.write_session(
            stamp,
            f"problem-{problem}",
            gaps=tagged,
            pattern=pattern,
            session=session,
            labels=labels,
            clean=kept,
        )
        seen = self.expected.setdefault(pattern, [])
        seen += [tag for tag in gaps if tag not in seen]

    def label_in(self, text: str, tag: str) -> str:
        """The label under which the skill finds a weakness: the tag's own entry if it is there."""
        return tag if find_weakness(text, tag) else self.names[tag]

    def text(self) -> str:
        return self.places.profile.read_text() if self.places.profile.exists() else ""

    def store(self, disk: FaultyDisk | None = None) -> LearnerStore:
        return LearnerStore(self.places, FakeClock(self.now.timestamp()), disk=disk or FaultyDisk())

    def sync(self) -> None:
        """Start the daemon, answer what it asks, and compare the profile with the ledger."""
        if self.dice.random() < CRASHES:
            try:
                self.look(FaultyDisk(crash_at=self.dice.randint(1, 16), torn=self.dice.random() < 0.5))
            except Crash:
                self.crashes += 1
        self.look(FaultyDisk())
        self.answer()
        wrong = disagreements(self.with_tags(), self.places.ledger.read_text(), before=self.fold)
        assert not wrong, (wrong, self.now)
        aliases = self.store().load_state().aliases
        assert not {tag: label for tag, label in aliases.items() if label != self.names[tag]}, self.now

    def look(self, disk: FaultyDisk) -> None:
        store = self.store(disk)
        with store.locked():
            store.sync_files(first=True, force=True)
        store.close()

    def answer(self) -> None:
        while asked := self.store().load_state().asked:
            label, tag = asked[0]
            self.questions += 1
            with (store := self.store()).locked():
                if self.names[tag] == label:
                    join_label(store, label, tag)
                else:
                    separate_label(store, label, tag)
            store.close()

    def with_tags(self) -> str:
        """The profile with each label replaced by its tag, as the oracle expects it."""
        tags = {label: tag for tag, label in self.names.items()}
        return re.sub(r"^- \*\*(.+?)\*\*", lambda m: f"- **{tags.get(m[1], m[1])}**", self.text(), flags=re.M)


@pytest.mark.parametrize(
    ("number", "foreign", "sessions"),
    [
        (63, False, 28),  # an entry of a later session filled the list, and another one was promoted for it
        (92, False, 36),  # a gap came back to a list that the skill had filled
        (96, True, 233),  # a crash between profile and state, after a promotion for a gap that waited
    ],
)
def test_L_11_learners_that_disagreed_once(tmp_path: Path, number: int, foreign: bool, sessions: int) -> None:
    """SPEC L-11, L-27, L-37: learners of the full run for whom an earlier version differed from the expected profile."""
    learner = LabelledLearner(tmp_path, random.Random(number * 2 + foreign), foreign, sessions=sessions)
    learner.practise()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("labels", ["words-shared", "no-word-shared", "words-collide"])
def test_L_11_labels_of_the_skill_are_never_doubled(tmp_path: Path, labels: str) -> None:
    """SPEC L-11, L-38: after each sync the profile equals the independent computation, no weakness has two entries and
    no entry is another weakness's, whatever the skill calls it and wherever a sync is interrupted.
    """
    foreign, colliding = labels == "no-word-shared", labels == "words-collide"
    learners, questions, rows, free = max(1, LEARNERS // 2), 0, 0, 0
    for number in range(learners):
        dice = random.Random(number * 2 + foreign)
        learner = LabelledLearner(tmp_path / str(number), dice, foreign, colliding)
        learner.practise()
        questions += learner.questions
        rows += len(table(learner.places.ledger.read_text()))
        free += len(learner.store().load_state().aliases)
    assert free > learners * 5, "labels were learned"
    if not foreign:
        assert questions < rows / 8, "a shared word is nearly always enough"
