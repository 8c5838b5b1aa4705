"""The write mode of single projects, as chosen with `tacitd share` and `tacitd exclude`: choices of a person in the store.

The command line writes them itself; the daemon finds them with its next question.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

from tacitd.clock import Clock
from tacitd.contract import Row, Tx
from tacitd.events import Project
from tacitd.model.port import Why
from tacitd.state.person_choices import Choice, Scope, What, choose, list_earlier_modes, withdraw
from tacitd.store import Store, open_readonly
from tacitd.work.project_rows import find_begin
from tacitd.work.prompt_rows import count_passed
from tacitd.work.stored_problems import RELEASED, find_refusal, release
from tacitd.work.work_status import list_pauses

WriteMode = Literal["local", "shared", "off"]
_MODES: dict[str, WriteMode] = {"exclude": "off", "share": "shared", "local": "local"}
_CHOICES: dict[WriteMode, What] = {"off": "exclude", "shared": "share", "local": "local"}
_OF_ONE = (
    "SELECT what FROM choice WHERE scope = 'project' AND name = ? AND what IN ('exclude', 'share', 'local')"
)


class WriteModes:
    """The write mode of each project. Thread-safe."""

    def __init__(
        self, state_dir: Path, clock: Clock, default: WriteMode = "local", store: Store | None = None
    ) -> None:
        """`store`: that of the daemon; without one the store is opened for each question."""
        self._state_dir = state_dir
        self._clock = clock
        self._default: WriteMode = default
        self._store = store

    def get_mode(self, project: Project) -> WriteMode:
        """The project's own write mode, otherwise the configuration's. `off` in the configuration overrides every choice."""
        if self._default == "off":
            return "off"
        found = self._rows(_OF_ONE, str(project.root))
        return _MODES[found[0][0]] if found else self._default

    def set_mode(self, root: Path, mode: WriteMode | Literal[""]) -> None:
        """Set a project's write mode; "" removes the choice. Durable when it returns. Raises UnwritableError."""
        store = self._store or Store.open(self._state_dir, self._clock, owner=False)
        try:
            with store.write() as tx:
                if mode:
                    choose(
                        tx,
                        self._state_dir,
                        Choice("project", str(root), _CHOICES[mode], "", self._clock.now()),
                    )
                for what in _CHOICES.values() if not mode else ():
                    withdraw(tx, self._state_dir, Choice("project", str(root), what, "", self._clock.now()))
        finally:
            if self._store is None:
                store.close()

    def get_previous(self, root: Path, mode: WriteMode) -> WriteMode | Literal[""]:
        """The last choice for this project that is not `mode`; "" if there is none. Raises OSError."""
        made = list_earlier_modes(self._state_dir, str(root))
        before = next((what for what in reversed(made) if _MODES[what] != mode), None)
        return _MODES[before] if before is not None else ""

    def _rows(self, sql: str, *values: str) -> list[Row]:
        if self._store is not None:
            return self._store.rows(sql, *values)
        store = open_readonly(self._state_dir)
        if store is None:
            return []
        with store:
            return store.rows(sql, *values)


def set_pause(
    store: Store, state_dir: Path, scope: Scope, name: str, now: float, *, held: bool
) -> dict[str, Any]:
    """Pause, or resume and open the growth breaker. `name`: the project's root, or the session's id; "" for all.

    Returns whether that changed anything, how many prompts were passed over, and everything that is paused. Raises UnwritableError:
    then nothing has changed.
    """
    choice, passed = Choice(scope, name, "pause", "", now), 0
    with store.write() as tx:
        before = tx.rows("SELECT at FROM choice WHERE what = 'pause' AND scope = ? AND name = ?", scope, name)
        if held:
            changed = not before
            if changed:
                choose(tx, state_dir, choice)
        else:
            passed = count_passed(tx, scope, name, before[0][0]) if before else 0
            changed = withdraw(tx, state_dir, choice)
            if before:
                since = find_begin(before[0][0], now)
                tx.execute("INSERT INTO pause_span VALUES(?, ?, ?, ?)", scope, name, since, now)
            if _open_breaker(tx, scope, name, now):
                changed = True
                tx.execute(
                    "UPDATE task SET due = min(due, ?), not_before = NULL WHERE substr(reason, 1, ?) = ?",
                    now,
                    len(Why.MANY_SESSIONS),
                    str(Why.MANY_SESSIONS),
                )
    paused = [{"scope": one, "name": which} for one, which in list_pauses(store.rows)]
    return {"changed": changed, "passed": passed, "paused": paused}


def _open_breaker(tx: Tx, scope: str, name: str, now: float) -> bool:
    if scope != "session":
        return release(tx, partial(_is_covered, scope, name), now)
    if find_refusal(tx.rows, name, "", now) is None:
        return False
    tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", RELEASED + name, repr(now))
    return True


def _is_covered(scope: str, name: str, cwd: str, root: str) -> bool:
    """Whether a directory that the growth breaker closed is of what is resumed."""
    return scope == "all" or root == name
