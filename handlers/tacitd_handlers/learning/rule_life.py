"""The life of a rule: how often a person corrected the same before and after a line was written. Pure.

A correction before is one of the facts that the line was made of. A correction after is one that repeats the line
(`corrected_again` in a commit). A rewording (SPEC S-36) continues the life; a line that replaces another one otherwise begins a
new one, because it says something else. Nothing is changed by a judgement: a rule that is not heeded is only shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

KEPT = 50
"""Corrections of which the time is kept, the newest; more are only counted."""
UNHEEDED = 2
"""Corrections after a line was written that flag it."""
ENOUGH = 20
"""Messages read since a line was written, below which it is unknown whether it helps."""
PROPOSAL = "make it a check that runs by itself: a hook of Claude Code, or a rule of the project's linter"

Effect = Literal["not heeded", "corrected once since", "not corrected since", "unknown"]


class RuleLife(Struct, frozen=True):
    """The corrections of one line. Times are seconds since 1970, UTC, oldest first."""

    written: float
    """When the line was written for the first time, in whichever wording."""
    before: int = 0
    after: int = 0
    before_at: tuple[float, ...] = ()
    after_at: tuple[float, ...] = ()
    asked_before: int = 0
    """Messages of the project that were read before the line was written."""
    file: str = ""
    """Path relative to the project."""

    @property
    def is_unheeded(self) -> bool:
        """Whether it was corrected twice although it was written."""
        return self.after >= UNHEEDED


def begin_rule(
    at: float, corrections: int, times: Iterable[float], *, asked: int = 0, file: str = ""
) -> RuleLife:
    """The life of a line that was written at `at`.

    `corrections`: how many of its facts were corrections; `times`: when its prompts were typed, the newest of which are
    taken for the corrections; `asked`: the messages of the project that were read until then.
    """
    known = sorted(min(each, at) for each in times)[-corrections:] if corrections > 0 else []
    dated = [*([at] * (corrections - len(known))), *known]
    return RuleLife(
        at, max(0, corrections), 0, tuple(sorted(dated)[-KEPT:]), (), asked_before=asked, file=file
    )


def correct_rule(life: RuleLife, at: float) -> RuleLife:
    """The life after one more correction. A clock that was set back does not make it one from before the rule."""
    times = (*life.after_at, max(at, life.written))
    return replace(life, after=life.after + 1, after_at=tuple(sorted(times)[-KEPT:]))


def judge_rule(life: RuleLife, asked: int) -> tuple[Effect, str]:
    """Whether a rule helps, and why that is said. `asked`: the messages of the project that were read until now."""
    since = max(0, asked - life.asked_before)
    if life.is_unheeded:
        return "not heeded", PROPOSAL
    if life.after:
        return "corrected once since", "once more, and it is flagged"
    if since < ENOUGH:
        return "unknown", f"only {since} message{'' if since == 1 else 's'} since it was written"
    if not life.before:
        return "unknown", "it was said without a correction, so there is nothing to compare with"
    return "not corrected since", f"{since} messages since it was written"


def is_flagged(life: RuleLife, kept_at: float) -> bool:
    """Whether a person is to be asked about it. `kept_at`: when the person last kept it, seconds since 1970, UTC; 0: never."""
    return life.is_unheeded and not (life.after_at and life.after_at[-1] <= kept_at)


def list_unheeded(lives: Mapping[str, RuleLife]) -> tuple[str, ...]:
    """Given lives by line, return the lines that were corrected twice although written, the most often corrected first."""
    found = [line for line, life in lives.items() if life.is_unheeded]
    return tuple(sorted(found, key=lambda line: (-lives[line].after, line)))


def count_by_month(times: Sequence[float]) -> dict[str, int]:
    """How many times are in each local month: `{"2026-02": 2}`, oldest first."""
    return dict(sorted(Counter(datetime.fromtimestamp(at).strftime("%Y-%m") for at in times).items()))
