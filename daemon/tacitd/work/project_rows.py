"""Rows of `project`, and what a person chose for a project: exclusion, sharing, pauses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project
from tacitd.store import open_readonly

if TYPE_CHECKING:
    from tacitd.contract import Row, Rows, Tx

Passed = Literal["", "paused", "excluded", "no project"]
"""Why the text of a prompt is not kept; "" if it is."""
ASKED = ("decision", "command", "undo", "purge")
"""Kinds of tasks that a person waits for: a pause does not hold them."""


class Choices(Struct, frozen=True):
    """What a person chose and what is configured, as it holds for one pass."""

    paused: frozenset[tuple[str, str]] = frozenset()
    """Scope and name of what is paused."""
    excluded: frozenset[str] = frozenset()
    """Roots of projects."""
    excludes_all: bool = False
    spans: tuple[Row, ...] = ()
    """Pauses: scope, name, from and until; infinity, if it did not end."""

    def find_pause(self, root: str, session: str) -> str:
        """The widest pause of work of a session in a project: its scope, and its name after a space; "" if there is none."""
        wide_first = ("all", ""), ("session", session), ("project", root)
        return next((" ".join(one).strip() for one in wide_first if one in self.paused), "")

    def is_excluded(self, root: str) -> bool:
        return self.excludes_all or root in self.excluded

    def is_paused_at(self, place: Project | NoProject, session: str, written: float | None) -> bool:
        """Whether what was written here at this time is of a pause. If that is not known, what holds now counts."""
        return any(
            (until == math.inf if written is None else since <= written < until)
            and _is_covered(scope, name, place, session)
            for scope, name, since, until in self.spans
        )

    def passes(self, place: Project | NoProject, session: str) -> Passed:
        """Why the text of a prompt typed here is not kept, apart from pauses."""
        if isinstance(place, NoProject):
            return "" if place.gone else "excluded" if place.excluded else "no project"
        return "excluded" if self.is_excluded(str(place.root)) else ""


def read_choices(rows: Rows, default_mode: str, now: float) -> Choices:
    open_ones = rows("SELECT scope, name, at FROM choice WHERE what = 'pause'")
    spans = rows("SELECT scope, name, since, until FROM pause_span")
    spans += [(scope, name, find_begin(at, now), math.inf) for scope, name, at in open_ones]
    excluded = frozenset(name for (name,) in rows("SELECT name FROM choice WHERE what = 'exclude'"))
    paused = frozenset((scope, name) for scope, name, _ in open_ones)
    return Choices(paused, excluded, default_mode == "off", tuple(spans))


def _is_covered(scope: str, name: str, place: Project | NoProject, session: str) -> bool:
    """A directory that cannot be found now, and lies in the project, is covered too."""
    if scope == "project":
        path = str(place.root) if isinstance(place, Project) else place.cwd
        return path == name or (isinstance(place, NoProject) and path.startswith(f"{name}/"))
    return scope == "all" or session == name


def find_begin(at: float, now: float) -> float:
    """When a pause began. If that is in the future, the clock was set back, and everything that is read is of the pause."""
    return at if at <= now else -math.inf


def list_aliases(rows: Rows) -> dict[str, str]:
    """The directories of containers or other machines, with those that they are here."""
    sql = "SELECT name, value FROM choice WHERE scope = 'project' AND what = 'alias' ORDER BY name"
    return dict(rows(sql))


def store_project(tx: Tx, project: Project, now: float) -> int:
    """Return the number of its row."""
    root = str(project.root)
    for (number,) in tx.rows("SELECT number FROM project WHERE root = ?", root):
        return int(number)
    common = f"{root}/.git" if project.git else None
    taken = tx.rows("SELECT 1 FROM project WHERE common = ?", common)
    sql = "INSERT INTO project(root, common, first_seen) VALUES(?, ?, ?)"
    return tx.execute(sql, root, None if taken else common, now).row


def list_known_projects(state_dir: Path) -> list[str]:
    """The roots of all projects in the store, sorted; [] if it cannot be read."""
    try:
        store = open_readonly(state_dir)
        if store is None:
            return []
        with store:
            return [root for (root,) in store.rows("SELECT root FROM project ORDER BY root")]
    except TacitdError:
        return []
