"""Any sequence of learned and withdrawn lines, a person's edits, damaged files, sessions, restarts and kills."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_reach import DAY, ReachBox, ToyRules
from tacitd_handlers.reach.user_rules import HEAD_START, LIMIT

NAMES = [f"rule {letter}" for letter in "abcdef"]
steps = st.one_of(
    st.tuples(st.sampled_from(["know", "state", "drop", "delete"]), st.sampled_from(NAMES)),
    st.tuples(st.just("add"), st.integers(0, 12)),
    st.tuples(
        st.sampled_from(["wait", "day", "session", "restart", "kill", "remove", "cut", "empty"]), st.just(0)
    ),
)


class Person:
    """What the person did to the file."""

    def __init__(self, box: ReachBox) -> None:
        self.box = box
        self.added: list[str] = []
        """Lines in the file that the person wrote."""
        self.deleted: set[str] = set()
        """Lines of tacitd's that the person deleted since they were learned last."""
        self.damaged = False

    def take(self, what: str, which: object) -> None:
        """One step."""
        box, name = self.box, str(which)
        match what:
            case "know" | "state":
                self.deleted.discard(name)
                (box.know if what == "know" else box.state)(**{name: name})
            case "drop":
                if name in ToyRules.rules:
                    box.drop(name)
            case "delete":
                self.delete(name)
            case "add":
                self.add(int(str(which)))
            case "wait":
                box.wait()
            case "day":
                box.bench.settle(DAY)
                box.wait()
            case "session":
                box.bench.settle(3600)
                box.bench.type("hello")
                box.wait()
                self.damaged = False
            case "restart" | "kill":
                box.bench.restart(kill=what == "kill")
            case _:
                self.damage(what)

    def delete(self, name: str) -> None:
        lines = self.box.text.splitlines()
        if f"- {name}" in lines and not self.damaged:
            self.box.save("\n".join([line for line in lines if line != f"- {name}"]) + "\n")
            self.deleted.add(name)
            self.box.wait(120)

    def add(self, at: int) -> None:
        if self.box.path.exists() and self.box.text and not self.damaged:
            line = f"- mine {len(self.added)}"
            lines = self.box.text.splitlines()
            lines.insert(min(at, len(lines)), line)
            self.box.save("\n".join(lines) + "\n")
            self.added.append(line)

    def damage(self, what: str) -> None:
        """A file that is removed, emptied or cut within its first line; what is gone of the person's is gone."""
        if self.box.path.exists() and HEAD_START in self.box.text:
            match what:
                case "remove":
                    self.box.path.unlink()
                case "empty":
                    self.box.path.write_bytes(b"")
                case _:
                    self.box.save(self.box.text[:20])
            self.added = []
            self.damaged = True


@examples(200)
@given(st.lists(steps, min_size=3, max_size=25))
def test_no_line_of_the_persons_is_lost_and_only_deleted_ones_are_withdrawn(
    todo: list[tuple[str, object]],
) -> None:
    """A missing, empty or half-gone file deletes nothing; added lines stay; deletions are followed."""
    with tempfile.TemporaryDirectory() as directory:
        box = ReachBox(Path(directory))
        with box.bench:
            person = Person(box)
            for what, which in todo:
                person.take(what, which)
                withdrawn = set(ToyRules.withdrawn)
                assert withdrawn <= person.deleted | set(ToyRules.rules), (what, which)
                lines = box.text.splitlines()
                assert [line for line in lines if line.startswith("- mine")] == [
                    line for line in lines if line in person.added
                ]
                if not person.damaged:
                    assert sorted(x for x in lines if x in person.added) == sorted(person.added), (
                        what,
                        which,
                    )
                ours = [line for line in lines if line not in person.added]
                assert sum(len(line) + 1 for line in ours) <= LIMIT
            person.take("day", 0)
            person.take("session", 0)
            bullets = [name for name in box.bullets if name in NAMES]
            assert sorted(bullets) == sorted(ToyRules.rules)
            assert not person.deleted & set(ToyRules.rules)
            assert box.bench.degraded == []
