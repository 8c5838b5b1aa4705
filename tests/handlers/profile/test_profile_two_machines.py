"""Two machines on one memory directory (SPEC P-17, P-30): commands, findings, crashes, files that come one by one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import pytest

from support_profile import DAY, Box, open_store
from tacitd.testing import Crash, FaultyDisk
from tacitd_handlers.profile.merge import PartialProfile


def test_two_machines_learn_from_each_other(box: Box, other: Box) -> None:
    """P-17: what the changelog names as learned is learned, whoever wrote it; a hand edit is the person's for both."""
    box.learn(tools__editor="vim", work__languages=("Go",))
    other.learn(tools__editor="helix", work__languages=("Rust",))
    assert box.store.find_ownership().paths == frozenset()
    assert box.store.find_ownership().elements == {}
    # Vim is what the first machine wrote last.
    box.edit(tools__editor="vim", work__languages=["Go", "Rust", "Zig"])
    for one in (box, other):
        assert one.store.find_ownership().paths == {"tools.editor"}
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


# --- commands ------------------------------------------------------------------------------------------------------


def test_a_command_is_the_persons_on_the_other_machine_too(box: Box, other: Box) -> None:
    """P-17, P-19: `profile add` on one machine counted as learned on the other, which let it fade and go."""
    box.learn(interests=("chess",))
    other.learn(interests=("chess", "types"))
    box.store.add_element("interests", "tea")
    other.store.add_element("interests", "go")
    for one in (box, other):
        assert one.store.find_ownership().elements == {"interests": ("tea", "go")}
    other.no_longer(interests=("tea", "chess"))
    box.no_longer(interests=("go",))
    assert box.profile["interests"] == ["types", "tea", "go"]
    other.clock.advance(200 * DAY)
    other.store.apply_decay()
    assert box.profile["interests"] == ["tea", "go"]


def test_a_command_is_the_persons_without_a_state_and_without_the_beginning(box: Box, other: Box) -> None:
    """P-17: a machine that never wrote the list, also where the entry that created it is no longer in the changelog."""
    box.learn(interests=("chess",))
    box.clock.advance(60)
    box.store.add_element("interests", "tea")
    assert other.store.find_ownership().elements == {"interests": ("tea",)}
    path = box.directory / "changelog.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[-1])
    assert other.store.find_ownership().elements == {"interests": ("tea",)}


def test_a_removal_by_command_makes_nothing_learned(box: Box, other: Box) -> None:
    """P-17: the entry of a removal names what is left of the list, also the person's; what was removed is not learned."""
    box.learn(work__languages=("Go", "Java"))
    box.store.add_element("work.languages", "Zig")
    other.learn(work__languages=("Go",))
    box.store.remove_value("work.languages", "java")
    assert box.changelog[-1]["changes"] == {"work": {"languages": ["Go", "Zig"]}}
    assert box.changelog[-1]["removed"] == ["work.languages.Java"]
    box.edit(work__languages=["Go", "Zig", "Java"])
    for one in (box, other):
        assert one.store.find_ownership().elements == {"work.languages": ("Zig", "Java")}


def test_what_is_no_longer_true_and_added_by_hand_is_the_persons(box: Box, other: Box) -> None:
    """P-17: an element that a finding removed is not learned on the other machine, if a person writes it again."""
    box.learn(work__languages=("Go", "Java"))
    other.learn(work__languages=("Go",))
    box.no_longer(work__languages=("Java",))
    assert box.changelog[-1]["removed"] == ["work.languages.Java"]
    box.edit(work__languages=["Go", "Java"])
    for one in (box, other):
        assert one.store.find_ownership().elements == {"work.languages": ("Java",)}


def test_adding_what_was_learned_makes_it_the_persons(box: Box, other: Box) -> None:
    """P-17: `profile add` of an element that is there, in another spelling: it is the person's from then on, everywhere."""
    box.learn(interests=("Chess", "types"))
    other.learn(interests=("types",))
    plan = box.store.add_element("interests", "chess")
    assert plan.entry is not None
    assert box.profile["interests"] == ["Chess", "types"]
    for one in (box, other):
        assert one.store.find_ownership().elements == {"interests": ("Chess",)}
    assert box.store.add_element("interests", "chess").entry is None  # it is theirs already
    box.clock.advance(200 * DAY)
    other.store.apply_decay()
    assert box.profile["interests"] == ["Chess"]


def test_a_list_that_another_program_created_is_learned(box: Box, other: Box) -> None:
    """P-17, seed 001: `mcp/tool` with an entry in the meta file that began then is a model's update by another program."""
    box.learn(tools__editor="vim")
    box.edit(interests=["chess"])
    stamp = "2026-11-20T10:00:00.250Z"
    row = {"timestamp": stamp, "action": "update", "source": "mcp/tool", "changes": {"interests": ["chess"]}}
    with (box.directory / "changelog.jsonl").open("a") as out:
        out.write(json.dumps(row) + "\n")
    meta = box.read("profile-meta.json")
    entry = {"path": "interests", "firstSeen": stamp, "lastSeen": stamp, "confidence": 1.0, "seenCount": 1}
    meta["preferences"].append(entry)
    box.put("profile-meta.json", meta)
    other.store.add_element("interests", "tea")
    for one in (box, other):
        owned = one.store.find_ownership()
        assert (owned.paths, owned.elements) == (frozenset(), {"interests": ("tea",)})


def test_a_command_after_a_removal_creates_nothing_learned(box: Box, other: Box) -> None:
    """P-17: the list went, a finding came back late, and the entry that tells of it is not in the changelog yet."""
    box.learn(interests=("chess",))
    box.clock.advance(60)
    box.store.remove_value("interests")
    with pytest.raises(Crash):
        open_store(box, FaultyDisk(crash_at=7)).learn_finding(
            PartialProfile({"interests": ("go",)}), "s", "x"
        )
    box.clock.advance(1)
    other.store.add_element("interests", "tea")
    box.clock.advance(1)
    box.store.finish_pending()
    assert box.profile["interests"] == ["tea", "go"]
    for one in (box, other):
        assert one.store.find_ownership().elements == {"interests": ("tea",)}


# --- files that arrive one by one ------------------------------------------------------------------------------------


NAMES = ("profile.json", "profile-meta.json", "changelog.jsonl")


def read_files(box: Box) -> dict[str, bytes]:
    return {name: (box.directory / name).read_bytes() for name in NAMES}


@pytest.mark.parametrize(
    "order", list(permutations(NAMES)), ids=lambda one: "-".join(name[8:12] for name in one)
)
@pytest.mark.parametrize("hears", [False, True], ids=["looks", "hears"])
def test_files_that_a_sync_brings_one_by_one(
    box: Box, tmp_path: Path, order: tuple[str, ...], hears: bool
) -> None:
    """P-17: a value that another machine learned counts as learned once its entry has arrived, in whichever order."""
    box.learn(tools__editor="vim", work__languages=("Go",))
    there = Box(tmp_path / "there", box.clock)
    shutil.copytree(box.directory, there.directory)
    box.clock.advance(60)
    there.learn(tools__editor="helix", work__languages=("Zig",), work__role="dev")
    arriving = read_files(there)
    for name in order:
        (box.directory / name).write_bytes(arriving[name])
        box.clock.advance(3600)
        box.store.finish_pending()
        box.store.apply_decay(forced=True)
    if hears:
        box.learn(interests=("tea",))
    assert {"tools.editor", "work.languages", "work.role"} <= set(box.meta)
    owned = box.store.find_ownership()
    assert (owned.paths, owned.elements) == (frozenset(), {})
    box.learn(tools__editor="emacs")
    assert box.profile["tools"] == {"editor": "emacs"}


def test_a_finding_while_a_sync_is_under_way(box: Box, tmp_path: Path) -> None:
    """P-17: this machine writes something else between the arrival of the profile and of its meta file."""
    box.learn(tools__editor="vim")
    there = Box(tmp_path / "there", box.clock)
    shutil.copytree(box.directory, there.directory)
    box.clock.advance(60)
    there.learn(tools__editor="helix")
    box.put("profile.json", there.profile)
    box.clock.advance(60)
    box.learn(interests=("tea",))
    box.clock.advance(3600)
    box.store.finish_pending()
    assert "tools.editor" in box.meta
    box.learn(tools__editor="emacs")
    assert box.profile["tools"] == {"editor": "helix"}  # not known as learned yet
    box.clock.advance(2 * DAY)
    box.store.finish_pending()
    assert "tools.editor" not in box.meta  # it never came: the value is the person's
    assert box.store.find_ownership().paths == {"tools.editor"}


# --- crashes ---------------------------------------------------------------------------------------------------------


def crash_steps(
    box: Box, begin: Callable[[], object], change: Callable[[FaultyDisk], object]
) -> Iterator[str]:
    """Crash a change at each of its steps on the disk, each time after `begin`; yield the step's name.

    Only the crashes that leave an intent count: after the others the change is made anew."""
    begin()
    trail = FaultyDisk()
    change(trail)
    for at, step in enumerate(trail.trail, 1):
        shutil.rmtree(box.root)
        box.root.mkdir()
        begin()
        try:
            change(FaultyDisk(crash_at=at))
        except Crash:
            (state,) = (box.root / "state" / "handlers" / "profile").glob("*.json")
            if json.loads(state.read_text())["intent"] is not None:
                yield step


@pytest.mark.parametrize("goes_through", [False, True], ids=["at once", "on a detour"])
def test_a_late_intent_does_not_replace_what_was_set_meanwhile(
    box: Box, other: Box, goes_through: bool
) -> None:
    """P-17: after a crash a person sets the value of before on another machine; it equals the intent's base."""

    def change(disk: FaultyDisk) -> None:
        open_store(box, disk).learn_finding(PartialProfile({"tools.editor": "helix"}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(tools__editor="vim"), change):
        box.clock.advance(1)
        if goes_through:
            other.store.set_value("tools.editor", "emacs")
            box.clock.advance(1)
        other.store.set_value("tools.editor", "vim")
        box.clock.advance(1)
        box.store.finish_pending()
        assert box.profile["tools"] == {"editor": "vim"}, step
        assert box.store.find_ownership().paths == other.store.find_ownership().paths == {"tools.editor"}, (
            step
        )
        assert "tools.editor" not in box.meta, step


def test_a_late_intent_does_not_bring_back_what_was_removed_meanwhile(box: Box, other: Box) -> None:
    """P-17: the value was set and removed on the other machine, so that there is none, as before."""

    def change(disk: FaultyDisk) -> None:
        said = PartialProfile({"tools.editor": "helix", "interests": ("tea", "go")})
        open_store(box, disk).learn_finding(said, "s", "x")

    for step in crash_steps(box, lambda: box.learn(interests=("chess",)), change):
        box.clock.advance(1)
        other.store.set_value("tools.editor", "vim")
        other.store.add_element("interests", "tea")
        box.clock.advance(1)
        other.store.remove_value("tools.editor")
        other.store.remove_value("interests", "tea")
        box.clock.advance(1)
        box.store.finish_pending()
        assert "tools" not in box.profile, step
        assert box.profile["interests"] == ["chess", "go"], step
        assert set(box.meta) == {"interests"}, step


def test_a_late_removal_leaves_what_was_claimed_meanwhile(box: Box, other: Box) -> None:
    """P-17: `no longer tea`, a crash, and `profile add interests tea` on the other machine, where it is there still."""

    def change(disk: FaultyDisk) -> None:
        open_store(box, disk).learn_finding(PartialProfile({}, {"interests": ("tea",)}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(interests=("chess", "tea")), change):
        box.clock.advance(1)
        other.store.add_element("interests", "tea")
        box.clock.advance(1)
        box.store.finish_pending()
        assert box.profile["interests"] == ["chess", "tea"], step
        for one in (box, other):
            assert one.store.find_ownership().elements == {"interests": ("tea",)}, step


def test_the_newer_finding_wins_over_a_late_intent(box: Box, other: Box) -> None:
    """P-30: what the other machine heard after the crash is newer, also if it is the value of before."""

    def change(disk: FaultyDisk) -> None:
        open_store(box, disk).learn_finding(PartialProfile({"tools.editor": "helix"}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(tools__editor="vim"), change):
        box.clock.advance(1)
        # The other machine cannot know who wrote it.
        written = box.profile["tools"]["editor"] == "helix"
        other.learn(tools__editor="vim", work__role="dev")
        box.store.finish_pending()
        assert written or box.profile["tools"] == {"editor": "vim"}, step
        assert written or box.store.find_ownership().paths == frozenset(), step


def test_a_late_intent_that_was_written_is_not_written_again(box: Box, other: Box) -> None:
    """P-17: after the crash a person undoes what was written, and the other machine writes something else."""

    def change(disk: FaultyDisk) -> None:
        open_store(box, disk).learn_finding(PartialProfile({"tools.editor": "helix"}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(tools__editor="vim"), change):
        if box.meta["tools.editor"]["seenCount"] == 1:
            continue  # the crash came before what tells that the profile was written
        box.edit(tools__editor="vim")
        box.clock.advance(1)
        other.learn(work__role="dev")
        box.store.finish_pending()
        assert box.profile["tools"] == {"editor": "vim"}, step
        assert box.store.find_ownership().paths == {"tools.editor"}, step
        assert {"tools": {"editor": "helix"}} in [one["changes"] for one in box.changelog], step


def test_what_is_finished_late_is_known_to_the_other_machine(box: Box, other: Box) -> None:
    """P-17, P-30: the entry of the changelog has the time of the write, so nothing is waited for."""

    def change(disk: FaultyDisk) -> None:
        open_store(box, disk).learn_finding(PartialProfile({"tools.editor": "vim"}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(work__role="dev"), change):
        box.clock.advance(3600)
        box.store.finish_pending()
        other.learn(tools__editor="helix")
        assert box.profile["tools"] == {"editor": "helix"}, step
        assert box.store.find_ownership().paths == frozenset(), step


def test_what_a_person_put_back_after_a_crash_stays(box: Box, other: Box) -> None:
    """P-17: the crash left the profile written; a person undid that by hand, and the other machine wrote something else."""

    def begin() -> None:
        box.learn(tools__editor="vim", interests=("tea", "go"), work__languages=("Go",))
        box.clock.advance(1)

    def change(disk: FaultyDisk) -> None:
        gone = {"interests": ("tea",), "work.languages": ("Go",)}
        open_store(box, disk).learn_finding(PartialProfile({"tools.editor": "helix"}, gone), "s", "x")

    for step in crash_steps(box, begin, change):
        if box.profile["tools"]["editor"] == "vim":
            continue  # nothing was written that could be undone
        box.edit(tools__editor="vim", interests=["tea", "go"], work__languages=["Go"])
        box.clock.advance(1)
        other.learn(work__role="dev", work__languages=("Zig",))
        box.clock.advance(1)
        for one in (box, other):
            one.store.finish_pending()
        for one in (box, other):
            one.learn(tools__editor="emacs")
            one.no_longer(tools__editor=("vim",), interests=("tea",), work__languages=("Go",))
            assert box.profile["tools"] == {"editor": "vim"}, step
            assert "tea" in box.profile["interests"], step
            assert "Go" in box.profile["work"]["languages"], step


def test_a_command_with_the_value_of_a_late_intent_is_the_persons(box: Box, other: Box) -> None:
    """P-17: a crash left the profile written, and nothing else; the person sets the same on the other machine."""

    def change(disk: FaultyDisk) -> None:
        box.clock.advance(1)
        said = PartialProfile({"tools.editor": "vim", "interests": ("tea",)})
        open_store(box, disk).learn_finding(said, "s", "x")

    for step in crash_steps(box, lambda: box.learn(work__role="dev"), change):
        box.clock.advance(1)
        other.store.set_value("tools.editor", "vim")
        other.store.add_element("interests", "tea")
        box.store.finish_pending()
        box.store.finish_pending()
        assert box.store.find_ownership().paths == {"tools.editor", "interests"}, step
        assert set(box.meta) == {"work.role"}, step


def test_a_command_for_what_was_heard_while_files_were_awaited(box: Box, other: Box) -> None:
    """P-17: the other machine heard the same before the crashed change was finished, and noted that nothing of the list is
    learned. So it took the element for the person's already, and `profile add` wrote nothing."""

    def change(disk: FaultyDisk) -> None:
        box.clock.advance(1)
        open_store(box, disk).learn_finding(PartialProfile({"interests": ("chess",)}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(work__role="dev"), change):
        for heard in ("chess", "tea"):
            box.clock.advance(1)
            other.learn(interests=(heard,))
        box.clock.advance(1)
        box.store.finish_pending()
        box.clock.advance(1)
        other.store.add_element("interests", "chess")
        box.clock.advance(1)
        for one in (box, other):
            one.no_longer(interests=("chess", "tea"))
            assert box.profile["interests"] == ["chess"], step


def test_a_list_that_a_person_began_before_a_late_intent(box: Box, other: Box) -> None:
    """P-17: the entry of a path that is created late begins when it is written, as its entry of the changelog. Otherwise the
    other machine does not know how the list began, and takes the person's element for learned."""

    def change(disk: FaultyDisk) -> None:
        box.clock.advance(1)
        open_store(box, disk).learn_finding(PartialProfile({"interests": ("tea",)}), "s", "x")

    for step in crash_steps(box, lambda: box.learn(work__role="dev"), change):
        if "interests" in box.profile:
            continue
        box.edit(interests=["chess"])
        box.clock.advance(60)
        box.store.finish_pending()
        assert box.meta["interests"]["firstSeen"] == box.changelog[-1]["timestamp"], step
        other.no_longer(interests=("chess",))
        assert box.profile["interests"] == ["chess", "tea"], step


def test_a_late_decay_leaves_what_was_heard_again(box: Box, other: Box) -> None:
    """P-14: decay crashed, and the other machine heard the value before it was finished."""

    def begin() -> None:
        box.learn(tools__editor="vim")
        box.clock.advance(100 * DAY)

    for step in crash_steps(box, begin, lambda disk: open_store(box, disk).apply_decay()):
        box.clock.advance(1)
        gone = "tools" not in box.profile
        other.learn(tools__editor="vim")
        box.store.finish_pending()
        assert box.profile["tools"] == {"editor": "vim"}, (step, gone)
        assert box.store.find_ownership().paths == other.store.find_ownership().paths == frozenset(), step


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
    open_store(box, disk).learn_finding(PartialProfile({path: value}), "s", id)
