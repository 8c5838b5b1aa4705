"""Sessions that the skill wrote while nobody synced: their rows are folded one by one, each with the room of its time."""

from __future__ import annotations

import contextlib
import errno
import shutil
from pathlib import Path

import pytest

from support_learner import Desk, stamp
from support_learner_oracle import disagreements
from support_learner_skill import TeachingSkill
from tacitd.testing import Crash, FaultyDisk
from tacitd_handlers.learner.archiving import archive_weakness
from tacitd_handlers.learner.rules.vocabulary import RECURRING, SHORT
from tacitd_handlers.learner.state import encode_state


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def skill(desk: Desk) -> TeachingSkill:
    return TeachingSkill(desk.where.profile, desk.where.ledger)


def test_L_27_an_entry_takes_no_room_before_its_session(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-27: an entry that the skill wrote in a later session does not fill the list in an earlier one, so nothing is
    promoted for a gap that finds room.
    """
    desk.record("back", days=0, gaps="edge:back", pattern="back")
    for day in (1, 2, 30, 31):
        desk.record("back", days=day, pattern="back")
    for at, name in enumerate(("first", "second")):
        desk.record(name, days=40 + at, gaps=f"edge:{name}", pattern=name)
        for day in (43, 45, 80):
            desk.record(name, days=day + at, pattern=name)
    for number in range(16):
        desk.record(f"p{number}", days=90 + number, gaps=f"edge:other_{number}", pattern="other")
    assert (len(desk.state.lists.active), desk.state.lists.resolved) == (18, ["edge:back"])
    skill.write_session(stamp(120), "back", gaps={"edge:back": ""}, pattern="back", labels={})
    skill.write_session(stamp(121), "second", clean=["edge:second"], pattern="second")
    new = {tag: tag for tag in ("edge:new_1", "edge:new_2")}
    skill.write_session(stamp(122), "new", gaps=new, pattern="new")
    desk.look()
    assert disagreements(desk.text, desk.ledger) == []
    assert desk.state.lists.resolved == ["edge:second"]
    assert desk.entry("edge:first").status == SHORT


def test_L_27_an_entry_of_the_skill_stays_in_a_full_list(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-27, X-07: what the skill wrote although the list was full keeps its text, also if none can be promoted."""
    for number in range(20):
        desk.record(f"p{number}", days=number, gaps=f"edge:other_{number}", pattern="other")
    skill.write_session(
        stamp(80), "new", gaps={"edge:new_thing": "New thing"}, describe={"New thing": "my words"}
    )
    for _ in range(2):
        desk.look(first=True)
    assert desk.entry("New thing").description == "my words"
    assert desk.state.lists.pending == ["edge:other_19"]


def test_L_29_a_gap_that_returns_fills_the_list_before_a_later_one(desk: Desk, skill: TeachingSkill) -> None:
    """SPEC L-27, L-29: the skill filled the list and did not count a gap that returns from Resolved: there are never more
    than twenty, and the last one waits with its label and its words.
    """
    desk.record("back", days=0, gaps="edge:back", pattern="back")
    for day in (1, 2, 30, 31):
        desk.record("back", days=day, pattern="back")
    for number in range(19):
        label = f"Other thing {number}"
        skill.write_session(
            stamp(60 + number), f"p{number}", gaps={f"edge:other_{number}": label}, pattern="o"
        )
        desk.look()
    assert (len(desk.state.lists.active), desk.state.lists.resolved) == (19, ["edge:back"])
    skill.write_session(stamp(120), "back", gaps={"edge:back": ""}, pattern="back", labels={})
    words = {"Late thing": "my words"}
    skill.write_session(stamp(121), "late", gaps={"edge:late": "Late thing"}, pattern="late", describe=words)
    desk.look()
    assert desk.state.lists.pending == ["edge:late"] and len(desk.state.lists.active) == 20
    assert "Late thing" not in desk.text and desk.entry("edge:back").status == RECURRING
    assert desk.text.count("  Status: ") == 20
    archive(desk, "Other thing 3")
    assert desk.entry("Late thing").description == "my words" and not desk.state.lists.pending


def archive(desk: Desk, label: str) -> None:
    with desk.store().locked():
        archive_weakness(desk.store(), label)


def fill_list(desk: Desk, skill: TeachingSkill) -> None:
    """Twenty active weaknesses and one that waits; then sessions that nobody synced, by which one is promoted for it."""
    for at, name in enumerate(("first", "second")):
        desk.record(name, days=at, gaps=f"edge:{name}", pattern=name)
        for day in (3, 5):
            desk.record(name, days=day + at, pattern=name)
    for number in range(18):
        desk.record(f"p{number}", days=50 + number, gaps=f"edge:other_{number}", pattern="other")
    desk.record("waits", days=70, gaps="edge:waits", pattern="waits")
    assert desk.state.lists.pending == ["edge:waits"]
    skill.write_session(stamp(150), "first", clean=["edge:first"], pattern="first")
    again = {"edge:other_3": "edge:other_3"}
    skill.write_session(stamp(151), "second", gaps=again, clean=["edge:second"], pattern="second")


@pytest.mark.parametrize("kind", ["crash", "torn", "earlier version", errno.ENOSPC, errno.EIO])
def test_L_37_a_crash_between_profile_and_state(tmp_path: Path, kind: str | int) -> None:
    """SPEC L-37: wherever a sync ends that took over labels and promoted for room, the next one ends as if nothing happened."""

    full = Desk(tmp_path / "full")
    fill_list(full, TeachingSkill(full.where.profile, full.where.ledger))

    def sync(home: Path, at: int) -> tuple[str, object, list[str]]:
        desk = Desk(home)
        shutil.copytree(full.home, desk.home, dirs_exist_ok=True)
        disk = FaultyDisk(crash_at=at, torn=kind == "torn")
        if isinstance(kind, int):
            disk = FaultyDisk(fail_at=at, code=kind, torn=True)
        store = desk.store(disk)
        with contextlib.suppress(Crash, OSError), store.locked():
            store.sync_files(first=True, force=True)
        steps.append(len(disk.trail))
        if desk.state.planned is not None:
            planned.append(at)
            if kind == "earlier version":
                (desk.where.home / "state.next.json").write_bytes(encode_state(desk.state.planned))
                desk.store().save_state(desk.state)
        desk.look(first=True)
        assert not list(desk.where.home.glob("state.next*")) and desk.state.planned is None
        return desk.text, desk.state.lists, desk.store().notes.read_state().pending_lines

    steps: list[int] = []
    planned: list[int] = []
    expected = sync(tmp_path / "none", 0)
    assert steps[0] > 5
    for at in range(1, steps[0] + 1):
        assert sync(tmp_path / str(at), at) == expected, at
    assert len(planned) > 4
