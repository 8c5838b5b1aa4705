"""Whether the user or git removed a line."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tacitd_handlers.learning.tombstones import GitView, RemovalVerdict, judge_removals

OURS = {"Use tabs": 10.0, "Use pnpm, not npm": 20.0}
BOTH = list(OURS)
STILL = GitView("abc", "abc", in_progress=False, known_blob=False, tracked=True)


@pytest.mark.parametrize("git", [None, STILL, replace(STILL, tracked=False)])
def test_a_person_removed_it(git: GitView | None) -> None:
    """S-28: git did not change anything, so the user removed it."""
    assert judge_removals(OURS, BOTH, 30.0, ["Use tabs"], [], git) == RemovalVerdict(
        removed=("Use pnpm, not npm",)
    )


@pytest.mark.parametrize(
    "git",
    [
        replace(STILL, head_now="def"),
        replace(STILL, head_then=None),
        replace(STILL, head_then=None, head_now=None),
        replace(STILL, in_progress=True),
        replace(STILL, known_blob=True),
        replace(STILL, known_blob=True, tracked=False),
    ],
)
def test_git_removed_it(git: GitView) -> None:
    """S-28: after a checkout, stash, reset or rebase a missing line gets no tombstone."""
    assert judge_removals(OURS, BOTH, 30.0, ["Use tabs"], [], git) == RemovalVerdict()


@pytest.mark.parametrize(
    "git", [replace(STILL, head_now="def", tracked=False), replace(STILL, in_progress=True, tracked=False)]
)
def test_git_does_not_touch_what_it_never_tracked(git: GitView) -> None:
    """S-28: LEARNED.md is excluded by default; a commit in between must not hide the user's removal."""
    assert judge_removals(OURS, BOTH, 30.0, ["Use tabs"], [], git).removed == ("Use pnpm, not npm",)


def test_the_whole_file_gone_proves_nothing() -> None:
    """S-28: `git clean` and a fresh clone have this effect; an emptied file is the user's removal."""
    assert judge_removals(OURS, BOTH, 30.0, None, [], None) == RemovalVerdict()
    assert judge_removals(OURS, BOTH, 30.0, [], [], None).removed == tuple(BOTH)


def test_a_line_that_comes_back_lifts_its_tombstone() -> None:
    """S-28: a reworded line counts as back, whatever git does."""
    moved = replace(STILL, head_now="def")
    assert judge_removals(OURS, [], 30.0, ["use tabs."], ["Use tabs"], moved) == RemovalVerdict(
        lifted=("Use tabs",)
    )


def test_moved_or_worded_anew_is_not_removed() -> None:
    """S-28: a change of order or case is not a removal; another meaning is."""
    assert judge_removals(OURS, BOTH, 30.0, ["use pnpm, not npm.", "Use tabs"], [], None) == RemovalVerdict()
    assert judge_removals(OURS, BOTH, 30.0, ["Use npm, not pnpm", "Use tabs"], [], None).removed == (
        "Use pnpm, not npm",
    )


def test_a_tombstone_is_made_once() -> None:
    """S-28, S-29: a second check gives nothing new."""
    assert judge_removals(OURS, BOTH, 30.0, ["Use tabs"], ["Use pnpm, not npm"], None) == RemovalVerdict()


def test_what_git_took_away_gets_no_tombstone_later() -> None:
    """S-28: the line was missing at the last check too, so it is not a new removal."""
    assert judge_removals(OURS, ["Use tabs"], 30.0, ["Use tabs"], [], STILL) == RemovalVerdict()


def test_a_line_written_since_the_last_look_counts() -> None:
    """S-28: a line that was put and removed between two checks counts as removed."""
    assert judge_removals(OURS, ["Use tabs"], 15.0, ["Use tabs"], [], STILL).removed == ("Use pnpm, not npm",)
