"""How the client begins a transcript: the records before the first one that names a working directory.

Claude Code writes these records when a session is opened, some time before the first prompt. The shapes are those of
the recorded transcripts in fixtures/client; tests/test_beginnings.py compares the two. Transcripts that tests write by
hand begin like this too, through the helpers in tests/support_*.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STAMP = "2026-11-20T10:00:00.000Z"
MESSAGE = "290f43b7-9763-4867-8569-c77790ec0177"

Shape = tuple[Mapping[str, Any], ...]
_MODE = {"type": "mode", "mode": "normal", "sessionId": ""}
_PERMISSION = {"type": "permission-mode", "permissionMode": "default", "sessionId": ""}
_ATIS = {"type": "atis-latch", "atis": "", "sessionId": ""}
_TOOLS = {"type": "tools-used", "tools": ["Bash", "Agent"], "sessionId": ""}
_SUMMARY = {"type": "summary", "summary": "Login fixed", "leafUuid": "b1e33c76-4b4a-4ef5-99c2-0df37bbb314b"}
_SNAPSHOT = {
    "type": "file-history-snapshot",
    "messageId": MESSAGE,
    "snapshot": {"messageId": MESSAGE, "trackedFileBackups": {}, "timestamp": ""},
    "isSnapshotUpdate": False,
}
_DEQUEUE = {"type": "queue-operation", "operation": "dequeue", "timestamp": "", "sessionId": ""}
_ENQUEUE = _DEQUEUE | {"operation": "enqueue", "content": "the prompt of -p"}

SHAPES: dict[str, Shape] = {
    "1.0.128": (),
    "1.0.24 resumed": (_SUMMARY, _SUMMARY),
    "2.0.76": (_SNAPSHOT,),
    "2.1.12 resumed": (_SUMMARY, _SNAPSHOT),
    "2.1.197": (_MODE, _PERMISSION, _SNAPSHOT),
    "2.1.328": (_MODE, _PERMISSION, _ATIS, _SNAPSHOT),
    "2.1.328 cleared": (_MODE, _ATIS, _TOOLS, _SNAPSHOT),
}
"""Interactive sessions, by the client's version. `resumed`: an old session was resumed. `cleared`: after /clear."""
PRINTED: dict[str, Shape] = {
    "2.0.76 -p": (_DEQUEUE,),
    "2.1.63 -p": (_ENQUEUE, _DEQUEUE),
    "2.1.328 -p --resume": (_MODE, _ATIS, _ENQUEUE, _DEQUEUE),
}
"""Sessions of `claude -p`: the prompt is in the queue first."""
RECENT = "2.1.328"
"""The shape with which transcripts begin unless a test asks for another."""


def beginning(
    session: str, shape: str = RECENT, stamp: str = STAMP, prompt: str = "the prompt of -p"
) -> list[dict[str, Any]]:
    """Given a session's id, return the records with which the client begins its transcript.

    `stamp`: the time of those that have one. `prompt`: the text that a session of `claude -p` was given.
    """
    return [_filled(record, session, stamp, prompt) for record in (SHAPES | PRINTED)[shape]]


def opening(session: str, shape: str = RECENT, stamp: str = STAMP) -> bytes:
    """The same as lines, as the client writes them."""
    return b"".join(
        json.dumps(record, separators=(",", ":")).encode() + b"\n"
        for record in beginning(session, shape, stamp)
    )


def is_new(path: Path) -> bool:
    """Whether nothing was written into this transcript yet."""
    return not path.exists() or path.stat().st_size == 0


def _filled(record: Mapping[str, Any], session: str, stamp: str, prompt: str) -> dict[str, Any]:
    given = {"sessionId": session, "timestamp": stamp, "content": prompt}
    made: dict[str, Any] = {key: given.get(key, value) for key, value in record.items()}
    if "snapshot" in made:
        made["snapshot"] = {**made["snapshot"], "timestamp": stamp}
    return made


def leading(path: Path) -> tuple[Sequence[tuple[str, tuple[str, ...]]], bool]:
    """Given a recorded transcript, return the type and the keys of each record before the first one that names a working
    directory, and whether there is such a one."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        if "cwd" in record:
            return found, True
        found.append((record["type"], tuple(record)))
    return found, False
