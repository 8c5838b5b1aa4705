"""A transcript as the client writes it, for the demonstration."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

_SESSION = "demo"


def append_sample_turn(home: Path, cwd: Path, number: int, spoken: str, typed: str, at: float) -> None:
    """Append one turn to the transcript of a session below `home`: the assistant's text, then the person's prompt.

    `number` distinguishes the turns. `at`: seconds since 1970, UTC.
    """
    common = {
        "cwd": str(cwd),
        "sessionId": _SESSION,
        "timestamp": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "version": "2.1.328",
        "isSidechain": False,
    }
    said = {"role": "assistant", "content": [{"type": "text", "text": spoken}]}
    records = [
        {"type": "assistant", "message": said, "uuid": f"a{number}", **common},
        {"type": "user", "message": {"role": "user", "content": typed}, "uuid": f"u{number}", **common},
    ]
    path = home / "projects" / _SESSION / "session.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
