"""What the status document says of work: SELECTs over the rows of tasks and prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import parse_utc, utc_seconds
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.store import open_readonly
from tacitd.work.project_rows import ASKED, Choices, read_choices

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.handler import Degradation
    from tacitd.store import Store

PAUSED = "paused"
"""The beginning of the reason of what a person paused."""
PAUSED_SESSION = f"{PAUSED} by you (session "
"""The same, where only a session is paused."""
_PARKED = """
SELECT k.plugin, k.session, k.kind, k.key, k.reason, k.hint, k.created, k.tries, k.not_before, r.root, k.data FROM task k LEFT JOIN project r ON r.number = k.project
WHERE k.kind <> 'session-started' AND k.plugin <> 'engine' AND (k.reason <> '' OR k.due <= ?) ORDER BY k.number
"""


_GONE = """
SELECT DISTINCT p.cwd, t.plugin, p.session, p.ingested FROM prompt p JOIN prompt_task t ON t.prompt = p.number
WHERE p.project IS NULL AND p.passed IS NULL AND t.state = 'waiting' ORDER BY p.cwd, p.ingested
"""
"""Prompts that were typed in a directory that is not there now."""


class ParkedTask(Struct, frozen=True):
    """Work that waits for something."""

    plugin: str
    what: str
    root: str
    reason: str
    hint: str
    since: float
    tries: int
    not_before: float | None


def list_parked(rows: Rows, choices: Choices, now: float) -> Iterator[ParkedTask]:
    """Work that waits for something, and work that is due and held because a person paused it."""
    for plugin, session, kind, key, reason, hint, since, tries, not_before, root, data in rows(_PARKED, now):
        paused = _find_pause(choices, root or "", session)
        if paused and kind not in ASKED:
            from shlex import quote  # `status` mostly needs none

            scope, _, name = paused.partition(" ")
            option = f" --{scope} {quote(name)}" if name else ""
            reason, hint = f"{PAUSED} by you ({paused})", f"`tacitd resume{option}` goes on"
        if reason:
            what = _describe(kind, key, session, data)
            yield ParkedTask(plugin, what, root or "", reason, hint, since, tries, not_before)
    yield from _list_gone(rows)


def _list_gone(rows: Rows) -> Iterator[ParkedTask]:
    """One row for each plugin and directory; those below it count as it."""
    waiting = dict[tuple[str, str], dict[str, float]]()
    for cwd, plugin, session, since in rows(_GONE):
        top = next((one for _, one in waiting if cwd == one or cwd.startswith(f"{one}/")), cwd)
        waiting.setdefault((plugin, top), {}).setdefault(session, since)
    for (plugin, cwd), sessions in waiting.items():
        what = (
            f"prompts of {len(sessions)} sessions"
            if len(sessions) > 1
            else f"prompts of session {min(sessions)}"
        )
        hint = (
            f"restore the directory, or say `tacitd project alias {cwd} DIR` if it is a container's; otherwise `tacitd rescue` lists "
            "the prompts after a day"
        )
        reason = f"{cwd}: the working directory does not exist"
        yield ParkedTask(plugin, what, cwd, reason, hint, min(sessions.values()), 0, None)


def _find_pause(choices: Choices, root: str, session: str) -> str:
    if choices.paused_all:
        return "all"
    if session in choices.paused_sessions:
        return f"session {session}"
    return f"project {root}" if root in choices.paused_projects else ""


def _describe(kind: str, key: str, session: str, data: str) -> str:
    known: Mapping[str, object] = msgspec.json.decode(data)
    match kind:
        case "prompts":
            return f"prompts of session {session}"
        case "session-ended":
            return f"the end of session {session}"
        case "job":
            return f"job {known.get('job', key)}"
        case "file-changed":
            return f"a change of {known.get('path', key)}"
        case "message":
            whence = "job" if known.get("by_job") else "session"
            return f"what {known.get('sender', '')} found in {whence} {session}"
        case _:
            return f"{kind} {key}"


def list_pauses(rows: Rows) -> list[tuple[str, str]]:
    """Everything that is paused: scope and name, the oldest first."""
    return [
        (scope, name)
        for scope, name in rows("SELECT scope, name FROM choice WHERE what = 'pause' ORDER BY at")
    ]


def count_waiting(rows: Rows, plugin: str) -> int:
    """How many prompts wait for a plugin."""
    ((count,),) = rows("SELECT count(*) FROM prompt_task WHERE plugin = ? AND state = 'waiting'", plugin)
    return int(count)


def count_rescued(rows: Rows) -> list[tuple[str, str, int]]:
    """The rejected prompts by plugin and reason, with their number, the highest first."""
    found = rows(
        "SELECT plugin, reason, count(*) FROM prompt_task WHERE state = 'rejected' GROUP BY plugin, reason "
        "ORDER BY count(*) DESC"
    )
    return [(plugin, reason, count) for plugin, reason, count in found]


def count_tasks(rows: Rows, plugin: str, now: float) -> tuple[int, int, int, float | None]:
    """How many sessions are gathered for a plugin, how many of its tasks are due or being done, how many are parked, and when the first
    gathered one is due."""
    ((gathering, busy, parked, due),) = rows(
        "SELECT count(CASE WHEN kind = 'prompts' AND reason = '' AND due > ? THEN 1 END), "
        "count(CASE WHEN reason = '' AND due <= ? THEN 1 END), "
        "count(CASE WHEN reason <> '' AND kind <> 'session-started' THEN 1 END), "
        "min(CASE WHEN kind = 'prompts' AND reason = '' AND due > ? THEN due END) FROM task WHERE plugin = ?",
        now,
        now,
        now,
        plugin,
    )
    return gathering, busy, parked, due


def count_odd_lines(by_path: Mapping[Path, Mapping[str, int]]) -> dict[str, int]:
    """The lines that were damaged, unknown or too long, by kind."""
    total = Counter[str]()
    for counts in list(by_path.values()):
        total.update(counts)
    return dict(total)


def make_json(value: Any) -> Any:
    """The value with text in place of everything that JSON cannot express; null for infinity and NaN."""
    match value:
        case Mapping():
            return {str(key): make_json(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [make_json(each) for each in value]
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case _:
            return str(value)


LISTED = 3
"""Projects that have a line each; of more, so many are named and the others counted."""
ENDS = "its session ends"


def describe_waiting(
    waits: Iterable[Mapping[str, Any]], sessions: Iterable[Mapping[str, Any]] = ()
) -> Iterator[str]:
    """Given the rows of `waits` and `sessions` in the status document, yield a line for each project; times are local.

    Open sessions are named where nothing else of their project waits: a row of `waits` has the time already. More than
    three projects of one handler that wait for the same are one line with their count.
    """
    rows = list(waits)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in (*rows, *_of_sessions(sessions, {str(row["project"]) for row in rows})):
        groups.setdefault((str(row.get("handler", "")), row["until"]), []).append(row)
    for (_, until), group in groups.items():
        if len(group) > LISTED:
            yield _describe_many(group, until)
            continue
        for row in group:
            yield f"{row['what']} in {row['project']}: until {until}{_when([row], 'at')}"


def _describe_many(group: list[Mapping[str, Any]], until: str) -> str:
    named = ", ".join(f"{row['what']} in {row['project']}" for row in group[:LISTED])
    counted = f"{len(group)} projects, each until {until}: {named} and {len(group) - LISTED} more"
    return counted + _when(group, "the first at")


def _when(rows: Iterable[Mapping[str, Any]], at: str) -> str:
    """The earliest time of these rows in brackets; "" if none has a time."""
    times = [time for row in rows if (time := parse_utc(row.get("at"))) is not None]
    return f" ({at} {local_time(min(times))}, if it stays idle until then)" if times else ""


def _of_sessions(rows: Iterable[Mapping[str, Any]], named: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows like those of `waits` for the projects of open sessions, without the projects that are named already."""
    times: dict[str, list[str]] = {}
    for row in rows:
        root, about = str(row.get("project", "")), row.get("lines_about")
        if root not in named and parse_utc(about) is not None:  # another version's row may be odd
            times.setdefault(root, []).append(str(about))
    for root, found in times.items():
        what = f"prompts of {len(found)} session{'s' if len(found) > 1 else ''}"
        first = min(found, key=lambda about: parse_utc(about) or 0.0)
        yield {"handler": "", "project": root, "what": what, "until": ENDS, "at": first}


def local_time(at: float) -> str:
    """Given seconds since 1970, return `2026-02-19 14:30`, local."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


Ending = tuple[str, str, float, str]
"""An open session, the root of its project, when it ends if nothing more happens (seconds since 1970, UTC), and its client."""


def read_stored_waits(
    state_dir: Path, now: float, plugin: str, find_part: Callable[[Rows, float], Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `waits` of a plugin, of which `find_part` is its part of the status, and those of `sessions`. Raises TacitdError."""
    store = open_readonly(state_dir)
    if store is None:
        return [], []
    with store:
        rows, note = store.rows, read_note(store.rows)
        if note is None:
            return [], []
        settings = SettingsInForce(rows)
        endings = list_endings(rows, note, settings, now)
        waits = list(list_waits({plugin: find_part(rows, now)}, endings))
        choices = read_choices(store.rows, settings.get("projects", "write", "local"), now)
        return waits, list_sessions(rows, note.payers, endings, waits, choices)


def list_endings(rows: Rows, note: DaemonNote, settings: SettingsInForce, now: float) -> list[Ending]:
    """The open sessions, by the time at which each ends: soonest first."""
    idle = settings.get("session", "idle", 0.0)
    found = rows(
        "SELECT s.id, r.root, s.last, s.source FROM session s JOIN project r ON r.number = s.project WHERE s.ended IS NULL"
    )
    endings = [
        (id, root, max(now, note.ends.get(id, last + idle)), source) for id, root, last, source in found
    ]
    return sorted(endings, key=lambda one: (one[2], one[0]))


def list_waits(slices: Mapping[str, Any], endings: Iterable[Ending]) -> Iterator[dict[str, Any]]:
    """What plugins have gathered for a later job, and when that job is due because the project's sessions are idle."""
    quiet = {root: at for _, root, at, _ in endings}  # the latest of each project: they are sorted
    for name, said in slices.items():
        waits = said.get("waits")
        for one in waits if isinstance(waits, list) else ():
            if not isinstance(one, Mapping):
                continue
            root = str(one.get("project", ""))
            rest = {key: str(one.get(key, "")) for key in ("what", "until", "job")}
            at = utc_seconds(quiet[root]) if root in quiet else None
            yield {"handler": name, "project": root, **rest, "at": at}


def list_sessions(
    rows: Rows,
    payers: Sequence[str],
    endings: Iterable[Ending],
    waits: Iterable[Mapping[str, Any]],
    choices: Choices,
) -> list[dict[str, Any]]:
    """The open sessions whose lines are not written yet, soonest first. `payers`: the plugins that ask the model about prompts.

    Paused and parked work is left out: the session's end alone brings no line of it.
    """
    gathered = {(str(row["handler"]), str(row["project"])) for row in waits}
    found = list[dict[str, Any]]()
    for session, root, at, source in endings:
        if choices.is_paused(root, session) or choices.modes.get(root, choices.default_mode) == "off":
            continue
        waiting, parked = _find_waiting(rows, session, root)
        if any(name not in parked and (waiting.get(name) or (name, root) in gathered) for name in payers):
            about = {"session": session, "source": source, "project": root}
            found.append(about | {"lines_about": utc_seconds(at)})
    return found


def _find_waiting(rows: Rows, session: str, root: str) -> tuple[dict[str, int], set[str]]:
    """How many prompts of a session wait by plugin, and the plugins with parked work about it or its project."""
    waiting: dict[str, int] = dict(
        rows(
            "SELECT t.plugin, count(*) FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
            "WHERE p.session = ? AND t.state = 'waiting' GROUP BY t.plugin",
            session,
        )
    )
    parked = rows(
        "SELECT DISTINCT plugin FROM task WHERE reason <> '' AND kind <> 'session-started' AND "
        "(session = ? OR project = (SELECT number FROM project WHERE root = ?))",
        session,
        root,
    )
    return waiting, {plugin for (plugin,) in parked}


# --- What the daemon that runs, or ran last, says of itself, as rows: so `status` is the same with it, without it, and beside one that hangs.


KEY = "daemon"
"""Of the row of `setting` that has the note."""
OWNER = "daemon"
"""The owner of the rows of `degradation` that hold for as long as the daemon says so."""
EVERY = 60.0
"""Seconds after which the note is written anew, for the time of the last pass."""


class DaemonNote(Struct, frozen=True):
    """What the daemon says of itself. Times are seconds since 1970, UTC."""

    version: str
    pid: int
    since: float
    passed: float
    """When its last pass ended, to the minute."""
    root: str
    """The client's own directory."""
    transcripts: int
    lines: Mapping[str, int] = field(default_factory=dict)
    """Lines of transcripts that were not read as usual, since its start, by kind."""
    unread: tuple[int, int] = (0, 0)
    """Transcripts that were not read to their end, and how many bytes."""
    program: str = ""
    """The path of the model's program; "" if it was not found."""
    first_start: float = 0.0
    plugins: Sequence[str] = ()
    """Those that run."""
    readers: Sequence[str] = ()
    """Those of them that read records."""
    payers: Sequence[str] = ()
    """Those of them that ask the model about prompts."""
    ends: Mapping[str, float] = field(default_factory=dict)
    """By open session when it ends, if its client has ended."""


_READ_NOTE = msgspec.json.Decoder(DaemonNote)


def read_note(rows: Rows) -> DaemonNote | None:
    """The note; None if no daemon has run here yet, or one of another version wrote it."""
    found = rows("SELECT value FROM setting WHERE key = ?", KEY)
    try:
        return _READ_NOTE.decode(found[0][0]) if found else None
    except msgspec.DecodeError:
        return None


class NoteWriter:
    """Writes the note and the problems when they have changed. Use it from one thread, the loop's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.last: DaemonNote | None = None
        """What was to be written last."""
        self._written: object = None
        self._passed = -math.inf

    def write(self, note: DaemonNote, problems: Sequence[Degradation]) -> None:
        """Raises UnwritableError, StoreLostError: it is written by a later pass."""
        self.last = note
        same = self._store.generation, replace(note, passed=0.0), list(problems)
        if same == self._written and 0.0 <= note.passed - self._passed < EVERY:
            return
        with self._store.write() as tx:
            known: dict[tuple[str, str], float] = {
                (id, what): since
                for id, what, since in tx.rows(
                    "SELECT id, what, since FROM degradation WHERE owner = ?", OWNER
                )
            }
            tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", KEY, msgspec.json.encode(note).decode())
            tx.execute("DELETE FROM degradation WHERE owner = ?", OWNER)
            tx.executemany(
                "INSERT OR IGNORE INTO degradation(owner, id, what, hint, since) VALUES(?, ?, ?, ?, ?)",
                [
                    (OWNER, one.id, one.what, one.hint, known.get((one.id, one.what), note.passed))
                    for one in problems
                ],
            )
        self._written, self._passed = same, note.passed
