"""What the status document says of work: SELECTs over the rows of tasks and prompts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import parse_utc, utc_seconds
from tacitd.handler import Degradation
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.text.wording import count_noun
from tacitd.work.project_rows import ASKED, Choices

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.store import Store

PAUSED = "paused"
"""The beginning of the reason of what a person paused."""
PAUSED_SESSION = f"{PAUSED} by you (session "
"""The same, where only a session is paused."""
_PARKED = """
SELECT k.plugin, k.session, k.kind, k.key, k.reason, k.hint, k.created, k.tries, k.not_before, coalesce(r.root, ''), k.data
FROM task k LEFT JOIN project r ON r.number = k.project
WHERE k.kind <> 'session-started' AND k.plugin <> 'engine' AND (k.reason <> '' OR k.due <= ?) ORDER BY k.number
"""
# Prompts that were typed in a directory that is not there now.
_GONE = """
SELECT w.cwd, t.plugin, p.session, min(p.ingested) FROM prompt_task t JOIN prompt p ON p.number = t.prompt
JOIN prompt_text w ON w.prompt = p.number WHERE p.project IS NULL AND t.state = 'waiting'
GROUP BY w.cwd, t.plugin, p.session ORDER BY w.cwd, min(p.ingested)
"""


class ParkedTask(Struct, frozen=True):
    """Work that waits for something."""

    plugin: str
    what: str
    root: str
    reason: str
    hint: str
    since: float
    tries: int = 1
    not_before: float | None = None


def list_parked(rows: Rows, choices: Choices, now: float) -> Iterator[ParkedTask]:
    """Work that waits for something, and work that is due and held because a person paused it."""
    for plugin, session, kind, key, reason, hint, since, tries, not_before, root, data in rows(_PARKED, now):
        paused = choices.find_pause(root, session)
        if paused and kind not in ASKED:
            from shlex import quote  # `status` mostly needs none

            scope, _, name = paused.partition(" ")
            option = f" --{scope} {quote(name)}" if name else ""
            reason, hint = f"{PAUSED} by you ({paused})", f"`tacitd resume{option}` goes on"
        if reason:
            what = _describe(kind, key, session, msgspec.json.decode(data))
            yield ParkedTask(plugin, what, root, reason, hint, since, tries, not_before)
    gone = dict[tuple[str, str], dict[str, float]]()
    for cwd, plugin, session, since in rows(_GONE):
        top = next(
            (one for _, one in gone if cwd.startswith(f"{one}/")), cwd
        )  # what is below it counts as it
        gone.setdefault((plugin, top), {}).setdefault(session, since)
    for (plugin, cwd), sessions in gone.items():
        reason = f"{cwd}: the working directory does not exist"
        hint = f"restore the directory, or say `tacitd project alias {cwd} DIR` if it is a container's; otherwise "
        hint += "`tacitd rescue` lists the prompts after a day"
        what = f"prompts of {count_noun(len(sessions), 'session')}"
        yield ParkedTask(plugin, what, cwd, reason, hint, min(sessions.values()), 0)


def _describe(kind: str, key: str, session: str, data: Mapping[str, object]) -> str:
    match kind:
        case "prompts":
            return f"prompts of session {session}"
        case "session-ended":
            return f"the end of session {session}"
        case "job":
            return f"job {data.get('job', key)}"
        case "file-changed":
            return f"a change of {data['path']}"
        case "message":
            return f"what {key.partition(':')[0]} found"
        case _:
            return f"{kind} {key}"


def list_pauses(rows: Rows) -> list[dict[str, str]]:
    """Everything that is paused, as `scope` and `name`, the oldest first."""
    found = rows("SELECT scope, name FROM choice WHERE what = 'pause' ORDER BY at")
    return [{"scope": scope, "name": name} for scope, name in found]


LISTED = 3
"""Projects that have a line each; of more, so many are named and the others counted."""


def describe_waiting(
    waits: Iterable[Mapping[str, Any]], sessions: Iterable[Mapping[str, Any]] = ()
) -> Iterator[str]:
    """Given the rows of `waits` and `sessions` in the status document, yield a line for each project; times are local. Open
    sessions are named where nothing else of their project waits."""
    rows, ends = list(waits), dict[str, list[str]]()
    named = {row["project"] for row in rows}
    for one in sessions:
        if one["project"] not in named:
            ends.setdefault(one["project"], []).append(one["lines_about"])
    for root, times in ends.items():
        what = f"prompts of {count_noun(len(times), 'session')}"
        rows.append({"project": root, "what": what, "until": "its session ends", "at": min(times)})
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((str(row.get("handler", "")), row["until"]), []).append(row)
    for (_, until), group in groups.items():
        about = [f"{row['what']} in {row['project']}" for row in group]
        if len(group) > LISTED:
            about = [f"{len(group)} projects: {', '.join(about[:LISTED])} and {len(group) - LISTED} more"]
        for what, row in zip(about, group, strict=False):
            at = parse_utc(row["at"])
            when = f" (at {local_time(at)}, if it stays idle until then)" if at is not None else ""
            yield f"{what}: until {until}{when}"


def local_time(at: float) -> str:
    """Given seconds since 1970, return `2026-02-19 14:30`, local."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


Ending = tuple[str, str, float, str]
"""An open session, the root of its project, when it ends if nothing more happens (seconds since 1970, UTC), and its client."""


def list_endings(rows: Rows, note: DaemonNote, settings: SettingsInForce, now: float) -> list[Ending]:
    """Soonest first."""
    idle = settings.get("session", "idle", 0.0)
    found = rows(
        "SELECT s.id, r.root, s.last, s.source FROM session s JOIN project r ON r.number = s.project WHERE s.ended IS NULL"
    )
    endings = [
        (id, root, max(now, note.ends.get(id, last + idle)), source) for id, root, last, source in found
    ]
    return sorted(endings, key=lambda one: (one[2], one[0]))


def list_waits(parts: Mapping[str, Any], endings: Iterable[Ending]) -> Iterator[dict[str, Any]]:
    """What plugins have gathered for a later job, and when that job is due because the project's sessions are idle."""
    quiet = {root: at for _, root, at, _ in endings}  # the latest of each project: they are sorted
    for name, part in parts.items():
        for one in part.get("waits", ()):
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
    Paused and parked work is left out: the session's end alone brings no line of it."""
    gathered = {(row["handler"], row["project"]) for row in waits}
    gathered |= set(
        rows(
            "SELECT DISTINCT t.plugin, p.session FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
            "WHERE t.state = 'waiting'"
        )
    )
    parked = "FROM task k LEFT JOIN project r ON r.number = k.project WHERE k.reason <> '' AND k.kind <> 'session-started'"
    stopped = set(rows(f"SELECT k.plugin, k.session {parked} UNION SELECT k.plugin, r.root {parked}"))
    found = list[dict[str, Any]]()
    for session, root, at, source in endings:
        if choices.find_pause(root, session) or choices.is_excluded(root):
            continue
        about = [{(name, session), (name, root)} for name in payers]
        if any(one & gathered and not one & stopped for one in about):
            row = {"session": session, "source": source, "project": root}
            found.append(row | {"lines_about": utc_seconds(at)})
    return found


# --- What the daemon that runs, or ran last, says of itself, as rows: so `status` is the same with it, without it, and beside one that hangs.


KEY = "daemon"
EVERY = 60.0
"""Seconds after which the note is written anew, for the time of the last pass."""


class DaemonNote(Struct, frozen=True):
    """What the daemon says of itself. Times are seconds since 1970, UTC."""

    version: str
    pid: int
    since: float
    passed: float
    root: str
    """The client's own directory."""
    transcripts: int
    lines: Mapping[str, int] = field(default_factory=dict)
    """Of transcripts that were not read as usual, since its start, by kind."""
    unread: tuple[int, int] = (0, 0)
    """Transcripts that were not read to their end, and how many bytes."""
    program: str = ""
    plugins: Sequence[str] = ()
    readers: Sequence[str] = ()
    """Plugins that read records."""
    payers: Sequence[str] = ()
    """Plugins that ask the model about prompts."""
    ends: Mapping[str, float] = field(default_factory=dict)
    """By open session when it ends, if its client has ended."""
    problems: Sequence[Degradation] = ()
    """What is wrong and no row says."""


_READ_NOTE = msgspec.json.Decoder(DaemonNote)


def read_note(rows: Rows) -> DaemonNote | None:
    """The note; None if no daemon has run here yet, or one of another version wrote it."""
    found = rows("SELECT value FROM setting WHERE key = ?", KEY)
    try:
        return _READ_NOTE.decode(found[0][0]) if found else None
    except msgspec.DecodeError:
        return None


class NoteWriter:
    """Writes the note when it has changed. One thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.last: DaemonNote | None = None
        """What was to be written last."""
        self._written: object = None
        self._passed = -math.inf

    def write(self, note: DaemonNote) -> None:
        self.last = note
        same = self._store.generation, replace(note, passed=0.0)
        if same == self._written and 0.0 <= note.passed - self._passed < EVERY:
            return
        with self._store.write() as tx:
            tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", KEY, msgspec.json.encode(note).decode())
        self._written, self._passed = same, note.passed
