"""Decide whether the user or git removed a line (SPEC S-28).

A line that the user removed is not written again. A checkout, a stash, a reset or a rebase removes lines too, but that
does not show what the user wants. The functions are pure: the state of the file and of git are arguments.

A check compares a file with the previous check. A line that git removed gets no tombstone, so it can be learned again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tacitd_handlers.shared.fact_index import FactIndex


class GitView(Struct, frozen=True):
    """What git reported at the last check and reports now."""

    head_then: str | None
    """HEAD's commit at the last check; None if it is not known."""
    head_now: str | None
    in_progress: bool
    """A merge, rebase, cherry-pick, revert or bisect is under way."""
    known_blob: bool
    """The file's whole content is an object that git already has."""
    tracked: bool
    """Git tracks the file. Git does not change a file that it does not track."""


class RemovalVerdict(Struct, frozen=True):
    """The result of one check of a file. The lines are in the order in which they were written."""

    removed: tuple[str, ...] = ()
    """Lines that the user removed. Each gets a tombstone."""
    lifted: tuple[str, ...] = ()
    """Lines with a tombstone that are in the file again. Their tombstone is lifted."""


def judge_removals(
    ours: Mapping[str, float],
    then: Iterable[str],
    looked_at: float,
    now: Iterable[str] | None,
    tombstones: Iterable[str],
    git: GitView | None,
) -> RemovalVerdict:
    """Return which of our lines the user removed between two checks of their file.

    `ours`: the lines that tacitd wrote into the file, with the times of writing. `then`: the lines that the file contained
    at the last check, at the time `looked_at`. `now`: the lines that it contains, None if it is missing. `git`: None
    outside a git work tree. Times are seconds since 1970, UTC.

    A line that the user reworded counts as present while its meaning is the same (`find_equal`), otherwise as removed.
    """
    buried, present = tuple(tombstones), FactIndex(now or ())
    before = set(then)
    missing = tuple(
        line
        for line, written in sorted(ours.items(), key=lambda item: item[1])
        if (line in before or written > looked_at) and line not in buried and present.find_equal(line) is None
    )
    lifted = tuple(line for line in buried if present.find_equal(line) is not None)
    return RemovalVerdict(missing if _shows_decision(now is not None, git) else (), lifted)


def _shows_decision(file_exists: bool, git: GitView | None) -> bool:
    """Whether a missing line shows that the user removed it.

    Trigger: the whole file is missing. Why: `git clean`, a fresh clone and a moved folder have the same effect, and none
    of them is a decision about a line. Outcome: no line gets a tombstone.
    """
    if not file_exists:
        return False
    if git is None:
        return True
    if git.known_blob:
        return False
    if not git.tracked:
        return True
    return not git.in_progress and git.head_then is not None and git.head_then == git.head_now
