"""The plugin of sessions in the real engine, and transcripts that tests append to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from unittest import mock

from click.testing import Result

from support_beginnings import beginning, is_new
from support_plugins import PluginHome, save
from tacitd.model.port import Model
from tacitd.session_context.context_request import ContextRequest, Occasion
from tacitd.session_context.plugin_view import open_rows
from tacitd.state.paths import Paths
from tacitd.testing import START, FakeClock, ScriptedModel
from tacitd_handlers.continuity import cli, make_plugin, resume_text
from tacitd_handlers.continuity.session_document import find_path

NOW = START
ANSWER = json.dumps(
    {
        "summary": "Built the parser. Tests pass. The release waits for a key. And a fourth sentence.",
        "decisions": [{"decision": "Use JWT", "rationale": "stateless", "alternatives": ["Session cookies"]}],
    }
)
FIXTURES = Path(__file__).parent / "fixtures" / "continuity"


class World(PluginHome):
    """A home with a daemon in it that runs only this plugin."""

    def __init__(
        self, tmp: Path, *, default: Any = ANSWER, model: Model | None = None, **settings: str
    ) -> None:
        """`default`: what the model answers. `model` takes the place of the scripted one."""
        self.model = ScriptedModel([], default=default)
        super().__init__(
            tmp,
            make_plugin(),
            FakeClock(NOW),
            *(cli, resume_text),
            model=model or self.model,
            settings={f"TACITD_{name.upper()}": value for name, value in settings.items()},
        )
        self.folder = self.home / ".claude" / "projects" / "p"
        self.number = 0

    def __enter__(self) -> Self:
        super().__enter__()
        self.project = self.bench.project
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def settle(self, seconds: float = 30.0) -> None:
        """Let time pass, and run the engine until nothing is left to do."""
        self.bench.settle(seconds)

    def end(self) -> None:
        """Half an hour of quiet ends every session."""
        self.settle()
        self.settle(1900.0)

    def restart(self) -> None:
        """End as `kill -9` would, and start again."""
        self.bench.restart(kill=True)

    def run(self, *arguments: str, session: str = "", cwd: Path | None = None) -> Result:
        """Run `tacitd sessions …`, in the client's session `session` if it is given. Raises what the command raises."""
        before = Path.cwd()
        os.chdir(cwd or self.project)
        try:
            with mock.patch.dict(os.environ, {"CLAUDE_CODE_SESSION_ID": session} if session else {}):
                return self.invoke(cli.sessions, *arguments)
        finally:
            os.chdir(before)

    def resume(self, cwd: Path | None = None) -> list[str]:
        """The lines of `tacitd sessions resume`."""
        return self.run("resume", cwd=cwd).stdout.splitlines()

    def text(
        self, cwd: Path | None = None, budget: int = 9000, session: str = "", occasion: Occasion = "start"
    ) -> str:
        """The text for a session's start."""
        with open_rows(make_plugin(), Paths.from_env(os.environ).state_dir) as rows:
            request = ContextRequest(cwd or self.project, budget, session, occasion, rows=rows)
            return resume_text.make_text(request)

    # transcripts

    def transcript(self, session: str) -> Path:
        return self.folder / f"{session}.jsonl"

    def append(self, session: str, *records: Mapping[str, Any]) -> None:
        """Write records; the first ones of a transcript come after what the client begins it with."""
        begun = beginning(session) if is_new(self.transcript(session)) else []
        with self.transcript(session).open("ab") as out:
            out.write(b"".join(json.dumps(one).encode() + b"\n" for one in (*begun, *records)))
        os.utime(self.transcript(session), (self.clock.now(), self.clock.now()))

    def copy(self, source: Path, *changes: tuple[str, str]) -> Path:
        """Copy a transcript as if it had just been written."""
        text = source.read_text(encoding="utf-8")
        for old, new in changes:
            text = text.replace(old, new)
        path = self.folder / source.name
        path.write_text(text, encoding="utf-8")
        return path

    def fixture(self, version: str) -> Path:
        """What the real client wrote when it used its task tools, as if a person had typed the prompt."""
        human = (('"entrypoint":"sdk-cli"', '"entrypoint":"cli"'), ('"promptSource":"sdk"', '"promptSource":"typed"'),
                 ('"turnOrigin":"sdk"', '"turnOrigin":"human"'))  # fmt: skip
        return self.copy(FIXTURES / f"tasks-{version}.jsonl", *human)

    def record(self, kind: str, session: str, content: Any, **more: Any) -> dict[str, Any]:
        self.number += 1
        stamp = datetime.fromtimestamp(self.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return {
            "type": kind, "uuid": f"u{self.number}", "sessionId": session, "timestamp": stamp, "isSidechain": False,
            "cwd": str(self.project), "version": "2.1.328", "message": {"role": kind, "content": content},
        } | more  # fmt: skip

    def type(self, session: str, *texts: str) -> None:
        self.append(session, *(self.record("user", session, text) for text in texts))

    def say(self, session: str, text: str) -> None:
        self.append(session, self.record("assistant", session, [{"type": "text", "text": text}]))

    def use(
        self,
        session: str,
        name: str,
        input: Any,
        result: Any = "ok",
        *,
        error: bool = False,
        data: Any = None,
    ) -> str:
        """Write the use of a tool and its result; None: no result yet."""
        id = f"toolu_{self.number}"
        self.append(
            session,
            self.record("assistant", session, [{"type": "tool_use", "id": id, "name": name, "input": input}]),
        )
        if result is not None:
            self.answer(session, id, result, error=error, data=data)
        return id

    def answer(
        self, session: str, id: str, result: Any = "ok", *, error: bool = False, data: Any = None
    ) -> None:
        block = {"type": "tool_result", "tool_use_id": id, "content": result} | (
            {"is_error": True} if error else {}
        )
        self.append(session, self.record("user", session, [block], toolUseResult=data))

    def todos(self, session: str, *items: Any, **more: Any) -> str:
        """TodoWrite with `("title", "status")`."""
        given = [
            {"content": one[0], "status": one[1], "activeForm": "x"} if isinstance(one, tuple) else one
            for one in items
        ]
        return self.use(session, "TodoWrite", {"todos": given}, **more)

    def compact(self, session: str, text: str) -> None:
        """The client puts the summary of a compaction into the session."""
        self.append(session, self.record("user", session, text, isCompactSummary=True))

    def command(self, session: str, name: str, arguments: str = "") -> None:
        """The person types a slash command."""
        tags = (("name", f"/{name}"), ("message", name), ("args", arguments))
        text = "\n".join(f"<command-{tag}>{value}</command-{tag}>" for tag, value in tags)
        self.append(session, self.record("user", session, text))

    # what came of it

    def file(self, session: str) -> dict[str, Any]:
        """A session's file; {} if there is none."""
        path = find_path(session)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return found

    def tasks(self, session: str) -> list[tuple[str, str]]:
        """Title and status of each task."""
        return [(one["title"], one["status"]) for one in self.file(session).get("tasks", ())]

    def put(self, session: str, document: Mapping[str, Any] | str) -> Path:
        """A person or another program saves a session's file."""
        path = find_path(session)
        save(path, document if isinstance(document, str) else json.dumps(document, indent=2))
        os.utime(path, (self.clock.now(), self.clock.now()))
        return path

    @property
    def parked(self) -> list[str]:
        """Why work waits."""
        return [reason for (reason,) in self.bench.rows("SELECT reason FROM task WHERE reason <> ''")]
