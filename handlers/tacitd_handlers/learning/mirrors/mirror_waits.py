"""Edits of mirrors that wait until git is done with a work tree, such as for a lock that a killed git left. After an hour a
degradation names it. In memory only: the mirrors are looked at again after each start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tacitd.clock import Clock
from tacitd.files import git
from tacitd.handler import Degradation, Tools

PATIENCE = 3600.0
"""Seconds after which a degradation names what is waited for."""


class _Wait(Struct, frozen=True):
    """What one project waits for."""

    mark: Path
    """The file in the git directory."""
    since: float
    """Seconds of the monotonic clock."""
    is_named: bool


class MirrorWaits:
    """The projects with an edit that waits for git."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waits: dict[Path, _Wait] = {}

    def note_waits(self, root: Path, unsettled: Mapping[Path, Path], tools: Tools) -> None:
        """Note what a project waits for. `unsettled`: by mirror, the file that says that git is not done."""
        if not unsettled:
            self._end_wait(root, tools)
            return
        mirror, mark = min(unsettled.items())
        now, known = self._clock.monotonic(), self._waits.get(root)
        since = known.since if known is not None and known.mark == mark else now
        is_named = now - since >= PATIENCE
        self._waits[root] = _Wait(mark, since, is_named)
        if is_named:
            what = f"what you changed in {mirror} is not moved while {mark} exists, which it has for an hour"
            hint = f"remove {mark} if no git command runs there"
            if mark.name != git.INDEX_LOCK:
                hint = "finish what git has under way there, or abort it: `git status` says how"
            tools.degrade(Degradation(_make_id(root), what, hint))

    def list_due(self, tools: Tools) -> list[Path]:
        """The projects to look at again: git is done, or it is time to name what is waited for."""
        due, now = list[Path](), self._clock.monotonic()
        for root, wait in list(self._waits.items()):
            if not os.path.lexists(wait.mark):
                self._end_wait(root, tools)
                due.append(root)
            elif not wait.is_named and now - wait.since >= PATIENCE:
                due.append(root)
        return due

    def _end_wait(self, root: Path, tools: Tools) -> None:
        self._waits.pop(root, None)
        tools.clear(_make_id(root))


def _make_id(root: Path) -> str:
    return f"learning.unsettled:{root}"
