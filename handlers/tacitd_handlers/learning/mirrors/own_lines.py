"""The lines that tacitd wrote in a project, or moved there for the person: the history has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from tacitd.events import Project
from tacitd.files.operations import Operation, PutLine, SwapLine
from tacitd.files.transaction import History
from tacitd_handlers.learning.folders import AGENTS, LEARNED, RULES


class OwnLines(Struct, frozen=True):
    """The lines and headings that tacitd wrote in a project, or moved for the person."""

    lines: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By file relative to the work tree: texts of bullets, with white space normalised."""
    headings: frozenset[str] = frozenset()

    @property
    def folders(self) -> list[str]:
        """The module folders with lines."""
        return [
            name.removesuffix(f"/{AGENTS}")
            for name in self.lines
            if name.endswith(f"/{AGENTS}") and name != RULES
        ]


def find_own_lines(history: History, project: Project, operations: Iterable[Operation] = ()) -> OwnLines:
    """Return tacitd's lines from the history, and those of operations that are about to be carried out. Raises OSError."""
    found: dict[str, set[str]] = {}

    def add(path: Path, line: str) -> None:
        if path.is_relative_to(project.root):
            name = path.relative_to(project.root).as_posix()
            if name == LEARNED or (name.endswith(f"/{AGENTS}") and name.isprintable()):
                found.setdefault(name, set()).add(" ".join(line.split()))

    for (path, line), past in history.list_lines(project.root).items():
        if past.put_at is not None and past.taken_at is None:
            add(path, line)
    headings: set[str] = set()
    done = (each for one in history.list_transactions(project.root) for each in one.operations)
    for operation in (*done, *operations):
        if isinstance(operation, PutLine | SwapLine):
            headings.add(operation.heading)
    for operation in operations:
        match operation:
            case PutLine(path=path, line=line) | SwapLine(path=path, new=line):
                add(path, line)
            case _:
                pass
    return OwnLines({name: frozenset(lines) for name, lines in found.items()}, frozenset(headings))
