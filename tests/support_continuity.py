"""The handler of continuity in a real engine without threads, and transcripts that tests append to."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from support_beginnings import beginning, is_new
from support_engine import Inline
from tacitd.app import App, build_app
from tacitd.config.settings import Config
from tacitd.events import Due
from tacitd.model.budget import Budget
from tacitd.model.port import Model
from tacitd.plugins import FoundPlugins
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import START, FakeClock, ScriptedModel
from tacitd.work.work_status import list_parked
from tacitd_handlers.continuity import make_plugin as make
from tacitd_handlers.continuity.handler import ContinuityHandler
from tacitd_handlers.continuity.store import SessionStore

NOW = START
ANSWER = json.dumps(
    {
        "summary": "Built the parser. Tests pass. The release waits for a key. And a fourth sentence.",
        "decisions": [{"decision": "Use JWT", "rationale": "stateless", "alternatives": ["Session cookies"]}],
    }
)
FIXTURES = Path(__file__).parent / "fixtures" / "continuity"


class World:
    """A home with a daemon in it that runs only this handler."""

    def __init__(
        self,
        root: Path,
        *rules: tuple[str, Any],
        default: Any = ANSWER,
        model: Callable[[Config, Budget], Model] | None = None,
        **settings: str,
    ) -> None:
        """`model` takes the place of the scripted one."""
        self.root = root.resolve()
        self.clock = FakeClock(NOW)
        self.model = ScriptedModel(list(rules), default=default)
        self.make_model = model or (lambda config, budget: self.model)
        self.settings = {f"TACITD_CONTINUITY__{name.upper()}": value for name, value in settings.items()}
        self.project = self.git("app")
        self.folder = self.root / "claude" / "projects" / "p"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.number = 0
        self.start()

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "USER_MEMORY_DIR": str(self.root / "memory"),
            "CLAUDE_CONFIG_DIR": str(self.root / "claude"),
            "TACITD_STATE_DIR": str(self.root / "state"),
        }

    def git(self, name: str) -> Path:
        root = self.root / "work" / name
        (root / ".git").mkdir(parents=True, exist_ok=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        return root

    def start(self) -> None:
        """Start a daemon on this disk."""
        handler = ContinuityHandler(self.env)
        self.build(FoundPlugins((replace(make(), make=lambda: handler),)))

    def build(self, found: FoundPlugins) -> None:
        """The engine, with these plugins."""
        state = self.root / "state"
        places = Paths(self.root, self.root / "claude", state, self.root / "no.toml", state / "s")
        self.app: App = build_app(
            places,
            self.settings,
            clock=self.clock,
            found=found,
            model=self.make_model,
            watcher_for=SilentWatcher,
            pool=Inline(),
        )
        self.app.open()

    def kill(self) -> None:
        """Kill the daemon without saving anything."""
        self.app.engine.follower.stop()
        self.app.store.close()
        self.app.lock.release()

    def restart(self) -> None:
        self.kill()
        self.start()

    def settle(self, seconds: float = 30.0) -> None:
        """Let time pass, and iterate until nothing more happens."""
        self.clock.advance(seconds)
        self._age(seconds)
        engine = self.app.engine
        for number in range(500):
            engine.run_pass(full=not number)
            if not (engine.inbox or engine.reader.has_unread or engine.runner.list_ready()):
                return
        raise AssertionError("it never comes to rest")

    def _age(self, seconds: float) -> None:
        """Make the sessions' files older. The file system's clock cannot be set, and the handler waits for a file that
        was truncated a moment ago."""
        for path in (self.root / "memory" / "sessions").glob("*"):
            if path.is_file() and not path.is_symlink():
                at = path.stat().st_mtime_ns - round(seconds * 1e9)
                os.utime(path, ns=(at, at))

    def end(self) -> None:
        """Half an hour of quiet ends every session."""
        self.settle()
        self.settle(1900.0)

    # transcripts

    def transcript(self, session: str) -> Path:
        return self.folder / f"{session}.jsonl"

    def append(self, session: str, *records: Mapping[str, Any]) -> None:
        """Write records; the first ones of a transcript come after what the client begins it with."""
        begun = beginning(session) if is_new(self.transcript(session)) else []
        with self.transcript(session).open("ab") as out:
            out.write(b"".join(json.dumps(one).encode() + b"\n" for one in (*begun, *records)))
        os.utime(self.transcript(session), (self.clock.wall, self.clock.wall))

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
        stamp = datetime.fromtimestamp(self.clock.wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
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

    # what came of it

    @property
    def store(self) -> SessionStore:
        return SessionStore.from_environ(self.env, self.clock)

    def file(self, session: str) -> dict[str, Any]:
        path = self.store.session_path(session)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return found

    def tasks(self, session: str) -> list[tuple[str, str]]:
        return [(one["title"], one["status"]) for one in self.file(session).get("tasks", ())]

    def put(self, session: str, document: Mapping[str, Any]) -> Path:
        path = self.store.session_path(session)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(json.dumps(document, indent=2), encoding="utf-8")
        return path

    def status(self) -> Mapping[str, Any]:
        made: Mapping[str, Any] = self.app.handlers["continuity"].handler.status()
        return made

    def degraded(self) -> list[str]:
        return [one.id for one in self.app.degraded.values()]

    def parked(self) -> list[str]:
        app = self.app
        found = list_parked(app.store.rows, app.engine.is_held, app.engine.choices, app.clock.now())
        return [one.reason for one in found]

    def forget(self) -> None:
        """Remove everything that tacitd knows, except the sessions' files."""
        shutil.rmtree(
            self.root / "state" / "handlers" / "continuity" / self.store._beside.name, ignore_errors=True
        )


def run_job(world: World, name: str = "pauses") -> None:
    """Run a job, otherwise the one that looks for sessions that paused."""
    world.app.handlers["continuity"].post(Due(name))
    world.settle(1)


def titles(found: Iterable[Any]) -> Sequence[str]:
    return [one["title"] for one in found]
