"""Lines as Claude Code writes them, and transcripts made of them, for the tests of the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support_beginnings import is_new, opening
from tacitd.events import Prompt
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.source import OwnCalls
from tacitd.sources.transcript import Tail

SOURCE = ClaudeCode(Path("/nonexistent/claude"))
"""The client whose format they have."""

COMMON = {
    "sessionId": "s1",
    "cwd": "/home/dev/p",
    "version": "2.1.30",
    "timestamp": "2026-11-20T10:00:00.000Z",
}


BEGUN = opening("s1")
"""The shape with which `write` begins a transcript."""


def raw(**fields: Any) -> bytes:
    return json.dumps(COMMON | fields, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def typed(text: str, uuid: str, **fields: Any) -> bytes:
    return raw(type="user", uuid=uuid, message={"role": "user", "content": text}, **fields)


def spoken(text: str, message: dict[str, Any] | None = None, **fields: Any) -> bytes:
    made = {"model": "m", "content": [{"type": "text", "text": text}]} | (message or {})
    return raw(**({"type": "assistant", "uuid": "a", "message": made} | fields))


REJECTION = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
    "the new_string was NOT written to the file)."
)
"""What the client writes before the words with which a person rejected a tool."""


def called(name: str, id: str = "t", **given: Any) -> bytes:
    """The assistant calls a tool."""
    call = {"type": "tool_use", "id": id, "name": name, "input": given}
    return spoken("", {"content": [call]}, uuid=f"call-{id}")


def queue(operation: str, content: str | None = None, **fields: Any) -> bytes:
    line = {
        "type": "queue-operation",
        "operation": operation,
        "sessionId": "s1",
        "timestamp": COMMON["timestamp"],
    }
    return json.dumps(line | ({} if content is None else {"content": content}) | fields).encode() + b"\n"


def attached(text: str, uuid: str, **attachment: Any) -> bytes:
    return raw(
        type="attachment", uuid=uuid, attachment={"type": "queued_command", "prompt": text} | attachment
    )


def write(path: Path, *lines: bytes) -> None:
    """Write lines. In a new transcript they follow the records with which the client begins it."""
    begun = BEGUN if is_new(path) else b""
    with path.open("ab") as out:
        out.write(begun + b"".join(lines))


def read(path: Path, start: int = 0, own: OwnCalls | None = None, **more: Any) -> Tail:
    tail = Tail(path, start, ClaudeCode(SOURCE.home, own) if own else SOURCE, **more)
    drain(tail)
    return tail


def drain(tail: Tail, limit: int = 1 << 20) -> None:
    while tail.read_next_slice(limit).more:
        pass


def list_prompts(tail: Tail, after: int) -> tuple[Prompt, ...]:
    """The prompts of the final records that begin at this offset or later."""
    return tuple([prompt for record in tail.list_records(after) for prompt in record.prompts])


def said(tail: Tail, after: int = 0) -> list[tuple[str, str]]:
    return [(p.kind, p.text) for record in tail.list_records(after) for p in record.prompts]
