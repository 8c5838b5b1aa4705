"""The sessions on disk: their files in the user memory, and beside them the state of each from its transcript.

A file is changed under the directory's lock and compared before it is replaced (SPEC X-07). A file that cannot be parsed
is not changed. What a file contains belongs to `session_file` and `session_edits`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from tacitd.clock import Clock, SystemClock, parse_utc, utc_millis
from tacitd.errors import TacitdError, UsageError
from tacitd.files import json_document
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.replaced import UNGUARDED, EditGuards, replace_file
from tacitd.state.paths import state_dir
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.continuity import session_progress
from tacitd_handlers.continuity.session_file import MAX_AGE_DAYS, find_fault, find_list_fault
from tacitd_handlers.continuity.session_progress import Json, TranscriptProgress
from tacitd_handlers.shared.decay import DAY
from tacitd_handlers.shared.user_memory import memory_dir

TYPE_CHECKING = False  # not from typing: a session's start waits for the import
if TYPE_CHECKING:
    from tacitd.handler import Handler, Tools

FOLDER = "sessions"
_PATTERN = "session-*.json"
_SAFE = compile_lazily(r"[A-Za-z0-9_-]{1,100}")


def name_file(session: str) -> str:
    """Return `session-<id>.json`, for any id a name in the same directory (SPEC P-25).

    An id with other characters than letters, digits, `_` and `-`, or of more than 100, becomes a hash of 32 hexadecimal digits.
    """
    id = session if _SAFE.fullmatch(session) else sha256(session.encode(errors="replace")).hexdigest()[:32]
    return f"session-{id}.json"


class SessionFile(Struct, frozen=True):
    """A session's file, as it was read."""

    path: Path
    document: Json
    """Its contents; of a file that cannot be read, what is known of it otherwise."""
    fault: str = ""
    """Why it cannot be read, for a person; "" if it was read."""
    saved: float = 0.0
    """When a file that cannot be read was saved: seconds since 1970, UTC."""

    @property
    def id(self) -> str:
        """The session's id; "" if the file has none."""
        return str(self.document.get("sessionId", ""))

    @property
    def last_active(self) -> float:
        """When it was last active: seconds since 1970, UTC; 0 if the file has no such time."""
        return parse_utc(self.document.get("lastActiveAt")) or self.saved

    @property
    def project(self) -> str:
        """Its working directory; "" if the file has none."""
        found = self.document.get("projectPath")
        return found if isinstance(found, str) else ""


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
        self.folder = directory / FOLDER
        self.clock = clock or SystemClock()
        self.disk = disk or RealDisk()
        self._beside = beside
        self._guards = guards

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
        beside = (home or state_dir(env) / "handlers" / "continuity") / name
        return cls(directory, beside, clock, guards=guards)

    def session_path(self, session: str) -> Path:
        """Return the path of a session's file (SPEC P-25). The file may not exist."""
        return self.folder / name_file(session)

    # the files

    def list_sessions(self, *, patient: bool = True) -> list[SessionFile]:
        """Return every session, the newest first, also those whose files cannot be read.

        `patient`: read files that are being written again. A session from the future comes last: its time is wrong.
        """
        latest = self.clock.now() + DAY
        found = [one for path in self.folder.glob(_PATTERN) if (one := self._read(path, patient=patient))]
        return sorted(
            found, key=lambda one: (one.last_active <= latest, one.last_active, one.id), reverse=True
        )

    def _read(self, path: Path, *, patient: bool = True) -> SessionFile | None:
        raw: Json | None = {}
        try:
            raw = json_document.read_document(path, self.disk, patient=patient)
            return SessionFile(path, _check(raw, path, find_list_fault)) if raw is not None else None
        except (OSError, TacitdError) as error:
            fault = str(error)
        known = self._load_state(self._beside / path.name)
        if known is not None:
            raw = {"sessionId": known.session, "projectPath": known.cwd, "lastActiveAt": utc_millis(known.last or 0.0)}  # fmt: skip
        try:
            saved = path.lstat().st_mtime
        except OSError:
            saved = 0.0
        return SessionFile(path, raw or {}, fault, saved)

    def find_session(self, id: str) -> SessionFile:
        """Return the session with this id, or the only one whose id begins with it.

        Raises UsageError if there is none or several, and NotUnderstoodError for an unreadable file.
        """
        path = self.session_path(id)
        if path.exists():
            document = json_document.read_document(path, self.disk) or {}
            return SessionFile(path, _check(document, path, find_list_fault))
        near = [one for one in self.list_sessions() if one.id.startswith(id) and not one.fault] if id else []
        if len(near) == 1:
            return near[0]
        what = f"{len(near)} sessions begin with {id}" if near else f"there is no session {id!r}"
        raise UsageError(what, "tacitd sessions list")

    def change_session(self, session: str, make: Callable[[Json | None], Json | None]) -> bool:
        """Change a session's file; return whether it was changed. `make` is as for `change_document`.

        Raises OSError, FileRefusedError, FileBusyError; the file is then unchanged.
        """
        path = self.session_path(session)

        def checked(before: Json | None) -> Json | None:
            made = make(_check(before, path, find_fault) if before is not None else None)
            return _check(made, path, find_fault) if made is not None else None

        with json_document.lock_directory(self.directory, self.disk):
            return json_document.change_document(path, checked, self.disk, self._guards)

    def edit_session(self, session: str, make: Callable[[Json], Json]) -> None:
        """Make a person's change, and set `lastActiveAt` to now (SPEC P-22). Raises as `change_document`."""
        stamp = utc_millis(self.clock.now())

        def made(before: Json | None) -> Json | None:
            return make(before) | {"lastActiveAt": stamp} if before is not None else None

        self.change_session(session, made)

    def prune_sessions(self, now: float) -> None:
        """Remove sessions that were last active more than 30 days ago (exactly 30 stays, SPEC P-24), and their states.

        `now` is seconds since 1970, UTC. Files that cannot be read stay. Raises OSError.
        """
        if not self.folder.is_dir():
            return
        oldest = now - MAX_AGE_DAYS * DAY
        with json_document.lock_directory(self.directory, self.disk):
            for one in self.list_sessions(patient=False):
                if not one.fault and 0.0 < one.last_active < oldest:
                    self.disk.unlink(one.path)
        for path in self._beside.glob(_PATTERN):
            if not (self.folder / path.name).exists() and path.stat().st_mtime < oldest:
                self.disk.unlink(path)

    # the states from the transcripts

    def load_progress(self, session: str) -> TranscriptProgress | None:
        """Return the stored state; None if there is none or it cannot be read. The transcript is then read again."""
        return self._load_state(self._beside / name_file(session))

    def _load_state(self, path: Path) -> TranscriptProgress | None:
        try:
            found = json_document.read_document(path, self.disk, patient=False)
            return session_progress.from_data(found) if found is not None else None
        except (OSError, TacitdError, KeyError, TypeError, ValueError):
            return None

    def list_recent(self, since: float) -> list[TranscriptProgress]:
        """Return the states that were written since a time (seconds since 1970, UTC). Raises OSError."""
        recent = (path for path in self._beside.glob(_PATTERN) if path.stat().st_mtime >= since)
        return [state for path in recent if (state := self._load_state(path)) is not None]

    def save_progress(self, now: TranscriptProgress, *, durable: bool = True) -> None:
        """Store the state of a session. Raises OSError. `durable` False: a power cut may leave the state before, or none."""
        data = json.dumps(session_progress.as_data(now), ensure_ascii=True, separators=(",", ":")).encode()
        path = self._beside / name_file(now.session)
        replace_file(path, data + b"\n", mode=0o600, disk=self.disk, durable=durable)


def _check(document: Json, path: Path, find: Callable[[Json], str]) -> Json:
    if fault := find(document):
        raise json_document.NotUnderstoodError(f"{path}: {fault}", "correct it by hand, or remove it")
    return document


def purge_words(handler: Handler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank these texts in every session's file; return the files that changed. The first and third argument are not needed.

    Raises OSError.
    """
    from tacitd.files.purge import blank_in_place

    del handler, id
    folder = SessionStore.from_environ(os.environ, tools.clock).folder
    return [path for path in sorted(folder.glob(_PATTERN)) if blank_in_place(path, texts)]
