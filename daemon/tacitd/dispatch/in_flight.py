"""Which transcript is about to hand over which prompts, so that its forks do not hand them over as well.

Forks and resumes copy old records into new files (CLAUDE_CODE section 0 fact 13). A claim lasts while its transcript
gathers or is being worked on: it goes when the prompts were handled, when the work was parked undone, and when the
file is gone or another one. Nobody passes a claimed prompt by meanwhile, so a claim that goes loses nothing. No disk,
no clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class InFlightPrompts:
    """Claims by (handler, prompt id). Engine thread only."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, str], Path] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def claim_prompts(self, handler: str, ids: Iterable[str], owner: Path) -> None:
        """This transcript hands these over now."""
        for id in ids:
            self._owners[handler, id] = owner

    def get_owner(self, handler: str, id: str) -> Path | None:
        """The transcript that hands this prompt over; None where nobody does."""
        return self._owners.get((handler, id))

    def release_prompts(self, handler: str, ids: Iterable[str]) -> None:
        """These were handled."""
        for id in ids:
            self._owners.pop((handler, id), None)

    def release_owner(self, owner: Path, handler: str | None = None) -> None:
        """A transcript hands nothing over for now: to this handler, or to none."""
        gone = [key for key, path in self._owners.items() if path == owner and handler in (None, key[0])]
        for key in gone:
            del self._owners[key]
