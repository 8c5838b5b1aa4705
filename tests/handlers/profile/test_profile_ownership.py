"""A hand edit is the person's, whatever its value (SPEC P-17): by itself and in races."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_profile import DAY, Box
from tacitd.testing import FakeClock, FaultyDisk
from tacitd_handlers.profile.merge import PartialProfile


def test_undoing_what_was_learned_is_the_persons(box: Box) -> None:
    """SPEC P-17 revised: a value set back to an earlier learned one stays; it was taken for tacitd's own."""
    box.learn(tools__editor="vim")
    box.learn(tools__editor="helix")
    box.edit(tools__editor="vim")
    plan = box.learn(tools__editor="emacs")
    assert plan is not None
    box.clock.advance(200 * DAY)
    box.store.apply_decay()
    assert box.profile["tools"] == {"editor": "vim"}
    assert box.store.find_ownership().paths == {"tools.editor"}


def test_a_command_without_effect_notes_what_was_edited(box: Box) -> None:
    """P-17: a command with nothing to change, and a finding that comes again, note an edit by hand. Set back to what was
    learned after it, the value is the person's."""
    looks: list[Callable[[], object]] = [
        lambda: box.store.remove_value("interests", "chess"),
        lambda: box.learn("first", tools__editor="vim"),
        lambda: box.store.apply_decay(),
    ]
    for look in looks:
        box.store.clear_profile()
        box.learn(f"{look}", tools__editor="vim")
        box.learn("first", work__role="dev")
        box.edit(tools__editor="helix")
        look()
        box.edit(tools__editor="vim")
        box.learn(tools__editor="emacs")
        assert box.profile["tools"] == {"editor": "vim"}


def test_undoing_within_seconds_is_the_persons(box: Box) -> None:
    """P-17 and P-08: a save that contains our change is an edit, however soon it comes; only an older buffer is not."""
    box.clock = FakeClock(os.stat(box.root).st_mtime)
    box.learn(tools__editor="vim")
    box.learn(tools__editor="helix")
    box.edit(tools__editor="vim")
    box.store.finish_pending()
    assert box.profile["tools"] == {"editor": "vim"}


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
    """SPEC P-10, P-17: everything learned of the list goes, and the person's stays."""
    box.learn(interests=("chess",))
    box.edit(interests=["chess", "tea"])
    plan = box.no_longer(interests=())
    assert plan is not None
    assert plan.removed == ("interests",)
    assert box.profile["interests"] == ["tea"]
    assert box.store.find_ownership().paths == {"interests"}


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


def test_without_a_state_the_changelog_tells(box: Box) -> None:
    """P-17: with the state directory lost, an edit is still known by what the changelog names last."""
    box.learn(tools__editor="vim", interests=("chess",))
    box.learn(tools__editor="helix")
    box.edit(tools__editor="vim", interests=["chess", "tea"])
    shutil.rmtree(box.root / "state")
    assert box.store.find_ownership().paths == {"tools.editor"}
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
    assert box.store.find_ownership().paths == frozenset()
    box.edit(tools__editor="emacs")
    assert box.store.find_ownership().paths == {"tools.editor"}


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
    """Saved between our read and our write, also with the value that is about to be written."""
    box.learn(tools__editor="vim")
    at = box.store
    at.disk = Saving(box, tools__editor=saved)
    at.learn_finding(PartialProfile({"tools.editor": "helix", "work.role": "dev"}), "s", "x")
    assert box.profile["tools"] == {"editor": saved}
    assert box.profile["work"] == {"role": "dev"}
    assert box.store.find_ownership().paths == {"tools.editor"}
    assert list(box.meta) == ["work.role"]
    assert box.changelog[-1]["changes"] == {"work": {"role": "dev"}}
    box.learn(tools__editor="nano")
    assert box.profile["tools"] == {"editor": saved}


def test_an_element_saved_in_the_middle_is_the_persons(box: Box) -> None:
    """The same for a list; our other element is added, the person's is theirs."""
    box.learn(interests=("chess",))
    at = box.store
    at.disk = Saving(box, interests=["chess", "tea"])
    at.learn_finding(PartialProfile({"interests": ("tea", "go")}), "s", "x")
    assert box.profile["interests"] == ["chess", "tea", "go"]
    assert box.store.find_ownership().elements == {"interests": ("tea",)}


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
    box.store.add_element("interests", "Types")
    assert box.profile["interests"] == ["types"]
    assert box.store.add_element("interests", "TYPES").entry is None
