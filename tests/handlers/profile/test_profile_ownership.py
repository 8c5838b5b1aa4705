"""A hand edit is the person's, whatever its value (SPEC P-17): by itself, with a second machine, after crashes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_profile import DAY, Box
from tacitd.testing import Crash, FakeClock, FaultyDisk
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.store import ProfileStore


@dataclass(slots=True)
class OtherBox(Box):
    """Another machine on the same memory directory: its own state directory, the same clock."""

    name: str = "other"

    @property
    def env(self) -> dict[str, str]:
        return super(OtherBox, self).env | {"TACITD_STATE_DIR": str(self.root / self.name)}


@pytest.fixture
def other(box: Box) -> Box:
    return OtherBox(box.root, box.clock)


def test_undoing_what_was_learned_is_the_persons(box: Box) -> None:
    """SPEC P-17 revised: a value set back to an earlier learned one stays; it was taken for tacitd's own."""
    box.learn(tools__editor="vim")
    box.learn(tools__editor="helix")
    box.edit(tools__editor="vim")
    plan = box.learn(tools__editor="emacs")
    assert plan is not None
    assert plan.kept == ("tools.editor",)
    box.clock.advance(200 * DAY)
    box.store.apply_decay()
    assert box.profile["tools"] == {"editor": "vim"}
    assert box.store.find_own_paths() == {"tools.editor"}


def test_undoing_within_seconds_is_the_persons(box: Box) -> None:
    """P-17 and P-08: a save that contains our change is an edit, however soon it comes; only an older buffer is not."""
    box.clock = FakeClock(os.stat(box.root).st_mtime)
    box.learn(tools__editor="vim")
    box.learn(tools__editor="helix")
    box.edit(tools__editor="vim")
    box.store.finish_pending()
    assert box.profile["tools"] == {"editor": "vim"}


def test_an_older_buffer_with_an_edit_of_the_same_path(box: Box) -> None:
    """P-08: of a save from an older buffer, the path that the person changed in it stays as they wrote it."""
    box.clock = FakeClock(os.stat(box.root).st_mtime)
    box.learn(tools__editor="vim")
    buffer = box.profile
    box.learn(tools__editor="helix", work__role="dev")
    box.put("profile.json", buffer | {"tools": {"editor": "emacs"}})
    box.store.finish_pending()
    assert box.profile["tools"] == {"editor": "emacs"}
    assert box.profile["work"] == {"role": "dev"}
    assert box.store.find_own_paths() == {"tools.editor"}


def test_an_older_buffer_that_is_saved_twice(box: Box) -> None:
    """P-08: an old buffer is saved once between our read and our write, and once after it; our change is not lost."""
    box.clock = FakeClock(os.stat(box.root).st_mtime - 10)
    box.learn(tools__editor="vim")
    buffer = box.profile
    box.learn(work__role="dev")
    box.clock.advance(10)

    class Before(FaultyDisk):
        saved = False

        def open_new(self, path: Path, mode: int) -> int:
            if path.parent == box.directory and not self.saved:
                self.saved = True
                box.put("profile.json", buffer)
            return super().open_new(path, mode)

    at = box.store
    at.disk = Before()
    at.set_value("bio", "mine")
    box.put("profile.json", buffer)
    box.store.finish_pending()
    assert box.profile["bio"] == "mine"


@pytest.mark.parametrize("moment", range(1, 5))
def test_an_older_buffer_that_is_saved_while_a_change_is_planned(box: Box, moment: int) -> None:
    """P-08: it undoes an earlier change at any moment between our reads of the profile; that change is not lost."""
    box.clock = FakeClock(os.stat(box.root).st_mtime)
    box.put("profile.json", {"bio": "mine"})
    buffer = box.profile
    box.store.set_value("tools.editor", "vim")

    class Between(FaultyDisk):
        reads = 0

        def open_read(self, path: Path) -> int:
            if path == box.directory / "profile.json":
                self.reads += 1
                if self.reads == moment:
                    box.put("profile.json", buffer)
            return super().open_read(path)

    at = box.store
    disk = Between()
    at.disk = disk
    at.set_value("work.role", "dev")
    assert disk.reads >= moment
    box.store.finish_pending()
    assert (box.profile["tools"], box.profile["work"]) == ({"editor": "vim"}, {"role": "dev"})


# --- arrays ------------------------------------------------------------------------------------------------------


def test_an_element_added_by_hand_is_the_persons_alone(box: Box) -> None:
    """SPEC P-10 revised: the others stay learned: `noLonger` removes them, and time does; the person's stays."""
    box.learn(work__languages=("Go", "Java", "C"))
    box.edit(work__languages=["Go", "Java", "C", "Python"])
    assert box.store.find_ownership().elements == {"work.languages": ("Python",)}
    box.no_longer(work__languages=("java", "Python"))
    assert box.profile["work"]["languages"] == ["Go", "C", "Python"]
    assert box.changelog[-1]["changes"] == {"work": {"languages": ["Go", "C"]}}
    box.clock.advance(30 * DAY)
    box.learn(work__languages=("Go",))
    assert box.meta["work.languages"]["confidence"] == pytest.approx(0.8, abs=1e-6)
    box.learn(work__languages=("Python",))
    assert box.meta["work.languages"]["seenCount"] == 2  # the person's own element is no sighting
    box.clock.advance(200 * DAY)
    box.store.apply_decay()
    assert box.profile["work"]["languages"] == ["Python"]
    assert box.meta == {}
    assert box.changelog[-1]["removed"] == ["work.languages"]


def test_no_longer_without_a_name_leaves_the_persons_element(box: Box) -> None:
    """SPEC P-10, P-17: everything learned of the list goes, and it is noted that the person's was kept."""
    box.learn(interests=("chess",))
    box.edit(interests=["chess", "tea"])
    plan = box.no_longer(interests=())
    assert plan is not None
    assert (plan.kept, plan.removed) == (("interests",), ("interests",))
    assert box.profile["interests"] == ["tea"]
    assert box.store.find_own_paths() == {"interests"}


def test_an_element_removed_by_hand_leaves_the_others_learned(box: Box) -> None:
    """SPEC P-10: the rest of the list fades as before."""
    box.learn(work__languages=("Go", "Java"))
    box.edit(work__languages=["Go"])
    box.clock.advance(101 * DAY)
    box.store.apply_decay()
    assert "work" not in box.profile


def test_an_entry_for_one_element_is_kept_as_such(box: Box) -> None:
    """SPEC P-10: a path to an element in an old meta file has its own confidence, and hearing the element raises it."""
    box.learn(work__languages=("Go", "Rust"))
    found = box.read("profile-meta.json")
    found["preferences"][0]["path"] = "work.languages.Go"
    box.put("profile-meta.json", found)
    assert box.store.find_ownership().elements == {"work.languages": ("Rust",)}
    box.clock.advance(30 * DAY)
    box.learn(work__languages=("go", "Zig"))
    assert {path: one["seenCount"] for path, one in box.meta.items()} == {
        "work.languages.Go": 2,
        "work.languages": 1,
    }
    box.clock.advance(95 * DAY)
    box.store.apply_decay()  # Go had 0.8: it goes first
    assert box.profile["work"]["languages"] == ["Rust", "Zig"]
    box.clock.advance(10 * DAY)
    box.store.apply_decay()
    assert box.profile["work"]["languages"] == ["Rust"]


def test_entries_by_number_forget_what_they_named(box: Box) -> None:
    """SPEC P-10: two elements that go at once are those that were named, although the numbers change."""
    box.learn(work__languages=("Go", "Rust", "Zig"))
    found = box.read("profile-meta.json")
    entry = found["preferences"][0]
    found["preferences"] = [entry | {"path": "work.languages.0"}, entry | {"path": "work.languages.1"}]
    box.put("profile-meta.json", found)
    box.clock.advance(100 * DAY)
    box.store.apply_decay()
    assert box.profile["work"]["languages"] == ["Zig"]


# --- other writers ------------------------------------------------------------------------------------------------


def test_two_machines_learn_from_each_other(box: Box, other: Box) -> None:
    """P-17: what the changelog names as learned is learned, whoever wrote it; a hand edit is the person's for both."""
    box.learn(tools__editor="vim", work__languages=("Go",))
    other.learn(tools__editor="helix", work__languages=("Rust",))
    assert box.store.find_own_paths() == frozenset()
    assert box.store.find_ownership().elements == {}
    # Vim is what the first machine wrote last.
    box.edit(tools__editor="vim", work__languages=["Go", "Rust", "Zig"])
    for one in (box, other):
        assert one.store.find_own_paths() == {"tools.editor"}
        assert one.store.find_ownership().elements == {"work.languages": ("Zig",)}
    box.learn(tools__editor="emacs")
    other.learn(tools__editor="emacs")
    assert box.profile["tools"] == {"editor": "vim"}


def test_a_sighting_of_the_other_machine_does_not_hide_an_edit(box: Box, other: Box) -> None:
    """P-17: the other machine heard the value again, which writes no value; then a person changed it."""
    box.learn(tools__editor="vim")
    box.learn(tools__editor="helix")
    other.learn(tools__editor="helix")
    box.edit(tools__editor="vim")
    later = (box.directory / "profile-meta.json").stat().st_mtime + 60
    os.utime(box.directory / "profile.json", (later, later))
    box.learn(tools__editor="emacs")
    assert box.profile["tools"] == {"editor": "vim"}


def test_without_a_state_the_changelog_tells(box: Box) -> None:
    """P-17: with the state directory lost, an edit is still known by what the changelog names last."""
    box.learn(tools__editor="vim", interests=("chess",))
    box.learn(tools__editor="helix")
    box.edit(tools__editor="vim", interests=["chess", "tea"])
    shutil.rmtree(box.root / "state")
    assert box.store.find_own_paths() == {"tools.editor"}
    assert box.store.find_ownership().elements == {"interests": ("tea",)}
    (box.directory / "changelog.jsonl").unlink()
    assert box.store.find_ownership().paths == frozenset()  # only the meta file is left, and names both


def test_a_state_of_the_earlier_form_is_read(box: Box) -> None:
    """A state with the digests of whole values: none of them counts as an edit, another value does."""
    box.learn(tools__editor="vim", interests=("chess",))
    (path,) = (box.root / "state" / "handlers" / "profile").glob("*.json")
    state = json.loads(path.read_text())
    from tacitd_handlers.profile.ownership import hash_value, sighting_key

    state["values"] = {"tools.editor": [hash_value("vim")], "interests": [hash_value(["chess"])]}
    state["seen"] = {name: sighting_key(one) for name, one in box.meta.items()}
    path.write_text(json.dumps({key: value for key, value in state.items() if key != "learned"}))
    assert box.store.find_own_paths() == frozenset()
    box.edit(tools__editor="emacs")
    assert box.store.find_own_paths() == {"tools.editor"}


# --- races and crashes ---------------------------------------------------------------------------------------------


class Saving(FaultyDisk):
    """A disk on which a person saves the profile just before our first write to it."""

    def __init__(self, box: Box, **values: Any) -> None:
        super().__init__()
        self.box, self.values = box, values

    def open_new(self, path: Path, mode: int) -> int:
        if path.parent == self.box.directory and (values := self.values):
            self.values = {}
            self.box.edit(**values)
        return super().open_new(path, mode)


@pytest.mark.parametrize("saved", ["helix", "emacs"])
def test_a_save_in_the_middle_is_the_persons(box: Box, saved: str) -> None:
    """The issue, bad input: saved between our read and our write, also with the value that is about to be written."""
    box.learn(tools__editor="vim")
    at = box.store
    at.disk = Saving(box, tools__editor=saved)
    at.learn_finding(PartialProfile({"tools.editor": "helix", "work.role": "dev"}), "s", "x")
    assert box.profile["tools"] == {"editor": saved}
    assert box.profile["work"] == {"role": "dev"}
    assert box.store.find_own_paths() == {"tools.editor"}
    assert list(box.meta) == ["work.role"]
    assert box.changelog[-1]["changes"] == {"work": {"role": "dev"}}
    box.learn(tools__editor="nano")
    assert box.profile["tools"] == {"editor": saved}


def test_an_element_saved_in_the_middle_is_the_persons(box: Box) -> None:
    """The issue, bad input: the same for a list; our other element is added, the person's is theirs."""
    box.learn(interests=("chess",))
    at = box.store
    at.disk = Saving(box, interests=["chess", "tea"])
    at.learn_finding(PartialProfile({"interests": ("tea", "go")}), "s", "x")
    assert box.profile["interests"] == ["chess", "tea", "go"]
    assert box.store.find_ownership().elements == {"interests": ("tea",)}


def test_an_intent_that_is_finished_late_keeps_what_the_other_machine_wrote(box: Box, other: Box) -> None:
    """P-30: between a crash and the next start another machine learned and sighted; its entries and values stay."""
    box.learn(tools__editor="vim")
    trail = FaultyDisk()
    hear(box, trail, "work.role", "dev", "x1")
    steps = len(trail.trail)
    for at in range(1, steps + 1):
        shutil.rmtree(box.root)
        box.root.mkdir()
        box.learn(tools__editor="vim")
        with pytest.raises(Crash):
            hear(box, FaultyDisk(crash_at=at), "work.role", "dev", "x2")
        box.clock.advance(1)
        other.learn(tools__editor="vim", interests=("tea",))
        box.store.finish_pending()
        assert box.meta["tools.editor"]["seenCount"] == 2, trail.trail[at - 1]
        assert "interests" in box.meta
        assert box.profile["interests"] == ["tea"]
        hear(box, FaultyDisk(), "work.role", "dev", "x2")
        assert box.profile["work"] == {"role": "dev"}


def hear(box: Box, disk: FaultyDisk, path: str, value: str, id: str) -> None:
    at = ProfileStore.from_environ(box.env, box.clock)
    at.disk, at.log = disk, type(at.log)(box.directory / "changelog.jsonl", disk)
    at.learn_finding(PartialProfile({path: value}), "s", id)


VALUES = ("vim", "helix", "emacs")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("hear"), st.sampled_from(VALUES)),
        st.tuples(st.just("edit"), st.sampled_from(VALUES)),
        st.tuples(st.just("element"), st.sampled_from(VALUES)),
        st.tuples(st.just("gone"), st.sampled_from(VALUES)),
        st.tuples(st.just("crash"), st.integers(1, 60)),
        st.tuples(st.just("pass"), st.sampled_from((0.5, 3600.0, 40 * DAY))),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("other"), st.sampled_from(VALUES)),
    ),
    min_size=3,
    max_size=14,
)  # fmt: skip


@dataclass(slots=True)
class Person:
    """Edits, and what must be in the profile because of them."""

    box: Box
    other: Box
    editor: str | None = None
    last: str | None = None
    """The editor that tacitd wrote last."""
    noticed: bool = False
    """Whether tacitd looked since the last edit. If not, setting the value back to `last` leaves nothing to see."""
    interests: set[str] = field(default_factory=set)
    findings: int = 0

    def do(self, step: tuple[str, Any]) -> None:
        box = self.box
        match step:
            case ("edit", value):
                # Saving what is there changes nothing.
                if box.profile.get("tools", {}).get("editor") != value:
                    box.edit(tools__editor=value)
                    self.editor = value if self.noticed or value != self.last else None
            case ("element", value):
                have = box.profile.get("interests", [])
                if value not in have:
                    box.edit(interests=[*have, value])
                    self.interests.add(value)
            case ("crash", at):
                self.findings += 1
                self.hear(box, VALUES[at % 3], FaultyDisk(crash_at=at, torn=True))
            case ("hear", value):
                self.hear(box, value)
            case ("other", value):
                self.hear(self.other, value)
            case ("gone", value):
                box.no_longer(tools__editor=(value,), interests=(value,))
            case ("pass", seconds):
                box.clock.advance(seconds)
                box.store.finish_pending()
                box.store.apply_decay()
            case _:
                box.store.finish_pending()
        if self.editor is None:
            self.last = box.profile.get("tools", {}).get("editor")
        elif step[0] not in ("edit", "element", "crash"):
            self.noticed = True

    def hear(self, box: Box, value: str, disk: FaultyDisk | None = None) -> None:
        self.findings += 1
        box.clock.advance(0.001)
        at = ProfileStore.from_environ(box.env, box.clock)
        if disk is not None:
            at.disk = disk
            at.log = type(at.log)(box.directory / "changelog.jsonl", disk)
        try:
            said = PartialProfile({"tools.editor": value, "interests": (value,)})
            at.learn_finding(said, "s", f"f{self.findings}")
        except Crash:
            pass

    def check(self) -> None:
        found = self.box.profile
        if self.editor is not None:
            assert found["tools"]["editor"] == self.editor
        assert self.interests <= set(found.get("interests", ()))


@examples(180)
@given(steps=STEPS)
def test_the_persons_value_stays_always(steps: list[tuple[str, Any]]) -> None:
    """SPEC P-17, the issue's "It must show" 2: edits to values that tacitd wrote before, between sightings, restarts,
    crashes at any step of the disk, decay and a second machine."""
    root = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    try:
        box = Box(root)
        box.directory.mkdir(mode=0o700)
        person = Person(box, OtherBox(root, box.clock))
        for step in steps:
            person.do(step)
            person.check()
        person.do(("restart", 0))
        person.check()
        for value in VALUES:
            person.hear(box, value)
        person.do(("pass", 400 * DAY))
        box.store.apply_decay(forced=True)
        person.check()
    finally:
        shutil.rmtree(root)


def test_an_added_element_is_the_persons_and_the_others_stay_learned(box: Box) -> None:
    """SPEC P-17: `profile add` to a learned list; decay takes the learned elements and leaves this one."""
    box.learn(interests=["types", "parsers"])
    box.store.add_element("interests", "Go")
    assert box.profile["interests"] == ["types", "parsers", "Go"]
    assert box.store.find_ownership().elements == {"interests": ("Go",)}
    box.clock.advance(200 * DAY)
    box.store.apply_decay()
    assert box.profile["interests"] == ["Go"]


def test_an_element_that_is_there_is_not_added_again(box: Box) -> None:
    """SPEC P-07: case does not count."""
    box.learn(interests=["types"])
    assert box.store.add_element("interests", "Types").entry is None
    assert box.profile["interests"] == ["types"]
