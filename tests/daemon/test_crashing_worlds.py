"""What runs the stories again with crashes and failures of a disk notices a difference, and says at which step."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from support_crash_plan import OPEN, CrashPlan, FaultPlan
from support_crash_runs import check_crashes, load_stories
from support_crashes import STEPS
from support_recording import Files, record_files
from support_world import make_world
from tacitd.testing import World

STORY = """
from support_crashes import STEPS

def test_story(begin):
    with begin({"use pnpm": "Use pnpm"}) as world:
        world.type("s1", "use pnpm").leave("s1")
        if len(STEPS.crashed) > MORE:
            world.write("LEARNED.md", "")
        assert world.bullets("LEARNED.md") == ["Use pnpm"]
"""
"""A story whose lines are lost if a step fails."""


def tell(tmp_path: Path, more: int) -> tuple[Path, Files, list[str]]:
    """Write the story, which stands more failures than it should; return its file, what it leaves, and its steps."""
    path = tmp_path / "story.py"
    path.write_text(STORY.replace("MORE", str(more)))
    worlds = list[World]()

    def begin(*arguments: dict[str, str]) -> World:
        worlds.append(make_world(tmp_path / "first", *arguments))
        return worlds[0]

    STEPS.reset()
    with STEPS.everywhere():
        load_stories(path)["test_story"](begin)
    return path, record_files(worlds[0]), [*STEPS.trail]


@pytest.mark.parametrize("error", [0, errno.ENOSPC])
def test_a_story_that_loses_its_lines_fails(tmp_path: Path, error: int) -> None:
    """RELIABILITY 2 and 3: at a step in the middle, the others are the same."""
    path, recorded, steps = tell(tmp_path, 0)
    at = steps.index("write")
    with pytest.raises(AssertionError, match=rf"-at {at + 1}.* write \(daemon\)"):
        check_crashes([([at + 1], error)], path, "test_story", {}, tmp_path, recorded)


def test_a_story_that_loses_nothing_passes(tmp_path: Path) -> None:
    """Three crashes in one run: each is reached."""
    path, recorded, steps = tell(tmp_path, 9)
    at = [number for number, step in enumerate(steps, 1) if step == "committed"][:3]
    (made,) = check_crashes([(at, 0)], path, "test_story", {}, tmp_path, recorded)
    assert made.steps.startswith("committed (daemon), ") and made.steps.count("(daemon)") == 3


def test_a_crash_that_is_not_reached_fails(tmp_path: Path) -> None:
    """A run that had fewer crashes than asked shows nothing: each is tried alone, and the missing one is named."""
    path, recorded, steps = tell(tmp_path, 9)
    with pytest.raises(AssertionError, match=r"without it:\n--crash-at 9999, not reached"):
        check_crashes([([steps.index("write") + 1, 9999], 0)], path, "test_story", {}, tmp_path, recorded)


def test_what_is_open_excuses_its_lines_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a story with a known difference, what else differs fails."""
    path, recorded, steps = tell(tmp_path, 0)
    at, recorded["work/app/note"] = [steps.index("write") + 1], ["kept"]
    path.write_text(STORY.replace("MORE", "0").replace('"LEARNED.md", ""', '"note", "kept\\nmore"'))
    monkeypatch.setitem(OPEN, "test_story", ("known", "^more$", ""))
    (made,) = check_crashes([(at, 0)], path, "test_story", {}, tmp_path, recorded)
    assert made.why == "open: known"
    monkeypatch.setitem(OPEN, "test_story", ("known", "^else$", ""))
    with pytest.raises(AssertionError, match=r"\+more"):
        check_crashes([(at, 0)], path, "test_story", {}, tmp_path, recorded)


def test_the_steps_are_those_of_the_seed() -> None:
    """As many as asked, of the story alone; the failures of a disk each in a run of its own."""
    steps, ways = ["write", "sync", "committed"] * 20, list(range(60))
    ((group, error),) = CrashPlan(3, 0, 7).choose_steps("a", steps, ways)
    assert len({*group}) == 3 and error == 0
    assert CrashPlan(3, 0, 7).choose_steps("a", steps, ways) == [(group, 0)]
    assert CrashPlan(3, 0, 8).choose_steps("a", steps, ways) != [(group, 0)]
    assert [len(group) for group, _ in FaultPlan(2, 0, 7).choose_steps("a", steps, ways)] == [1, 1]
    assert CrashPlan(3, 0, 7, [99]).choose_steps("a", steps, ways) == []
