"""Transcripts as the client writes them, for the demonstration and for tests of handlers."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

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

    `number` distinguishes the records of one kind. `at`: seconds since 1970, UTC; it is also the file's time.
    """
    content = text if kind == "user" else [{"type": "text", "text": text}]
    record = {
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"{kind}-{number}",
        "sessionId": session,
        "cwd": str(cwd),
        "timestamp": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "version": "2.1.328",
        "isSidechain": False,
        "userType": "external",
    }
    path = home / "projects" / _SESSION / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")
    os.utime(path, (at, at))
