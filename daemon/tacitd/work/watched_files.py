"""Files that handlers of the first contract name as sources of their own. A job compares them once a minute, and at `sync`.

A change while no daemon ran is not found here: a handler compares contents when it next uses them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from loguru import logger

from tacitd.events import Project, SourceChanged
from tacitd.work.handler_adapter import AdaptedHandler

FileStamp = tuple[int, int] | None


class WatchedFiles:
    """The state of each source when it was compared last. Used in workers: it looks at files of projects."""

    def __init__(self, handlers: Mapping[str, AdaptedHandler], projects: Mapping[Path, Project]) -> None:
        """`projects`: those that are watched; others may be added at any time."""
        self._handlers = handlers
        self._projects = projects
        self._stamps: dict[tuple[str, Path, Path], FileStamp] = {}
        self._known: set[Path] = set()
        self._lock = threading.Lock()

    def poll_changes(self) -> list[tuple[str, SourceChanged]]:
        """Return (handler, event) for each source that has changed.

        A file that a handler has named since counts as changed: it may have been edited or removed before the first look.
        """
        with self._lock:
            new = self._look_at_new()
            changed = list[tuple[str, SourceChanged]]()
            stamps: dict[tuple[str, Path, Path], FileStamp] = {}
            for name, one in list(self._handlers.items()):
                for root, project in list(self._projects.items()):
                    listed = _list_sources(one, project)
                    if listed is None:
                        listed = [path for owner, top, path in self._stamps if (owner, top) == (name, root)]
                    for path in listed:
                        key, now = (name, root, path), _read_stamp(path)
                        stamps[key] = now
                        if self._stamps.get(key, "new") != now and key not in new:
                            changed.append((name, SourceChanged(project, path)))
            self._stamps = stamps
            return changed

    def _look_at_new(self) -> set[tuple[str, Path, Path]]:
        found = set[tuple[str, Path, Path]]()
        for root, project in list(self._projects.items()):
            if root in self._known:
                continue
            self._known.add(root)
            for name, one in list(self._handlers.items()):
                for path in _list_sources(one, project) or ():
                    self._stamps[name, root, path] = _read_stamp(path)
                    found.add((name, root, path))
        return found


def _list_sources(one: AdaptedHandler, project: Project) -> Sequence[Path] | None:
    """The sources that a handler names now; None if it fails."""
    try:
        return list(one.handler.sources(project))
    except Exception as error:  # noqa: BLE001  a failing handler affects no other
        logger.opt(exception=error).warning("{} cannot name its sources", one.name)
        return None


def _read_stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
