"""Which lines of learned files were written on this machine, read from the state directory. Nothing is written.

The daemon notes it when it keeps the mirrors in step (`mirrors/`). This module asks the same records for the context of a
session, where the client loads no mirror.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.log import Log
from tacitd.files.transaction import History
from tacitd.state.paths import state_dir
from tacitd_handlers.learning.mirrors.line_sources import hash_line
from tacitd_handlers.learning.mirrors.mirror_record import HOME, MirrorRecords
from tacitd_handlers.learning.mirrors.trusted_projects import LOG, TrustedProjects


class LocalLines:
    """What is known of one project's lines. Raises OSError if the state cannot be read."""

    def __init__(self, environ: Mapping[str, str], root: Path) -> None:
        state, clock = state_dir(environ), SystemClock()
        home = state / "handlers" / "learning"
        project = Project(root, git.find_repository(root) is not None)
        self._is_trusted = TrustedProjects(Log(home / LOG), clock).get_trust(project) == "trusted"
        self._record = MirrorRecords(home / HOME).load(root)
        history = History(Log(state / "history.jsonl"), clock)
        self._written = {
            (path, " ".join(line.split()))
            for (path, line), past in history.list_lines(root).items()
            if past.put_at is not None and past.taken_at is None
        }

    def select_local(self, path: Path, lines: Sequence[str]) -> list[str]:
        """Those of a file's list items that tacitd or a person wrote here; all of them in a trusted project."""
        if self._is_trusted:
            return list(lines)
        seen = self._record.sources.get(str(path))
        # A file that no record knows is the person's, unless git brought it.
        unknown_here = seen is None and not self._is_tracked(path)

        def is_local(line: str) -> bool:
            words = " ".join(line[2:].split())
            if unknown_here or (path, words) in self._written:
                return True
            return seen is not None and seen.lines.get(hash_line(words)) is True

        return [line for line in lines if is_local(line)]

    def _is_tracked(self, path: Path) -> bool:
        tree = git.find_repository(path.parent)
        if tree is None:
            return False
        tracked = git.list_tracked(tree.here, path.parent, path.name)
        return tracked is None or path.name.casefold() in tracked
