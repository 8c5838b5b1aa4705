"""The write mode of single projects, as chosen with `tacitd share` and `tacitd exclude`, and pauses: choices of a person in the
store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from tacitd.clock import Clock
from tacitd.contract import Row
from tacitd.events import Project
from tacitd.model.port import Why
from tacitd.state.person_choices import Choice, Scope, What, choose, withdraw
from tacitd.store import Store, open_readonly
from tacitd.work.project_rows import find_begin
from tacitd.work.prompt_rows import count_passed
from tacitd.work.stored_problems import release
from tacitd.work.work_status import list_pauses

WriteMode = Literal["local", "shared", "off"]
_MODES: dict[str, WriteMode] = {"exclude": "off", "share": "shared", "local": "local"}
_CHOICES: dict[WriteMode, What] = {"off": "exclude", "shared": "share", "local": "local"}
_OF_ONE = (
    "SELECT what FROM choice WHERE scope = 'project' AND name = ? AND what IN ('exclude', 'share', 'local') "
    "ORDER BY what <> 'exclude'"
)


class WriteModes:
    def __init__(
        self, state_dir: Path, clock: Clock, default: WriteMode = "local", store: Store | None = None
    ) -> None:
        """`store`: that of the daemon; without one the store is opened for each question."""
        self._state_dir = state_dir
        self._clock = clock
        self._default: WriteMode = default
        self._store = store

    def get_mode(self, project: Project) -> WriteMode:
        """The project's own, otherwise the configuration's, whose `off` overrides every choice."""
        if self._default == "off":
            return "off"
        sql, name, found = _OF_ONE, str(project.root), list[Row]()
        if self._store is not None:
            found = self._store.rows(sql, name)
        elif (store := open_readonly(self._state_dir)) is not None:
            with store:
                found = store.rows(sql, name)
        return _MODES[found[0][0]] if found else self._default

    def set_mode(self, root: Path, mode: WriteMode | Literal[""]) -> None:
        """ "" ends an exclusion. Durable when it returns. Raises UnwritableError."""
        choice = Choice("project", str(root), _CHOICES[mode or "off"], "", self._clock.now())
        with closing(Store.open(self._state_dir, self._clock, owner=False)) as store, store.write() as tx:
            (choose if mode else withdraw)(tx, self._state_dir, choice)


def set_pause(
    store: Store, state_dir: Path, scope: Scope, name: str, now: float, *, held: bool
) -> dict[str, Any]:
    """Pause, or resume and open the growth breaker. `name`: the project's root, or the session's id; "" for all. Returns
    whether that changed anything, how many prompts were passed over, and everything that is paused. Raises UnwritableError:
    then nothing has changed."""
    choice, passed = Choice(scope, name, "pause", "", now), 0
    with store.write() as tx:
        before = tx.rows("SELECT at FROM choice WHERE what = 'pause' AND scope = ? AND name = ?", scope, name)
        changed = held != bool(before)
        if held and changed:
            choose(tx, state_dir, choice)
        if not held:
            for (since,) in before:
                passed = count_passed(tx, scope, name, since)
                span = scope, name, find_begin(since, now), now
                tx.execute("INSERT INTO pause_span VALUES(?, ?, ?, ?)", *span)
            changed = withdraw(tx, state_dir, choice)
            if release(tx, scope, name, now):
                changed, why = True, str(Why.MANY_SESSIONS)
                sql = "UPDATE task SET due = min(due, ?), not_before = NULL WHERE substr(reason, 1, ?) = ?"
                tx.execute(sql, now, len(why), why)
    return {"changed": changed, "passed": passed, "paused": list_pauses(store.rows)}
