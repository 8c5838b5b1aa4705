"""Which folders a session worked in, and how often (SPEC S-30)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tacitd.events import Project, TranscriptGrew
from tacitd.files import git
from tacitd_handlers.learning.session_folders import folders_of


class SessionFolders:
    """Counts the folders that a session worked in (SPEC S-30).

    While the model does not answer, the engine offers the same records several times; they are counted once.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._read: dict[Path, int] = {}

    def count_folders(self, event: TranscriptGrew, project: Project) -> None:
        """Count the folders of the files that the records' tools read or wrote."""
        mark = self._read.get(event.transcript, 0)
        uses = [use for record in event.records if record.start >= mark for use in record.tools]
        self._read[event.transcript] = max(mark, event.end)
        cwd = next((r.cwd for r in reversed(event.records) if r.cwd), "")
        here = git.find_repository(Path(cwd)) if cwd.startswith("/") and uses else None
        worktrees = [str(here.here)] if here is not None and here.top == project.root else []
        for use in uses:
            self._counts.update(folders_of(str(project.root), [use], cwd=cwd, worktrees=worktrees))

    def list_folders(self) -> tuple[str, ...]:
        """The most frequent folders first, at most 30, relative to the project."""
        return tuple(name for name, _ in self._counts.most_common(30))
