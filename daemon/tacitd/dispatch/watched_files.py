"""Files that handlers name as sources of their own. They are compared once a minute, and at `sync`.

A change while no daemon ran is not found here: a handler compares contents when it next uses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from loguru import logger

from tacitd.consumers.consumer import Consumer
from tacitd.events import NoProject, Project, SourceChanged

FileStamp = tuple[int, int] | None


class WatchedFiles:
    """The state of each source when it was compared last. Engine thread only."""

    def __init__(self, consumers: Mapping[str, Consumer]) -> None:
        self._consumers = consumers
        self._stamps: dict[tuple[str, Path, Path], FileStamp] = {}
        self.projects: dict[Path, Project] = {}

    def watch_project(self, project: Project | NoProject | None) -> None:
        """Watch a project's sources from now on; if the project has changed (`git init`), also the ones that it gained."""
        if isinstance(project, Project) and self.projects.get(project.root) != project:
            self.projects[project.root] = project
            for name, consumer in self._consumers.items():
                for path in _list_sources(consumer, project) or ():
                    self._stamps.setdefault((name, project.root, path), _read_stamp(path))

    def poll_changes(self) -> Iterator[tuple[str, SourceChanged]]:
        """Yield (handler, event) for each source that has changed.

        A file that a handler has named since counts as changed: it may have been edited or removed before the first look.
        """
        for name, root, path in self._watch_new_sources():
            yield name, SourceChanged(self.projects[root], path)
        for (name, root, path), before in list(self._stamps.items()):
            now = _read_stamp(path)
            if now != before:
                self._stamps[name, root, path] = now
                yield name, SourceChanged(self.projects[root], path)

    def _watch_new_sources(self) -> list[tuple[str, Path, Path]]:
        """Watch the files that a handler has named since, and return them. Those that it names no more are watched no more."""
        known: dict[tuple[str, Path], list[Path]] = {}
        for name, root, path in self._stamps:
            known.setdefault((name, root), []).append(path)
        stamps: dict[tuple[str, Path, Path], FileStamp] = {}
        for name, consumer in self._consumers.items():
            for root, project in self.projects.items():
                listed = _list_sources(consumer, project)
                for path in listed if listed is not None else known.get((name, root), ()):
                    key = (name, root, path)
                    stamps[key] = self._stamps[key] if key in self._stamps else _read_stamp(path)
        new = [key for key in stamps if key not in self._stamps]
        self._stamps = stamps
        return new


def _list_sources(consumer: Consumer, project: Project) -> Sequence[Path] | None:
    """The sources that a handler names now; None if it fails."""
    try:
        return list(consumer.handler.sources(project))
    except Exception as error:  # noqa: BLE001  a failing handler affects no other
        logger.opt(exception=error).warning("{} cannot name its sources", consumer.name)
        return None


def _read_stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
