"""Transcripts as Claude Code 2.1.328 writes them, for the demonstration and for tests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacitd.clock import Clock

VERSION = "2.1.328"
_HUMAN = {
    "permissionMode": "default",
    "origin": {"kind": "human"},
    "promptSource": "typed",
    "turnOrigin": "human",
}
Record = dict[str, Any]


def _append(path: Path, session: str, records: Iterable[Mapping[str, Any]], at: float) -> None:
    """Append records. A new transcript of a session begins as the client begins it, with records that name no directory."""
    stamp, begun = _format_stamp(at), list[Record]()
    if session and not path.exists():
        snapshot = {"messageId": session, "trackedFileBackups": {}, "timestamp": stamp}
        begun = [
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
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(_encode(one) for one in [*begun, *records]))
    os.utime(path, (at, at))


def _format_stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class SampleTranscripts:
    """The transcripts below a client's own directory: each method appends what the client appends for one act. The ids of records are
    numbers, in the form of a UUID."""

    def __init__(self, home: Path, clock: Clock) -> None:
        """`home`: the client's own directory."""
        self.root = home / "projects"
        """The directory that they are in."""
        self.root.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._count = 0
        self._paths: dict[str, Path] = {}
        """The transcript of each session: it stays where the session began."""
        self._last: dict[str, str] = {}
        """The id of the last record of each session."""

    def find(self, session: str) -> Path:
        """The transcript of a session. Raises ValueError if there is none."""
        (path,) = self.root.glob(f"*/{session}.jsonl")
        return path

    def name_path(self, session: str, cwd: Path) -> Path:
        """The path of the transcript of a session that begins in this directory, without what the client does with long ones."""
        folder = "".join(one if one.isascii() and one.isalnum() else "-" for one in str(cwd))[:200]
        return self.root / folder / f"{session}.jsonl"

    def type(self, session: str, cwd: Path, text: str) -> None:
        """A prompt that the person typed."""
        self.record(session, cwd, _HUMAN | _user(text))

    def say(self, session: str, cwd: Path, text: str) -> None:
        """An answer of the assistant."""
        self.record(session, cwd, _spoken({"type": "text", "text": text}))

    def use_tool(
        self,
        session: str,
        cwd: Path,
        tool: str,
        given: Mapping[str, Any],
        result: Any,
        text: str,
        *,
        error: bool,
    ) -> None:
        """A call of a tool, and its result. `result`: as the client keeps it. `text`: as the model gets it."""
        call = f"toolu_{self._count + 1:024d}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": dict(given)}
        self.record(session, cwd, _spoken(use))
        answer = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": error}
        self.record(session, cwd, _user([answer]) | {"toolUseResult": result})

    def queue(self, session: str, cwd: Path, text: str) -> None:
        """A message that the person typed while the assistant worked, and that reached it in the same turn."""
        for operation in ("enqueue", "remove"):
            queued = {"type": "queue-operation", "operation": operation, "timestamp": self._stamp()}
            self.append(session, cwd, [queued | {"sessionId": session, "content": text}])
        attachment = {
            "type": "queued_command",
            "prompt": text,
            "commandMode": "prompt",
            "origin": {"kind": "human"},
            "timestamp": self._stamp(),
            "humanTurn": True,
        }
        self.record(session, cwd, {"type": "attachment", "attachment": attachment})

    def run_agent(self, session: str, cwd: Path, asked: str, answer: str) -> None:
        """A sub-agent that the assistant starts: it has a transcript of its own beside the session's."""
        self._count += 1
        agent = f"a{self._count:016x}"
        path = self.find(session).with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
        mark = {"isSidechain": True, "agentId": agent}
        before = self._last[session]
        records = [_user(asked), _spoken({"type": "text", "text": answer})]
        _append(path, "", [self._fill(session, cwd, one | mark) for one in records], self._clock.now())
        self._last[session] = before
        given = {"description": "look", "prompt": asked, "subagent_type": "general-purpose"}
        result = {"status": "completed", "agentId": agent, "content": [{"type": "text", "text": answer}]}
        self.use_tool(session, cwd, "Agent", given, result, answer, error=False)

    def compact(self, session: str, cwd: Path, summary: str) -> None:
        """The person compacts the session."""
        boundary = {
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "compactMetadata": {"trigger": "manual", "preTokens": 1000},
        }
        self.record(session, cwd, boundary)
        text = f"This session is being continued from a previous conversation that ran out of context.\n\n{summary}"
        self.record(session, cwd, _user(text) | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True})

    def clear(self, new: str, cwd: Path) -> None:
        """The first records of the session that `/clear` begins."""
        caveat = "<local-command-caveat>The command below was run by the user.</local-command-caveat>"
        self.record(new, cwd, _user(caveat) | {"isMeta": True})
        self.command(new, cwd, "clear", "")

    def command(self, session: str, cwd: Path, name: str, words: str) -> None:
        """A slash command that the person typed."""
        text = f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n<command-args>{words}</command-args>"
        self.record(session, cwd, _user(text))

    def fork(self, session: str, new: str) -> None:
        """A fork: the history is copied with its ids into a transcript of another session."""
        source = self.find(session)
        lines = source.read_text("utf-8").replace(f'"sessionId":"{session}"', f'"sessionId":"{new}"')
        path = self._paths[new] = source.with_name(f"{new}.jsonl")
        path.write_text(lines, "utf-8")
        os.utime(path, (self._clock.now(), self._clock.now()))
        self._last[new] = self._last[session]

    def record(self, session: str, cwd: Path, fields: Mapping[str, Any]) -> None:
        """A record of the conversation with these fields, and beneath them those that each has."""
        self.append(session, cwd, [self._fill(session, cwd, fields)])

    def append(self, session: str, cwd: Path, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records as they are. A new transcript begins as the client begins it."""
        path = self._paths.setdefault(session, self.name_path(session, cwd))
        _append(path, session, records, self._clock.now())

    def _fill(self, session: str, cwd: Path, fields: Mapping[str, Any]) -> Record:
        self._count += 1
        id = f"00000000-0000-4000-8000-{self._count:012d}"
        parent, self._last[session] = self._last.get(session), id
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "uuid": id,
            "timestamp": self._stamp(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": str(cwd),
            "sessionId": session,
            "version": VERSION,
            "gitBranch": "main",
            **fields,
        }

    def _stamp(self) -> str:
        return _format_stamp(self._clock.now())


def _spoken(part: Mapping[str, Any]) -> Record:
    message = {"type": "message", "role": "assistant", "model": "claude-haiku-5-5", "content": [dict(part)]}
    return {"type": "assistant", "message": message}


def _encode(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _user(content: Any) -> Record:
    return {"type": "user", "message": {"role": "user", "content": content}}
