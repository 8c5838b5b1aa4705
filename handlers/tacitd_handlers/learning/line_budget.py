"""Which learned lines go to the archive when a file has too many: those that are confirmed least (S-54). Pure.

Never a prohibition, one that was said twice, that is from the last 30 days, or that a person moved or brought back.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tacitd_handlers.shared.words import forbids

YOUNG = 30 * 86_400.0
"""Seconds in which a line is not archived after it was written or said."""
SAID_TWICE = 2


class BudgetLine(Struct, frozen=True):
    """A line of ours in its file."""

    text: str
    confidence: float
    """0 to 1, now."""
    said: int
    at: float
    """When it was written or said last: seconds since 1970, UTC."""
    by_person: bool = False
    """Whether a person moved it or brought it back."""

    def is_protected(self, now: float) -> bool:
        """Whether it is never archived. `now`: seconds since 1970, UTC."""
        is_confirmed = self.said >= SAID_TWICE or self.by_person
        return is_confirmed or now - self.at < YOUNG or forbids(self.text)


def choose_surplus(lines: Iterable[BudgetLine], limit: int, now: float) -> list[str]:
    """Return the lines to archive so that at most `limit` are left, if so many may go; the least confirmed first."""
    listed = list(lines)
    open_ones = [one for one in listed if not one.is_protected(now)]
    open_ones.sort(key=lambda one: (one.confidence, one.said, one.at, one.text))
    return [one.text for one in open_ones[: max(0, len(listed) - limit)]]
