"""The sessions on disk: their files in the user memory, and beside them the state of each from its transcript.

A file is changed under the directory's lock and compared before it is replaced (SPEC X-07). A file that cannot be parsed
is not changed. What a file contains belongs to `render` and `session_edits`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from msgspec import Struct

from tacitd.clock import Clock, SystemClock, parse_utc, utc_millis
from tacitd.errors import TacitdError, UsageError
from tacitd.files import json_document
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.replaced import UNGUARDED, EditGuards, replace_file
from tacitd.state.paths import state_dir
from tacitd_handlers.continuity import session_names, stored_progress
from tacitd_handlers.continuity.stored_progress import MAX_AGE_DAYS, Json, TranscriptProgress
from tacitd_handlers.shared.decay import DAY
from tacitd_handlers.shared.user_memory import memory_dir

_HINT = "correct it by hand, or remove it"


class SessionFile(Struct, frozen=True):
    """A session's file, as it was read."""

    path: Path
    document: Json

    @property
    def id(self) -> str:
        """The session's id; "" if the file has none."""
        return str(self.document.get("sessionId", ""))

    @property
    def last_active(self) -> float:
        """When it was last active: seconds since 1970, UTC; 0 if the file has no such time."""
        return parse_utc(self.document.get("lastActiveAt")) or 0.0

    @property
    def project(self) -> str:
        """Its working directory; "" if the file has none."""
        found = self.document.get("projectPath")
        return found if isinstance(found, str) else ""


class UnreadableSession(Struct, frozen=True):
    """A session whose file cannot be read, and what is known of it otherwise."""

    path: Path
    what: str
    """The path and the reason, for a person."""
    id: str = ""
    project: str = ""
    """Its working directory; "" if it is not known."""
    last_active: float = 0.0
    """Seconds since 1970, UTC. The file's modification time if nothing better is known."""


class SessionStore:
    """All sessions of one user memory. Several processes may use it at once. Threads must not share an object."""

    def __init__(
        self,
        directory: Path,
        beside: Path,
        clock: Clock | None = None,
        disk: Disk | None = None,
        guards: EditGuards = UNGUARDED,
    ) -> None:
        """`beside`: the folder for the state of each session from its transcript."""
        self.directory = directory
        self.folder = directory / session_names.FOLDER
        self.clock = clock or SystemClock()
        self.disk = disk or RealDisk()
        self._beside = beside
        self._guards = guards
        self._counted: dict[Path, tuple[tuple[int, int], bool]] = {}

    @classmethod
    def from_environ(
        cls,
        env: Mapping[str, str],
        clock: Clock | None = None,
        home: Path | None = None,
        guards: EditGuards = UNGUARDED,
    ) -> SessionStore:
        """Return the store of this environment. `home`: the handler's state directory; None takes the default one."""
        directory = memory_dir(env)
        name = f"{crc32(os.fsencode(os.path.realpath(directory))):08x}"
        return cls(
            directory, (home or state_dir(env) / "handlers" / "continuity") / name, clock, guards=guards
        )

    def session_path(self, session: str) -> Path:
        """Return the path of a session's file (SPEC P-25). The file may not exist."""
        return self.folder / session_names.file_name(session)

    # reading

    def list_sessions(self, *, patient: bool = True) -> list[SessionFile]:
        """Return every readable session, the newest first. `patient`: read files that are being written again."""
        return self.read_sessions(patient=patient)[0]

    def read_sessions(self, *, patient: bool = True) -> tuple[list[SessionFile], list[UnreadableSession]]:
        """Return the readable sessions, the newest first, and the others."""
        readable: list[SessionFile] = []
        unreadable: list[UnreadableSession] = []
        for path in self._files():
            try:
                found = self._read(path, patient=patient)
            except (OSError, TacitdError) as error:
                unreadable.append(self._describe_unreadable(path, str(error)))
            else:
                readable += [SessionFile(path, found)] if found is not None else []
        return sorted(readable, key=self.order_of, reverse=True), unreadable

    def order_of(self, one: SessionFile | UnreadableSession) -> tuple[bool, float, str]:
        """Return a key that sorts the sessions by time. A session from the future counts as the oldest: its time is wrong."""
        return one.last_active <= self.clock.now() + DAY, one.last_active, one.id

    def _describe_unreadable(self, path: Path, what: str) -> UnreadableSession:
        """Describe a session by the state from its transcript, otherwise by what can be read of its file."""
        state = self._load_file(self._beside / path.name)
        try:
            saved = path.lstat().st_mtime
            raw = SessionFile(path, json_document.read_document(path, self.disk, patient=False) or {})
        except (OSError, TacitdError):
            saved, raw = 0.0, SessionFile(path, {})
        if state is not None:
            return UnreadableSession(path, what, state.session, state.cwd, state.last or 0.0)
        return UnreadableSession(path, what, raw.id, raw.project, raw.last_active or saved)

    def count_sessions(self) -> tuple[int, int]:
        """Return the number of sessions, and of those with open tasks. A file is read again only if it changed."""
        found: dict[Path, tuple[tuple[int, int], bool]] = {}
        for path in self._files():
            try:
                stat = path.stat()
                stamp = (stat.st_mtime_ns, stat.st_size)
                known = self._counted.get(path)
                if known is None or known[0] != stamp:
                    known = stamp, bool(open_tasks(self._read(path, patient=False) or {}))
                found[path] = known
            except (OSError, TacitdError):
                continue  # `list_broken` reports it
        self._counted = found
        return len(found), sum(is_open for _, is_open in found.values())

    def list_broken(self) -> list[str]:
        """Return a message for each file that cannot be read."""
        return [one.what for one in self.read_sessions(patient=False)[1]]

    def _read(self, path: Path, *, patient: bool = True) -> Json | None:
        found = json_document.read_document(path, self.disk, patient=patient)
        return check_shape(found, path) if found is not None else None

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob(f"{session_names.PREFIX}*{session_names.SUFFIX}"))

    def find_session(self, id: str) -> SessionFile:
        """Return the session with this id, or the only one whose id begins with it.

        Raises UsageError if there is none or several, and NotUnderstoodError for an unreadable file.
        """
        found = self._read(self.session_path(id))
        if found is not None:
            return SessionFile(self.session_path(id), found)
        near = [one for one in self.list_sessions() if one.id.startswith(id)] if id else []
        if len(near) == 1:
            return near[0]
        what = f"{len(near)} sessions begin with {id}" if near else f"there is no session {id!r}"
        raise UsageError(what, "tacitd sessions list")

    # changes

    def change_session(self, session: str, make: Callable[[Json | None], Json | None]) -> bool:
        """Change a session's file; return whether it was changed. `make` is as for `change_document`.

        Raises OSError, FileRefusedError, FileBusyError; the file is then unchanged.
        """
        from tacitd_handlers.continuity.session_schema import check_session

        path = self.session_path(session)

        def checked(before: Json | None) -> Json | None:
            made = make(check_session(before, path) if before is not None else None)
            return check_session(made, path) if made is not None else None

        with json_document.lock_directory(self.directory, self.disk):
            return json_document.change_document(path, checked, self.disk, self._guards)

    def edit_session(self, session: str, make: Callable[[Json], Json]) -> None:
        """Make a person's change, and set `lastActiveAt` to now (SPEC P-22). Raises as `change_document`."""
        stamp = utc_millis(self.clock.now())

        def made(before: Json | None) -> Json | None:
            return make(before) | {"lastActiveAt": stamp} if before is not None else None

        self.change_session(session, made)

    # the state from the transcripts

    def load_progress(self, session: str) -> TranscriptProgress | None:
        """Return the stored state; None if there is none or it cannot be read. The transcript is then read again."""
        return self._load_file(self._beside / session_names.file_name(session))

    def _load_file(self, path: Path) -> TranscriptProgress | None:
        try:
            found = json_document.read_document(path, self.disk, patient=False)
            return stored_progress.from_data(found) if found is not None else None
        except (OSError, TacitdError, KeyError, TypeError, ValueError):
            return None

    def list_recent(self, since: float) -> list[str]:
        """Return the sessions whose state was written since a time (seconds since 1970, UTC). Raises OSError."""
        recent = (
            path
            for path in self._beside.glob(f"{session_names.PREFIX}*{session_names.SUFFIX}")
            if path.stat().st_mtime >= since
        )
        found = (self._load_file(path) for path in recent)
        return [one.session for one in found if one is not None]

    def save_progress(self, now: TranscriptProgress, *, durable: bool = True) -> None:
        """Store the state of a session. Raises OSError. `durable` False: a power cut may leave the state before, or none."""
        data = json.dumps(stored_progress.as_data(now), ensure_ascii=True, separators=(",", ":")).encode()
        path = self._beside / session_names.file_name(now.session)
        replace_file(path, data + b"\n", mode=0o600, disk=self.disk, durable=durable)

    # pruning

    def prune_sessions(self, now: float) -> int:
        """Remove sessions that were last active more than 30 days ago (exactly 30 stays, SPEC P-24); return how many.

        `now` is seconds since 1970, UTC. Files that cannot be read stay. Raises OSError.
        """
        if not self.folder.is_dir():
            return 0
        oldest, gone = now - MAX_AGE_DAYS * DAY, 0
        with json_document.lock_directory(self.directory, self.disk):
            for one in self.list_sessions(patient=False):
                if parse_utc(one.document.get("lastActiveAt")) is not None and one.last_active < oldest:
                    self.disk.unlink(one.path)
                    gone += 1
        self._forget(oldest)
        return gone

    def _forget(self, before: float) -> None:
        """Remove states that have no session's file and were not written since `before`."""
        for path in self._beside.glob(f"{session_names.PREFIX}*{session_names.SUFFIX}"):
            if not (self.folder / path.name).exists() and path.stat().st_mtime < before:
                self.disk.unlink(path)


def check_shape(found: Json, path: Path) -> Json:
    """Return the session if its lists have the right types, which is enough for reading. Raises NotUnderstoodError.

    `schema.check` checks the rest before anything is written; its import is too slow for a session's start.
    """
    for key, kind, what in (
        ("tasks", dict, "objects"),
        ("decisions", dict, "objects"),
        ("context", str, "texts"),
    ):
        if not _lists(found.get(key, []), kind):
            raise json_document.NotUnderstoodError(f"{path}: {key} is not a list of {what}", _HINT)
    odd = next((one for one in found.get("tasks", ()) if not _lists(one.get("children") or [], str)), None)
    if odd is not None:
        raise json_document.NotUnderstoodError(
            f"{path}: tasks: children of {odd.get('id')!r} is not a list of texts", _HINT
        )
    return found


def _lists(found: object, kind: type) -> bool:
    return isinstance(found, list) and all(isinstance(one, kind) for one in found)


def open_tasks(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the unfinished tasks: in progress, pending, then blocked."""
    found = [
        one
        for one in document.get("tasks", ())
        if isinstance(one, Mapping) and one.get("status") != "completed"
    ]
    return sorted(found, key=lambda one: ("in_progress", "pending", "blocked").index(_known(one)))


def _known(one: Mapping[str, Any]) -> str:
    status = one.get("status")
    return status if status in ("in_progress", "blocked") else "pending"
