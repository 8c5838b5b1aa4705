"""The sessions' files: their names, what is in them, and which of them are too old. They are changed by `handler` only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from tacitd.clock import parse_utc
from tacitd.errors import TacitdError, UsageError
from tacitd.files import json_document
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.continuity.session_document import DAY, MAX_AGE_DAYS, Json, find_fault
from tacitd_handlers.shared.user_memory import memory_dir

if TYPE_CHECKING:
    from tacitd.contract import Rows

FOLDER, PATTERN = "sessions", "session-*.json"
_SAFE = compile_lazily(r"[A-Za-z0-9_-]{1,100}")


class SessionFile(Struct, frozen=True):
    """A session's file, as it was read."""

    path: Path
    document: Json
    last_active: float = 0.0
    """When it was last active, as the file or the store says: seconds since 1970, UTC."""

    @property
    def id(self) -> str:
        """The session's id; "" if the file has none."""
        return str(self.document.get("sessionId", ""))

    @property
    def project(self) -> str:
        """Its working directory; "" if the file has none."""
        found = self.document.get("projectPath")
        return found if isinstance(found, str) else ""


class Listing(NamedTuple):
    """The files of all sessions."""

    sessions: list[SessionFile]
    """The newest first. One from the future comes last: its time is wrong."""
    faults: list[str]
    """Why the others cannot be read, for a person."""


def find_folder(env: Mapping[str, str] | None = None) -> Path:
    """The directory of the sessions' files. It may not exist."""
    return memory_dir(os.environ if env is None else env) / FOLDER


def find_path(session: str) -> Path:
    """The path of a session's file: `session-<id>.json`, for any id a name in the same directory (SPEC P-25).

    An id with other characters than letters, digits, `_` and `-`, or of more than 100, becomes a hash of 32 hexadecimal digits.
    """
    id = session if _SAFE.fullmatch(session) else sha256(session.encode(errors="replace")).hexdigest()[:32]
    return find_folder() / f"session-{id}.json"


def read_checked(path: Path) -> Json | None:
    """The document of a session's file; None if there is none. Raises OSError, and NotUnderstoodError if it is no session."""
    document = json_document.read_document(path, patient=False)
    if document is not None and (fault := find_fault(document)):
        raise json_document.NotUnderstoodError(f"{path}: {fault}", "correct it by hand, or remove it")
    return document


def list_sessions(rows: Rows, now: float) -> Listing:
    """Read all sessions."""
    known = {find_path(id): last for id, last in rows("SELECT id, last FROM continuity_session")}
    found, faults = list[SessionFile](), list[str]()
    for path in sorted(find_folder().glob(PATTERN)):
        try:
            document = read_checked(path) or {}
        except (OSError, TacitdError) as error:
            faults.append(str(error))
            continue
        at = parse_utc(document.get("lastActiveAt")) or 0.0
        found.append(SessionFile(path, document, max(at, known.get(path, 0.0))))
    found.sort(key=lambda one: (one.last_active <= now + DAY, one.last_active, one.id), reverse=True)
    return Listing(found, faults)


def find_session(rows: Rows, id: str, now: float) -> SessionFile:
    """Return the session with this id, or the only one whose id begins with it.

    Raises UsageError if there is none or several, and NotUnderstoodError for an unreadable file.
    """
    path = find_path(id)
    if path.exists():
        return SessionFile(path, read_checked(path) or {})
    near = [one for one in list_sessions(rows, now).sessions if one.id.startswith(id)] if id else []
    if len(near) == 1:
        return near[0]
    what = f"{len(near)} sessions begin with {id}" if near else f"there is no session {id!r}"
    raise UsageError(what, "tacitd sessions list")


def is_old(one: SessionFile, now: float) -> bool:
    """Whether a session was last active more than 30 days ago (exactly 30 stays, SPEC P-24)."""
    return 0.0 < one.last_active < now - MAX_AGE_DAYS * DAY
