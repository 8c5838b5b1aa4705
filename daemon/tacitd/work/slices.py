"""What one pass of the reader read and stores in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from tacitd.contract import Tx
from tacitd.events import NoProject, Project, Record
from tacitd.sources.position import Position
from tacitd.sources.transcript import Tail
from tacitd.work.project_rows import Choices, store_project


class Run(Struct, frozen=True):
    """Records of one slice that belong to one project."""

    place: Project | NoProject
    cwd: str
    records: tuple[Record, ...]


class Slice(Struct, frozen=True):
    """What was read of one transcript and is not stored yet."""

    path: Path
    tail: Tail
    start: int
    position: Position
    lines: int
    """Newlines before the position."""
    runs: tuple[Run, ...]
    read: int
    more: bool


class Ingest(Struct, frozen=True):
    """What holds for all slices of one transaction."""

    tx: Tx
    now: float
    choices: Choices
    behind: Mapping[str, set[str]]
    """By transcript the plugins that are to be given its records again."""
    projects: dict[Path, int] = field(default_factory=dict)
    """The numbers of the projects that were met, by their roots."""

    def find_project(self, project: Project) -> int:
        """The number of a project."""
        if project.root not in self.projects:
            self.projects[project.root] = store_project(self.tx, project, self.now)
        return self.projects[project.root]
