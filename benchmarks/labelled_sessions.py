"""Sessions in a compact source form, and the transcripts that Claude Code would write for them.

    project: ferro
    folders: firmware/drivers host/tools

    == file AGENTS.md
    - Never edit files in data/raw.

    == ferro-1 2026-03-03T15:20
    [1] the i2c driver hangs, have a look      a message that a person typed; it continues on the lines below
    ~ Edit firmware/drivers/i2c.c              a tool call of the assistant, with its file or command
    = Done.                                    what the assistant said
    [2] /compact                               a slash command
    [3] what is this?
    <<<                                        a paste, as the client marks it
    error: ...
    >>>

Times are UTC; between two messages four minutes pass. The id of a message is the session's with its number: `ferro-1.2`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from support_beginnings import opening

TURN = 240.0
"""Seconds between two messages."""
VERSION = "2.1.328"
"""The client whose format the transcripts have."""
_MESSAGE = re.compile(r"\[(\d+)\] (.*)")
_FILE_TOOLS = frozenset({"Read", "Edit", "Write"})

StepKind = Literal["typed", "command", "said", "tool"]


@dataclass(frozen=True, slots=True)
class SessionStep:
    """One thing that happens in a session."""

    kind: StepKind
    text: str
    """The words, the slash command with its arguments, or the tool and its file or command."""
    number: int = 0
    """The message's number; 0 for what the assistant does."""


@dataclass(frozen=True, slots=True)
class LabelledSession:
    """A session of one project."""

    id: str
    begins: float
    """Seconds since 1970, UTC."""
    steps: tuple[SessionStep, ...]

    @property
    def messages(self) -> tuple[SessionStep, ...]:
        """What the person typed, commands included, in order."""
        return tuple(step for step in self.steps if step.number)

    @property
    def ends(self) -> float:
        """The time of the last record: seconds since 1970, UTC."""
        return self.begins + TURN * len(self.messages)


@dataclass(frozen=True, slots=True)
class LabelledProject:
    """A project with its sessions in order."""

    name: str
    folders: tuple[str, ...]
    files: Mapping[str, str]
    """Texts by path relative to the project, which are there before the first session."""
    sessions: tuple[LabelledSession, ...]


def load_projects(directory: Path) -> list[LabelledProject]:
    """Parse every `*.txt` of a directory, ordered by name. Raises ValueError for a line that is not of the form."""
    return [parse_project(path.read_text("utf-8"), path.name) for path in sorted(directory.glob("*.txt"))]


def parse_project(text: str, source: str = "") -> LabelledProject:
    """Parse the text of one file. Raises ValueError, which names `source`, if it is not of the form."""
    head, *parts = re.split(r"^== ", text, flags=re.MULTILINE)
    given = dict(line.split(": ", 1) for line in head.splitlines() if line.strip())
    files: dict[str, str] = {}
    sessions: list[LabelledSession] = []
    for part in parts:
        title, _, body = part.partition("\n")
        first, _, second = title.partition(" ")
        if first == "file":
            files[second.strip()] = body.strip("\n") + "\n"
        else:
            begins = datetime.fromisoformat(second.strip()).replace(tzinfo=UTC).timestamp()
            sessions.append(LabelledSession(first, begins, tuple(_parse_steps(body, f"{source}: {first}"))))
    if not {"project", "folders"} <= given.keys() or not sessions:
        raise ValueError(f"{source}: `project:`, `folders:` and a session are needed")
    return LabelledProject(given["project"], tuple(given["folders"].split()), files, tuple(sessions))


def _parse_steps(body: str, where: str) -> Iterator[SessionStep]:
    number, lines = 0, list[str]()
    for line in [*body.splitlines(), "= "]:
        starts = _MESSAGE.fullmatch(line)
        if not starts and line[:2] not in ("= ", "~ "):
            if not number and line.strip():
                raise ValueError(f"{where}: {line!r} belongs to no message")
            lines.append(line)
            continue
        if number:
            words = _mark_pastes("\n".join(lines).rstrip("\n"))
            yield SessionStep("command" if words.startswith("/") else "typed", words, number)
        if starts:
            if int(starts[1]) <= number:
                raise ValueError(f"{where}: message {starts[1]} is not in order")
            lines = [starts[2]]
        elif line != "= ":
            yield SessionStep("said" if line[0] == "=" else "tool", line[2:])
        number = int(starts[1]) if starts else 0


def _mark_pastes(words: str) -> str:
    """Replace the lines around a paste by the client's marks."""
    ids = iter(range(1, 100))
    return re.sub(
        r"^<<<\n(.*?)\n>>>$",
        lambda found: f'<pasted_content id="{(id := next(ids))}">\n{found[1]}\n</pasted_content id="{id}">',
        words,
        flags=re.MULTILINE | re.DOTALL,
    )


def render_transcript(session: LabelledSession, root: Path) -> bytes:
    """The lines of the session's transcript. `root`: the project's directory, in which the session works."""
    clock = _RecordClock(session.begins)
    records = [_render_step(session, step, root, clock) for step in session.steps]
    begun = opening(session.id, VERSION, clock.format(session.begins))
    return begun + b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


@dataclass(slots=True)
class _RecordClock:
    """The time of the next record, and the number of records of the assistant."""

    begins: float
    turns: int = 0
    seconds: float = 0.0
    records: int = field(default=0)

    def next_stamp(self, *, typed: bool) -> str:
        if typed:
            self.turns, self.seconds = self.turns + 1, 0.0
        else:
            self.seconds += 5.0
        self.records += 1
        return self.format(self.begins + TURN * (self.turns - 1) + self.seconds)

    @staticmethod
    def format(at: float) -> str:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _render_step(
    session: LabelledSession, step: SessionStep, root: Path, clock: _RecordClock
) -> dict[str, Any]:
    stamp = clock.next_stamp(typed=bool(step.number))
    common = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "entrypoint": "cli",
        "cwd": str(root),
        "sessionId": session.id,
        "version": VERSION,
        "gitBranch": "main",
        "timestamp": stamp,
    }
    match step.kind:
        case "typed":
            more = {"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"}
            return {**_message("user", step.text), **more, "uuid": f"{session.id}.{step.number}", **common}
        case "command":
            return {
                **_message("user", _envelope(step.text)),
                "uuid": f"{session.id}.{step.number}",
                **common,
            }
        case "said":
            content: Sequence[Mapping[str, Any]] = [{"type": "text", "text": step.text}]
        case "tool":
            content = [_tool_use(step.text, root, f"toolu_{session.id}_{clock.records}")]
    return {**_message("assistant", content), "uuid": f"{session.id}-a{clock.records}", **common}


def _message(role: str, content: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    more = {"model": "claude-opus-4-6"} if role == "assistant" else {}
    return {"type": role, "message": {"role": role, "content": content, **more}}


def _envelope(text: str) -> str:
    """A slash command as the client records it."""
    name, _, words = text.partition(" ")
    plain = name.removeprefix("/")
    return (
        f"<command-name>{name}</command-name>\n            <command-message>{plain}</command-message>\n"
        f"            <command-args>{words}</command-args>"
    )


def _tool_use(text: str, root: Path, id: str) -> dict[str, Any]:
    tool, _, what = text.partition(" ")
    given = {"file_path": str(root / what)} if tool in _FILE_TOOLS else {"command": what}
    return {"type": "tool_use", "id": id, "name": tool, "input": given}
