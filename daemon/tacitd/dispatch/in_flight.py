"""Which transcript has which prompts in flight, so that its forks do not offer them as well. No disk, no clock.

Claude Code's forks and resumes copy old records into new files (CLAUDE_CODE section 0 fact 13). A claim lasts from the first
offer until the prompts were handled, the work was parked undone, or the file was removed or replaced. A fork waits before a
claimed prompt and does not skip it, so no prompt is lost when a claim is released.
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
        """This transcript offers these prompts now."""
        for id in ids:
            self._owners[handler, id] = owner

    def get_owner(self, handler: str, id: str) -> Path | None:
        """The transcript that has this prompt in flight; None if none has."""
        return self._owners.get((handler, id))

    def release_prompts(self, handler: str, ids: Iterable[str]) -> None:
        """These prompts were handled or dropped."""
        for id in ids:
            self._owners.pop((handler, id), None)

    def release_owner(self, owner: Path, handler: str | None = None) -> None:
        """A transcript has nothing in flight any more: for this handler, or for all (None)."""
        keys = [key for key, path in self._owners.items() if path == owner and handler in (None, key[0])]
        for key in keys:
            del self._owners[key]
