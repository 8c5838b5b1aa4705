"""What is wrong, as rows say it: problems that were stored, records that a plugin could not fold, files that wait to be written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.handler import Degradation
from tacitd.model.port import NoAnswer, Why
from tacitd.text.wording import count_noun
from tacitd.work.work_status import ParkedTask

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx
    from tacitd.engine import Engine
    from tacitd.sources.source import Recognition

UNFINISHED = 60.0
"""Seconds after which a change of a file that is planned is a problem, if nobody tried to write it."""


def list_stored_problems(rows: Rows, plugins: Collection[str], now: float) -> list[Degradation]:
    """`plugins`: those that run, whose own count."""
    found = [
        Degradation(id, what, hint)
        for owner, id, what, hint in rows("SELECT owner, id, what, hint FROM degradation ORDER BY since")
        if owner in ("engine", *plugins)
    ]
    found += [Degradation("files.unfinished", one.reason, one.hint) for one in list_unfinished(rows, now)]
    for plugin, count, reason in rows("SELECT plugin, count(*), max(reason) FROM behind GROUP BY plugin"):
        what = f"the plugin {plugin} failed with records of {count_noun(count, 'transcript')}: {reason}"
        hint = "it gets them again; the log says more; everything else goes on"
        found.append(Degradation("handler.behind", what, hint))
    if shut := [f"{cwd} ({count})" for cwd, count in list_closed(rows, now).items()]:
        shut[SHOWN:] = [f"{len(shut) - SHOWN} more directories"] if len(shut) > SHOWN else []
        what = f"more new sessions an hour than a person starts in {', '.join(shut)} (limit {LIMIT} in each)"
        hint = (
            f"{RESUME}. If a program starts them, stop it, or `tacitd exclude` the directory. Nothing is lost"
        )
        found.append(Degradation("breaker.closed", what, hint))
    return found


def list_unfinished(rows: Rows, now: float) -> Iterator[ParkedTask]:
    """The changes of files that are decided and could not be written."""
    for path, plugin, root, since, why, hint in rows(
        "SELECT p.path, c.plugin, coalesce(r.root, ''), min(c.at), d.what, d.hint FROM plan p JOIN change c ON c.number = p.change "
        "LEFT JOIN project r ON r.number = c.project LEFT JOIN degradation d ON d.owner = 'plan' AND d.id = p.path "
        "WHERE d.what IS NOT NULL OR c.at < ? GROUP BY p.path UNION ALL SELECT id, 'engine', '', since, what, hint FROM degradation "
        "WHERE owner = 'plan' AND id IN (SELECT path FROM line_plan) AND id NOT IN (SELECT path FROM plan)",
        now - UNFINISHED,
    ):
        reason = f"{path} cannot be written" + (f": {why}" if why else "")
        yield ParkedTask(plugin, "a change of a file", root, reason, hint or "tacitd tries again", since)


def find_store_refusal(engine: Engine) -> Degradation | None:
    """Why the store cannot be written, which is no row of it; None if it can."""
    problem = engine.problem or engine.runner.refused
    return Degradation("state.unwritable", problem.what, problem.hint) if problem is not None else None


# --- Sessions of a person in which no prompt is recognised: the client may write them in a way that is not
# known. What is not known for a person's is never learned, so a changed format would go unnoticed otherwise.


ANSWERS = 20
"""How many answers without a recognised prompt are a problem: of one session, or of several of the same client."""
_HINT = (
    "install a newer tacitd, which may know this client; `tacitd prompts FILE --explain` says what was refused in a "
    "transcript, and nothing that was typed there is learned"
)


class RecognitionWatch:
    """The sessions without a recognised prompt, of this run. Engine thread only."""

    def __init__(self) -> None:
        self._silent: dict[Path, Recognition] = {}

    def take_session(self, path: Path, found: Recognition) -> None:
        """A transcript was read. A recognised prompt excuses the short sessions of the same client."""
        if not found.recognised:
            if found.answers:
                self._silent[path] = found
            return
        self._silent.pop(path, None)
        for other, one in list(self._silent.items()):
            if one.version == found.version and one.answers < ANSWERS:
                del self._silent[other]

    def list_degradations(self) -> list[Degradation]:
        found: list[Degradation] = []
        for version in dict.fromkeys(one.version for one in self._silent.values()):
            silent = [one for one in self._silent.values() if one.version == version]
            answers = sum(one.answers for one in silent)
            if answers >= ANSWERS:
                what = (
                    f"no prompt is recognised in {len(silent)} session(s) with {answers} answers of the client "
                    f"{version or 'of an unknown version'}; {silent[-1].refusal}"
                )
                found.append(Degradation("transcripts.unrecognised", what, _HINT))
        return found


# --- The growth breaker: if sessions begin faster than a person can start them, a program starts them, possibly
# tacitd itself.
#
# It is the last of several guards against tacitd reading its own model calls, and the only one that does
# not depend on how the others work. It counts the rows of `session` with prompts, for each working
# directory within an hour. Work of a directory with too many waits, and is not lost: until fewer were
# started within the last hour, or a person says `resume`.


HOUR = 3600.0
SHOWN = 3
"""How many directories a problem names; the others are counted."""
LIMIT = 30
"""New sessions an hour from one directory that a person may still start."""
PAUSE = 60.0
RELEASED = "breaker released "
"""Key of a row of `setting`, with a directory or session: until when a person let it go on."""
RESUME = "`tacitd resume` asks the model about them now; it also goes on by itself when no more begin"


def list_closed(rows: Rows, now: float, session: str = "") -> dict[str, int]:
    """The directories in which too many sessions began within the last hour, with their number. `session`: only that of this one."""
    found = rows(
        "SELECT s.cwd, count(*) FROM session s LEFT JOIN setting r ON r.key = ? || s.cwd "
        "WHERE s.started > ? AND s.started > coalesce(CAST(r.value AS REAL), 0) "
        "AND (?3 = '' OR s.cwd = (SELECT cwd FROM session WHERE id = ?3)) "
        "AND s.id IN (SELECT session FROM prompt WHERE typed > ?2) GROUP BY s.cwd HAVING count(*) > ?",
        *(RELEASED, now - HOUR, session, LIMIT),
    )
    return dict(found)


def find_refusal(rows: Rows, session: str, root: str, now: float) -> NoAnswer | None:
    """The model's answer to requests of a session, or of a project's job if it is ""; None if the model is called."""
    closed = list_closed(rows, now, session)
    if not closed:
        return None
    found = rows(
        "SELECT DISTINCT s.cwd FROM session s LEFT JOIN project r ON r.number = s.project "
        "WHERE (s.id = ? AND s.started > ?) OR (? = '' AND r.root = ?)",
        *(session, now - HOUR, session, root),
    )
    cwd = next((cwd for (cwd,) in found if cwd in closed), None)
    if cwd is None or (session and rows("SELECT 1 FROM setting WHERE key = ?", RELEASED + session)):
        return None
    return NoAnswer(Why.MANY_SESSIONS, f"in {cwd}", RESUME, now + PAUSE)


def release(tx: Tx, scope: str, name: str, now: float) -> bool:
    """A person lets a session, a project's sessions or all go on; return whether any waited."""
    if scope == "session":
        free = [name] if find_refusal(tx.rows, name, "", now) is not None else []
    else:
        of = "SELECT 1 FROM session s JOIN project r ON r.number = s.project WHERE s.cwd = ? AND r.root = ?"
        free = [cwd for cwd in list_closed(tx.rows, now) if scope == "all" or tx.rows(of, cwd, name)]
    tx.executemany(
        "INSERT OR REPLACE INTO setting VALUES(?, ?)", [(RELEASED + one, repr(now)) for one in free]
    )
    return bool(free)
