"""A person, findings, agents, decay and crashes, in any order: no value of the person is ever lost (SPEC P-08, P-14, P-17, X-07)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from support_examples import examples
from support_profile import DAY, Box
from tacitd_handlers.profile.profile_files import read_state

EDITOR, LANGUAGES = "tools.editor", "work.languages"
EDITORS = st.sampled_from(["vim", "helix", "emacs"])
ELEMENTS = st.sampled_from(["Go", "Rust", "Zig"])
STEPS = st.sampled_from(["before swap", "swapped", "appended"])
DOES = st.one_of(
    st.tuples(st.just("find"), EDITORS, ELEMENTS),
    st.tuples(st.just("gone"), EDITORS, ELEMENTS),
    st.tuples(st.just("agent"), EDITORS, ELEMENTS),
    st.tuples(st.just("fade"), EDITORS, ELEMENTS),
)


class Person(RuleBasedStateMachine):
    """`editor` and `own`: what the person put last, by hand or by command, and did not remove."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.box = Box(self.root)
        self.box.__enter__()
        self.editor: str | None = None
        self.own = set[str]()
        self.findings = 0

    @initialize()
    def begin(self) -> None:
        self.box.learn(tools__editor="nano", work__languages=("Go",))

    # --- what programs do

    @rule(editor=EDITORS, element=ELEMENTS)
    def find(self, editor: str, element: str) -> None:
        self.findings += 1
        self.box.learn(tools__editor=editor, work__languages=(element,))

    @rule(editor=EDITORS, element=ELEMENTS)
    def say_no_longer(self, editor: str, element: str) -> None:
        self.box.no_longer(tools__editor=[editor], work__languages=[element])

    @rule(editor=EDITORS, element=ELEMENTS)
    def set_as_agent(self, editor: str, element: str) -> None:
        self.box.run("set", EDITOR, editor, agent=True)
        self.box.run("add", LANGUAGES, [element], agent=True)

    @rule(days=st.sampled_from([1, 40, 120]))
    def fade(self, days: int) -> None:
        self.box.wait(days * DAY).fade()

    @rule()
    def restart(self) -> None:
        self.box.bench.restart()

    @rule(step=STEPS, does=DOES, editor=EDITORS)
    def crash(self, step: str, does: tuple[str, str, str], editor: str) -> None:
        def happen() -> None:
            match does:
                case ("find", one, element):
                    self.find(one, element)
                case ("gone", one, element):
                    self.say_no_longer(one, element)
                case ("agent", one, element):
                    self.box.find({"tools": {"editor": one}, "work": {"languages": [element]}})
                case _:
                    self.fade(120)

        self.box.crash_at(step, happen)

    @rule(editor=EDITORS, element=ELEMENTS)
    def crash_while_the_person_edits(self, editor: str, element: str) -> None:
        """Between the plan and the swap the person saves the file."""

        def happen() -> None:
            self.box.learn(tools__editor=f"{editor}-2", work__languages=(element,))

        self.box.bench._app.plugins._services.files._on_step = self._save(editor)
        happen()
        self.box.bench.restart(kill=True)
        self.box.notice()

    def _save(self, editor: str) -> Any:
        saved = list[bool]()

        def save(step: str) -> None:
            if step == "before swap" and not saved:
                saved.append(True)
                self._edit_editor(f"{editor}-mine")

        return save

    # --- what the person does

    def _edit_editor(self, editor: str) -> None:
        self.box.edit(lambda document: document.setdefault("tools", {}).update(editor=editor))
        self.editor = editor

    @rule(editor=st.sampled_from(["vim", "helix", "emacs", "ed", "nano"]))
    def edit_by_hand(self, editor: str) -> None:
        """What is there already is no edit, and what is set back before anybody looked cannot be seen."""
        self.box.notice()
        if self.box.profile.get("tools", {}).get("editor") != editor:
            self._edit_editor(editor)
        self.box.notice()

    @rule(editor=st.sampled_from(["ed-1", "ed-2"]))
    def edit_unnoticed(self, editor: str) -> None:
        self._edit_editor(editor)

    @rule(editor=EDITORS)
    def set_by_command(self, editor: str) -> None:
        self.box.run("set", EDITOR, editor)
        self.editor = editor

    @rule(element=ELEMENTS)
    def add_by_command(self, element: str) -> None:
        self.box.run("add", LANGUAGES, element)
        self.own.add(element)

    @rule(element=ELEMENTS)
    def add_by_hand(self, element: str) -> None:
        def change(document: dict[str, Any]) -> None:
            found = document.setdefault("work", {}).setdefault("languages", [])
            if element not in found:
                found.append(element)
                self.own.add(element)

        self.box.edit(change).notice()

    @rule(element=ELEMENTS)
    def remove_by_hand(self, element: str) -> None:
        def change(document: dict[str, Any]) -> None:
            found = document.get("work", {}).get("languages", [])
            if element in found:
                found.remove(element)

        self.box.edit(change).notice()
        self.own.discard(element)

    @rule()
    def remove_by_command(self) -> None:
        self.box.run("remove", EDITOR)
        self.editor = None

    # --- what must be so

    @invariant()
    def nothing_of_the_person_is_lost(self) -> None:
        profile = self.box.profile
        if self.editor is not None:
            assert profile["tools"]["editor"] == self.editor
        assert self.own <= set(profile.get("work", {}).get("languages", ()))

    @invariant()
    def nothing_of_the_person_fades(self) -> None:
        state = read_state(self.box.bench.rows, now=self.box.clock.now())
        learned = set(state.list_learned(LANGUAGES))
        assert not learned & self.own
        assert self.editor is None or state.is_own(EDITOR)

    @invariant()
    def nothing_is_left_over(self) -> None:
        assert self.box.bench.rows("SELECT count(*) FROM plan") == [(0,)]
        assert self.box.bench.rows("SELECT count(*) FROM line_plan") == [(0,)]
        lines = [str(entry) for entry in self.box.changelog]
        assert len(lines) == len(set(lines))

    def teardown(self) -> None:
        self.box.__exit__()
        shutil.rmtree(self.root)


TestPerson = Person.TestCase
TestPerson.settings = examples(200, stateful_step_count=15)
