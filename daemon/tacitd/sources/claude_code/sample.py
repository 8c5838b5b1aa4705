"""Transcripts as the client writes them, for the demonstration and for tests of handlers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

_SESSION = "demo"


def append_sample_turn(home: Path, cwd: Path, number: int, spoken: str, typed: str, at: float) -> None:
    """Append one turn to the transcript of a session below `home`: the assistant's text, then the person's prompt.

    `number` distinguishes the turns. `at`: seconds since 1970, UTC.
    """
    append_sample_record(home, _SESSION, "assistant", spoken, cwd=cwd, number=number, at=at)
    append_sample_record(home, _SESSION, "user", typed, cwd=cwd, number=number, at=at)


def append_sample_record(
    home: Path,
    session: str,
    kind: Literal["assistant", "user"],
    text: str,
    *,
    cwd: Path,
    number: int,
    at: float,
) -> None:
    """Append one record to a session's transcript below `home`: the assistant's text, or a prompt that a person typed.

    `number` distinguishes the records of one kind. `at`: seconds since 1970, UTC; it is also the file's time. A new
    transcript begins as the client begins it, with records that name no directory.
    """
    content = text if kind == "user" else [{"type": "text", "text": text}]
    fields = {"type": kind, "message": {"role": kind, "content": content}, "uuid": f"{kind}-{number}"}
    append_client_record(home, session, fields, cwd=cwd, number=number, at=at)


def append_client_record(
    home: Path, session: str, fields: Mapping[str, Any], *, cwd: Path, number: int, at: float
) -> None:
    """Append a record with these fields to a session's transcript below `home`; see `append_sample_record`."""
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    record = {
        "uuid": f"record-{number}",
        "sessionId": session,
        "cwd": str(cwd),
        "timestamp": stamp,
        "version": "2.1.328",
        "isSidechain": False,
        "userType": "external",
        **fields,
    }
    path = home / "projects" / _SESSION / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [record] if path.exists() else [*_begin_session(session, stamp), record]
    with path.open("ab") as file:
        file.write(b"".join(json.dumps(one).encode() + b"\n" for one in records))
    os.utime(path, (at, at))


def _begin_session(session: str, stamp: str) -> list[dict[str, Any]]:
    """The records that client 2.1.328 writes when a session is opened, before the first prompt."""
    snapshot = {"messageId": session, "trackedFileBackups": {}, "timestamp": stamp}
    return [
        {"type": "mode", "mode": "normal", "sessionId": session},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": session},
        {"type": "atis-latch", "atis": "", "sessionId": session},
        {
            "type": "file-history-snapshot",
            "messageId": session,
            "snapshot": snapshot,
            "isSnapshotUpdate": False,
        },
    ]
