"""Retest suggestions (SPEC L-50), from the profile alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tacitd_handlers.learner.formats.profile_md import LearnerProfile
from tacitd_handlers.learner.rules.resolution import retest_due


class Retest(Struct, frozen=True):
    """A short-term resolved weakness that was not tested for 14 days or more."""

    label: str
    tested: str
    days: int

    @property
    def line(self) -> str:
        """The line in the format that the skill reads."""
        return f"- {self.label} (last tested {self.tested}, {self.days // 7} weeks ago)"


def find_retests(profile: LearnerProfile, now: str) -> list[Retest]:
    """The retests that are due, in the order of the profile. `now`: the local time, as a stamp."""
    found = []
    for placed in profile.weaknesses:
        entry = placed.entry
        days = retest_due(entry.status or "", entry.tested or "", now)
        if days is not None:
            found.append(Retest(entry.label, entry.tested or "", days))
    return found


def format_block(found: Sequence[Retest]) -> str:
    """The block of the session start; "" if there are no retests."""
    if not found:
        return ""
    lines = ["=== RETEST SUGGESTIONS ===", *(one.line for one in found), "=== END RETEST SUGGESTIONS ==="]
    return "\n".join(lines) + "\n"
