"""Any order of learning, editing by hand, undoing, forgetting and checking out."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_decisions import decide, list_items, notice
from support_examples import examples
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.errors import FileRefusedError, UsageError

TABS = "Prefers tabs"
OURS = (PNPM, SHORT, TABS)
STEPS = [
    *["learn"] * 4,
    *["forget"] * 3,
    *("undo", "undo", "unforget", "edit", "remove", "save", "checkout", "notice", "restart"),
]


class Story:
    """What happened so far, for the rules that must hold after each step."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.theirs: list[str] = []
        self.forgotten: set[str] = set()
        self.gone: set[str] = set()
        """Lines that were undone and did not come back by hand or by git."""
        self.saved = ""
        self.saved_theirs: list[str] = []

    def run_step(self, step: str, which: int, number: int) -> None:
        """One step, about the line `which` if it is about one; those that have nothing to act on do nothing."""
        bench, file = self.bench, self.bench.files.learned_file
        before = set(bench.bullets)
        match step:
            case "learn":
                fact = OURS[which]
                bench.answer((SYNTHESIS, lines(fact)), (EXTRACTION, fact))
                bench.clock.advance(3600.0)
                bench.learn(f"{fact}, I said", session=f"s{number}")
                assert not (set(bench.bullets) - before) & (self.forgotten | self.gone)
            case "undo":
                self.gone |= before & set(OURS) - set(self.undo_newest())
            case "forget":
                stored = [one for one in list_items(bench) if one.state == "stored" and not one.by_person]
                if stored:
                    item = stored[which % len(stored)]
                    decide(bench, item, "drop")
                    self.forgotten.add(item.text)
                    assert item.text not in bench.bullets
            case "unforget":
                dropped = [one for one in list_items(bench) if one.state == "forgotten"]
                if dropped:
                    item = dropped[which % len(dropped)]
                    decide(bench, item, "restore")
                    self.forgotten.discard(item.text)
                    self.gone.discard(item.text)
            case "edit" if file.exists():
                self.theirs.append(f"- mine {number}  \n")
                file.write_text(file.read_text() + self.theirs[-1])
            case "remove" if before & set(OURS):
                line = sorted(before & set(OURS))[0]
                file.write_text(file.read_text().replace(f"- {line}\n", "", 1))
            case "save":
                self.saved = file.read_text() if file.exists() else ""
                self.saved_theirs = list(self.theirs)
            case "checkout" if self.saved:
                file.write_text(self.saved)
                self.theirs = list(self.saved_theirs)
                self.gone -= set(bench.bullets)
            case "notice":
                notice(bench)
            case "restart":
                bench.restart()
            case _:
                pass

    def undo_newest(self) -> set[str]:
        """Undo the newest transaction that can be undone; return the lines that are there afterwards."""
        for past in reversed(self.bench.history.list_transactions(self.bench.root)):
            self.bench.clock.advance(1.0)
            with suppress(FileRefusedError, UsageError):
                self.bench.history.undo_transaction(past.id)
                break
        after = set(self.bench.bullets)
        self.forgotten -= after  # the undo of a removal is the person's decision
        self.gone -= after
        return after

    def check(self) -> None:
        """The rules."""
        file = self.bench.files.learned_file
        text = file.read_text() if file.exists() else ""
        assert all(line in text for line in self.theirs)
        assert len(set(self.bench.bullets)) == len(self.bench.bullets)
        assert {one.strip() for one in self.bench.bullets} <= {
            *OURS,
            *(line.strip()[2:] for line in self.theirs),
        }


@examples(45)
@example(steps=[("learn", 0), ("forget", 0), ("learn", 0)])
@example(steps=[("learn", 0), ("undo", 0), ("notice", 0), ("learn", 0)])
@example(steps=[("learn", 0), ("save", 0), ("forget", 0), ("checkout", 0), ("remove", 0), ("learn", 0)])
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from([0, 0, 1, 2])), max_size=8))
def test_a_persons_bytes_stay_and_what_is_gone_stays_gone(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """A person's lines stay byte for byte; tacitd writes neither an undone line again nor a forgotten one."""
    story = Story(Bench(tmp_path_factory.mktemp("decisions")))
    for number, (step, which) in enumerate(steps, 1):
        story.run_step(step, which, number)
        story.check()
