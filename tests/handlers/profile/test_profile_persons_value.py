"""A person's value stays, always (SPEC P-17): edits and commands on two machines, between findings, decay and crashes."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_profile import DAY, Box, OtherBox, open_store
from tacitd.testing import Crash, FaultyDisk
from tacitd_handlers.profile.merge import PartialProfile

VALUES = ("vim", "helix", "emacs")
HERE, THERE = 0, 1
MACHINE = st.sampled_from((HERE, THERE))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("hear"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("role"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("edit"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("element"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("set"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("add"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("remove"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("gone"), MACHINE, st.sampled_from(VALUES)),
        st.tuples(st.just("crash"), MACHINE, st.integers(1, 60)),
        st.tuples(st.just("crash in gone"), MACHINE, st.integers(1, 60)),
        st.tuples(st.just("pass"), MACHINE, st.sampled_from((0.5, 3600.0, 40 * DAY))),
        st.tuples(st.just("restart"), MACHINE, st.just(0)),
    ),
    min_size=3,
    max_size=14,
)  # fmt: skip


@dataclass(slots=True)
class Person:
    """Edits and commands on two machines, and what must be in the profile because of them."""

    machines: tuple[Box, Box]
    editor: str | None = None
    last: str | None = None
    """The editor that tacitd wrote last."""
    noticed: bool = False
    """Whether tacitd looked since the last edit. If not, setting the value back to `last` leaves nothing to see."""
    interests: set[str] = field(default_factory=set)
    findings: int = 0

    def do(self, step: tuple[str, int, Any]) -> None:
        box = self.machines[step[1]]
        box.clock.advance(1)
        match step:
            case ("edit", _, value):
                # Saving what is there changes nothing.
                if box.profile.get("tools", {}).get("editor") != value:
                    box.edit(tools__editor=value)
                    self.editor = value if self.noticed or value != self.last else None
            case ("element", _, value):
                have = box.profile.get("interests", [])
                if value not in have:
                    box.edit(interests=[*have, value])
                    self.interests.add(value)
            case ("set", _, value):
                box.store.set_value("tools.editor", value)
                self.editor = value
            case ("add", _, value):
                box.store.add_element("interests", value)
                self.interests.add(value)
            case ("remove", _, value):
                box.store.remove_value("interests", value)
                self.interests.discard(value)
            case ("crash" | "crash in gone", _, at):
                self.hear(box, VALUES[at % 3], step[0], FaultyDisk(crash_at=at, torn=True))
            case ("hear" | "role" | "gone", _, value):
                self.hear(box, value, step[0])
            case ("pass", _, seconds):
                box.clock.advance(seconds)
                box.store.finish_pending()
                box.store.apply_decay()
            case _:
                box.store.finish_pending()
        if self.editor is None:
            self.last = box.profile.get("tools", {}).get("editor")
        elif step[0] == "set" or step[0] not in ("edit", "element", "crash", "crash in gone"):
            self.noticed = True

    def hear(self, box: Box, value: str, what: str, disk: FaultyDisk | None = None) -> None:
        self.findings += 1
        said = PartialProfile({"tools.editor": value, "interests": (value,)})
        if what == "role":
            said = PartialProfile({"work.role": value})
        elif what in ("gone", "crash in gone"):
            said = PartialProfile({}, {"tools.editor": (value,), "interests": (value,)})
        with suppress(Crash):
            (open_store(box, disk) if disk else box.store).learn_finding(said, "s", f"f{self.findings}")

    def check(self) -> None:
        found = self.machines[0].profile
        if self.editor is not None:
            assert found["tools"]["editor"] == self.editor
        assert self.interests <= set(found.get("interests", ()))


@examples(180)
@given(steps=STEPS)
def test_the_persons_value_stays_always(steps: list[tuple[str, int, Any]]) -> None:
    """SPEC P-17: edits and commands with values that tacitd wrote before, on two machines,
    between sightings, restarts, decay, and crashes at any step of the disk whose changes are finished late."""
    root = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    box = Box(root)
    machines = (box, OtherBox(root, box.clock))
    try:
        box.directory.mkdir(mode=0o700)
        person = Person(machines)
        for step in steps:
            person.do(step)
            person.check()
        for machine in (HERE, THERE):
            person.do(("restart", machine, 0))
            person.check()
        for value in VALUES:
            for machine in (HERE, THERE):
                for what in ("hear", "gone"):
                    person.do((what, machine, value))
                    person.check()
        for machine, one in enumerate(machines):
            person.do(("pass", machine, 400 * DAY))
            one.store.apply_decay(forced=True)
            person.check()
    finally:
        for one in machines:
            one.close()
        shutil.rmtree(root)
