"""Files that handlers named as sources of their own: noticed when they change, once a minute and at `sync`.

A change while no daemon ran is not noticed here: a handler compares contents when it next uses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from loguru import logger

from tacitd.consumer import Consumer
from tacitd.events import NoProject, Project, SourceChanged

Look = tuple[int, int] | None


class Sources:
    """What the sources looked like when they were last seen. Engine thread only."""

    def __init__(self, consumers: Mapping[str, Consumer]) -> None:
        self._consumers = consumers
        self._looks: dict[tuple[str, Path, Path], Look] = {}
        self.projects: dict[Path, Project] = {}

    def know(self, project: Project | NoProject) -> None:
        """Work happens in this project: its sources count from now on, and what `git init` added to them."""
        if isinstance(project, Project) and self.projects.get(project.root) != project:
            self.projects[project.root] = project
            for name, consumer in self._consumers.items():
                for path in _sources(consumer, project):
                    self._looks.setdefault((name, project.root, path), _look(path))

    def changed(self) -> Iterator[tuple[str, SourceChanged]]:
        """Yield (handler, event) for each source that looks different from before."""
        for (name, root, path), before in list(self._looks.items()):
            now = _look(path)
            if now != before:
                self._looks[name, root, path] = now
                yield name, SourceChanged(self.projects[root], path)


def _sources(consumer: Consumer, project: Project) -> Sequence[Path]:
    try:
        return list(consumer.handler.sources(project))
    except Exception as error:  # noqa: BLE001  one failing handler never touches another
        logger.opt(exception=error).warning("{} cannot name its sources", consumer.name)
        return []


def _look(path: Path) -> Look:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
