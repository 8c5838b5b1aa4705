"""Rows of `project`, and what a person chose for a project: exclusion, sharing, pauses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field

from tacitd.contract import Row, Tx, Value
from tacitd.events import NoProject, Project

Passed = Literal["", "paused", "excluded", "no project"]
"""Why the text of a prompt is not kept; "" if it is."""


class Reading(Protocol):
    """What has rows: a transaction or the store."""

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Return all rows of a SELECT."""
        ...


class Choices(Struct, frozen=True):
    """What a person chose and what is configured, as it holds for one pass."""

    paused_all: bool = False
    paused_projects: frozenset[str] = frozenset()
    paused_sessions: frozenset[str] = frozenset()
    modes: Mapping[str, str] = field(default_factory=dict)
    """The write mode of each project with a choice of its own, by its root."""
    default_mode: str = "local"
    spans: tuple[Row, ...] = ()
    """Pauses that ended: scope, name, from and until."""

    def is_paused(self, root: str, session: str) -> bool:
        """Whether work of this project or session is paused."""
        return self.paused_all or root in self.paused_projects or session in self.paused_sessions

    def passes(self, place: Project | NoProject, session: str, typed: float | None = None) -> Passed:
        """Why the text of a prompt typed here, at this time, is not kept; "" if it is."""
        root = str(place.root) if isinstance(place, Project) else ""
        if self.is_paused(root, session):
            return "paused"
        names = {"all": "", "project": root, "session": session}
        if typed is not None and any(
            names[scope] == name and since <= typed < until for scope, name, since, until in self.spans
        ):
            return "paused"
        if isinstance(place, NoProject):
            return "" if place.gone else "excluded" if place.excluded else "no project"
        return "excluded" if self.modes.get(root, self.default_mode) == "off" else ""


def read_choices(tx: Reading, default_mode: str) -> Choices:
    """Read what holds now."""
    scopes: dict[str, set[str]] = {"all": set(), "project": set(), "session": set()}
    modes: dict[str, str] = dict(tx.rows("SELECT root, write_mode FROM project WHERE write_mode IS NOT NULL"))
    for scope, name, what in tx.rows(
        "SELECT scope, name, what FROM choice WHERE what IN ('pause', 'exclude')"
    ):
        if what == "pause":
            scopes[scope].add(name)
        else:
            modes[name] = "off"
    spans = tuple(tx.rows("SELECT scope, name, since, until FROM pause_span"))
    projects, sessions = frozenset(scopes["project"]), frozenset(scopes["session"])
    return Choices(bool(scopes["all"]), projects, sessions, modes, default_mode, spans)


def store_project(tx: Tx, project: Project, now: float) -> int:
    """Return the number of a project's row, which is made if it is new."""
    root = str(project.root)
    found = tx.rows("SELECT number FROM project WHERE root = ?", root)
    if found:
        number: int = found[0][0]
        return number
    common = str(project.root / ".git") if project.git else None
    taken = common is not None and tx.rows("SELECT 1 FROM project WHERE common = ?", common)
    done = tx.execute(
        "INSERT INTO project(root, common, first_seen) VALUES(?, ?, ?)", root, None if taken else common, now
    )
    return done.row
