"""Rows of `project`, and what a person chose for a project: exclusion, sharing, pauses."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project
from tacitd.store import Store, open_readonly

if TYPE_CHECKING:
    from tacitd.contract import Row, Rows, Tx

Passed = Literal["", "paused", "excluded", "no project"]
"""Why the text of a prompt is not kept; "" if it is."""
ASKED = ("decision", "command", "undo", "purge")
"""Kinds of tasks that a person waits for: a pause does not hold them."""


class Choices(Struct, frozen=True):
    """What a person chose and what is configured, as it holds for one pass."""

    paused_all: bool = False
    paused_projects: frozenset[str] = frozenset()
    paused_sessions: frozenset[str] = frozenset()
    modes: Mapping[str, str] = field(default_factory=dict)
    """The write mode of each project with a choice of its own, by its root."""
    default_mode: str = "local"
    spans: tuple[Row, ...] = ()
    """Pauses: scope, name, from and until. Until infinity, if it did not end."""

    def is_paused(self, root: str, session: str) -> bool:
        """Whether work of this project or session is paused."""
        return self.paused_all or root in self.paused_projects or session in self.paused_sessions

    def is_paused_at(self, place: Project | NoProject, session: str, written: float | None) -> bool:
        """Whether what was written here at this time is of a pause. If the time is not known, what holds now counts."""
        return any(
            (until == math.inf if written is None else since <= written < until)
            and _is_covered(scope, name, place, session)
            for scope, name, since, until in self.spans
        )

    def passes(self, place: Project | NoProject, session: str) -> Passed:
        """Why the text of a prompt typed here is not kept, whenever it was typed; "" if it is."""
        if isinstance(place, NoProject):
            return "" if place.gone else "excluded" if place.excluded else "no project"
        return "excluded" if self.modes.get(str(place.root), self.default_mode) == "off" else ""


def read_choices(rows: Rows, default_mode: str, now: float) -> Choices:
    """Read what holds now: seconds since 1970, UTC."""
    scopes: dict[str, set[str]] = {"all": set(), "project": set(), "session": set()}
    modes: dict[str, str] = dict(rows("SELECT root, write_mode FROM project WHERE write_mode IS NOT NULL"))
    spans = rows("SELECT scope, name, since, until FROM pause_span")
    for scope, name, what, at in rows(
        "SELECT scope, name, what, at FROM choice WHERE what IN ('pause', 'exclude')"
    ):
        if what == "pause":
            scopes[scope].add(name)
            spans.append((scope, name, find_begin(at, now), math.inf))
        else:
            modes[name] = "off"
    projects, sessions = frozenset(scopes["project"]), frozenset(scopes["session"])
    return Choices(bool(scopes["all"]), projects, sessions, modes, default_mode, tuple(spans))


def _is_covered(scope: str, name: str, place: Project | NoProject, session: str) -> bool:
    """Whether a pause is of this place or session: of a directory too that cannot be found now, and lies in the project."""
    if scope == "project":
        path = str(place.root) if isinstance(place, Project) else place.cwd
        return path == name or (isinstance(place, NoProject) and path.startswith(f"{name}/"))
    return scope == "all" or session == name


def find_begin(at: float, now: float) -> float:
    """When a pause began. If that is in the future, the clock was set back, and everything that is read is of the pause."""
    return at if at <= now else -math.inf


def list_aliases(rows: Rows) -> dict[str, str]:
    """The directories that a person named as a container's, or another machine's, with those that they are here."""
    return dict(
        rows("SELECT name, value FROM choice WHERE scope = 'project' AND what = 'alias' ORDER BY name")
    )


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


# --- Finding the project of a working directory without waiting for its file system.
#
# The loop's thread must not touch a path below a project's root, because a mount that stalls would stop
# everything. So each question is asked in a thread of its own, and the loop waits a moment only. Prompts
# that were typed in a directory that did not exist here get their project once it does.


PATIENCE = 0.2
"""Seconds for which the loop waits for an answer."""
FRESH = 5.0
"""Seconds for which an answer holds. Directories are made, moved and removed."""
STUCK = 16
"""Questions that may wait for a file system at once. Beyond it no further one is asked."""

Place = Project | NoProject


class _Asked(Struct):
    answer: Place | None = None
    at: float = 0.0
    """Monotonic seconds of the answer."""
    since: float | None = None
    """Since when a question waits for its answer: monotonic seconds; None: none does."""
    answered: threading.Event = field(default_factory=threading.Event)


class ProjectLookup:
    """Answers of `find`, which may block. Use it from one thread."""

    def __init__(self, find: Callable[[str], Place], clock: Clock, *, threads: bool = True) -> None:
        """`threads=False`: `find` is called at once, for tests without threads."""
        self._find = find
        self._clock = clock
        self._threads = threads
        self._asked: dict[str, _Asked] = {}
        self._open = set[str]()
        """Directories of which a question waits for its answer."""

    def find_project(self, cwd: str) -> Place | None:
        """Return the project of a directory, or why it is none; None if there is no answer yet. Waits 0.2 s at most."""
        if not self._threads:
            return self._find(cwd)
        now = self._clock.monotonic()
        asked = self._asked.setdefault(cwd, _Asked())
        if asked.answer is not None and now - asked.at < FRESH:
            return asked.answer
        if asked.since is None:
            if len(self.list_stuck()) >= STUCK:
                return None
            asked.since, asked.answered = now, threading.Event()
            self._open.add(cwd)
            threading.Thread(target=self._ask, args=(cwd, asked), name="project lookup", daemon=True).start()
            asked.answered.wait(PATIENCE)
        return asked.answer if asked.since is None else None

    def _ask(self, cwd: str, asked: _Asked) -> None:
        try:
            found: Place = self._find(cwd)
        except OSError as error:
            found = NoProject(cwd, f"it cannot be examined: {error.strerror}", gone=True)
        asked.answer, asked.at, asked.since = found, self._clock.monotonic(), None
        self._open.discard(cwd)
        asked.answered.set()

    def list_stuck(self) -> list[str]:
        """The directories whose file system did not answer in time."""
        if not self._open:
            return []
        now = self._clock.monotonic()
        open = [(cwd, self._asked[cwd].since) for cwd in list(self._open)]
        return [cwd for cwd, since in open if since is not None and now - since >= PATIENCE]


def find_missing_projects(store: Store, lookup: ProjectLookup, choices: Choices, now: float) -> None:
    """Look at the directories of waiting prompts without a project again. Raises UnwritableError, StoreLostError."""
    for (cwd,) in store.rows(
        "SELECT DISTINCT p.cwd FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
        "WHERE p.project IS NULL AND p.passed IS NULL AND t.state = 'waiting'"
    ):
        place = lookup.find_project(cwd)
        if place is not None and not (isinstance(place, NoProject) and place.gone):
            with store.write() as tx:
                _settle_place(tx, cwd, place, choices, now)


def _settle_place(tx: Tx, cwd: str, place: Project | NoProject, choices: Choices, now: float) -> None:
    usual = choices.passes(place, "")
    for number, session, typed in tx.rows(
        "SELECT number, session, typed FROM prompt WHERE cwd = ? AND project IS NULL AND passed IS NULL", cwd
    ):
        passed = "paused" if choices.is_paused_at(place, session, typed) else usual
        if isinstance(place, Project):
            tx.execute(
                "UPDATE prompt SET project = ? WHERE number = ?", store_project(tx, place, now), number
            )
        if passed:
            tx.execute("DELETE FROM prompt_task WHERE prompt = ?", number)
            tx.execute(
                "UPDATE prompt SET passed = ?, text = NULL, context = NULL WHERE number = ?", passed, number
            )
