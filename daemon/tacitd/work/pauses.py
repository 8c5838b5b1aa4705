"""Pausing and resuming: a choice of the person. What is typed meanwhile is passed over, and what waits is held."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tacitd.contract import Tx
from tacitd.model.port import Why
from tacitd.state.person_choices import Choice, Scope, choose, withdraw
from tacitd.store import Store
from tacitd.work.breaker import RELEASED, find_refusal, release
from tacitd.work.project_rows import find_begin
from tacitd.work.prompt_rows import count_passed
from tacitd.work.work_status import list_pauses


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
