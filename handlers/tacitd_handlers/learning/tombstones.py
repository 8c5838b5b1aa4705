"""Did a person remove that line, or did git? (SPEC S-28, DESIGN "Files")

A line that a person removed is not written again. But a checkout, a stash, a reset or a rebase removes lines
too, and proves nothing about what a person wants. Pure: what the file and git look like comes as arguments.

What is judged is a passage from one look at a file to the next. A line that git took away is neither present
nor removed afterwards; it may be learned anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tacitd_handlers.shared.equality import find_equal


@dataclass(frozen=True, slots=True)
class GitView:
    """What git knew at the last look and knows now."""

    head_then: str | None
    """HEAD's commit at the last look; None where it was not noted."""
    head_now: str | None
    in_progress: bool
    """A merge, rebase, cherry-pick, revert or bisect is under way."""
    known_blob: bool
    """The file's whole content is an object that git already has."""
    tracked: bool
    """Git tracks the file, or did at the last look. A file that git never tracked is not changed by it."""


@dataclass(frozen=True, slots=True)
class RemovalVerdict:
    """What one look at a file says about our lines. Each in the order in which they were written."""

    removed: tuple[str, ...] = ()
    """Taken out by a person: each gets a tombstone."""
    undecided: tuple[str, ...] = ()
    """Gone, and nothing is concluded from it."""
    lifted: tuple[str, ...] = ()
    """Tombstones whose line is back: it may be written again."""
    undecided_because: str = ""


def judge_removals(
    ours: Mapping[str, float],
    then: Iterable[str],
    looked_at: float,
    now: Iterable[str] | None,
    tombstones: Iterable[str],
    git: GitView | None,
) -> RemovalVerdict:
    """Given our lines and two looks at their file, return what a person removed.

    `ours`: every line that tacitd ever wrote into the file, with when (seconds since 1970). `then`: the lines
    that the file held at the last look, at `looked_at`. `now`: the lines it holds, None where it is gone.
    `git`: None outside a git work tree. A line that a person worded anew counts as present while it says the
    same, and as removed once it says something else.
    """
    dead, present = tuple(tombstones), tuple(now or ())
    before = set(then)
    gone = tuple(
        line
        for line, written in sorted(ours.items(), key=lambda item: item[1])
        if (line in before or written > looked_at) and line not in dead and find_equal(line, present) is None
    )
    lifted = tuple(line for line in dead if find_equal(line, present) is not None)
    why = _no_conclusion(now is None, git)
    if why:
        return RemovalVerdict(undecided=gone, lifted=lifted, undecided_because=why if gone else "")
    return RemovalVerdict(removed=gone, lifted=lifted)


def _no_conclusion(file_gone: bool, git: GitView | None) -> str:
    """Why a missing line proves nothing; "" where it does.

    Trigger: the whole file is gone. Why: `git clean`, a fresh clone and a moved folder look like that, and none
    of them is a word about a line. Outcome: nothing is concluded.
    """
    if file_gone:
        return "the whole file is gone"
    if git is None:
        return ""
    if git.known_blob:
        return "git has this content already"
    if not git.tracked:
        return ""
    if git.in_progress:
        return "a merge or rebase is in progress"
    return "HEAD has moved" if git.head_then is None or git.head_then != git.head_now else ""
