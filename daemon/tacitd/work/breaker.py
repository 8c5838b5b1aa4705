"""The growth breaker: if sessions begin faster than a person can start them, a program starts them, possibly tacitd itself.

It is the last of several guards against tacitd reading its own model calls, and the only one that does not depend on how the
others work. It counts the rows of `session` with prompts, for each working directory within an hour. Work of a directory with
too many waits, and is not lost: until fewer were started within the last hour, or a person says `resume`.
"""

from __future__ import annotations

from collections.abc import Callable

from tacitd.contract import Rows, Tx
from tacitd.handler import Degradation
from tacitd.model.port import NoAnswer, Why

HOUR = 3600.0
LIMIT = 30
"""How many new sessions an hour from one working directory a person may still start."""
PAUSE = 60.0
"""Minimum seconds until work that waits for it is tried again."""
SHOWN = 3
"""How many directories a degradation names; the others are counted."""
RELEASED = "breaker released "
"""Key of a row of `setting`, with a directory: until when a person let its sessions go on."""
HINT = "`tacitd resume` asks the model about them now; it also goes on by itself when no more begin"


def list_closed(rows: Rows, now: float) -> dict[str, int]:
    """The directories in which too many sessions began within the last hour, with their number."""
    found = rows(
        "SELECT s.cwd, count(*) FROM session s LEFT JOIN setting r ON r.key = ? || s.cwd "
        "WHERE s.started > ? AND s.started > coalesce(CAST(r.value AS REAL), 0) "
        "AND EXISTS(SELECT 1 FROM prompt p WHERE p.session = s.id) GROUP BY s.cwd HAVING count(*) > ?",
        RELEASED,
        now - HOUR,
        LIMIT,
    )
    return dict(found)


def find_refusal(rows: Rows, session: str, root: str, now: float) -> NoAnswer | None:
    """The model's answer to every request of a session, or of a project's job if it is ""; None if the model is called."""
    closed = list_closed(rows, now)
    if not closed:
        return None
    if session:
        found = rows("SELECT cwd FROM session WHERE id = ? AND started > ?", session, now - HOUR)
        cwd = next((cwd for (cwd,) in found if cwd in closed), None)
    else:
        found = rows(
            "SELECT DISTINCT s.cwd FROM session s JOIN project r ON r.number = s.project WHERE r.root = ?",
            root,
        )
        cwd = next((cwd for (cwd,) in found if cwd in closed), None)
    if cwd is None or (session and rows("SELECT 1 FROM setting WHERE key = ?", RELEASED + session)):
        return None
    return NoAnswer(Why.MANY_SESSIONS, f"in {cwd}", HINT, now + PAUSE)


def release(tx: Tx, is_covered: Callable[[str, str], bool], now: float) -> bool:
    """A person lets the sessions go on for which `is_covered(cwd, root)` is true; return whether any waited."""
    released = False
    for cwd in list_closed(tx.rows, now):
        roots = tx.rows(
            "SELECT DISTINCT r.root FROM session s LEFT JOIN project r ON r.number = s.project WHERE s.cwd = ?",
            cwd,
        )
        if any(is_covered(cwd, root or "") for (root,) in roots):
            tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", RELEASED + cwd, repr(now))
            released = True
    return released


def list_degradations(rows: Rows, now: float) -> list[Degradation]:
    """The degradation for the closed directories; [] if nothing is closed."""
    shut = [f"{cwd} ({count})" for cwd, count in list_closed(rows, now).items()]
    if len(shut) > SHOWN:
        shut[SHOWN:] = [f"{len(shut) - SHOWN} more directories"]
    hint = (
        "`tacitd resume` asks the model about them now; the work also continues by itself when no more begin. "
        "If a program starts them, stop it, or `tacitd exclude` the directory. Nothing is lost"
    )
    what = f"more new sessions an hour than a person starts in {', '.join(shut)} (limit {LIMIT} in each)"
    return [Degradation("breaker.closed", what, hint)] if shut else []
