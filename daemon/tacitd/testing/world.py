"""`World`: a person with a home, projects, transcripts and a daemon, for stories that go through the product's front.

    with World(tmp_path, answers=my_answers) as world:
        world.type("s1", "no, use pnpm").leave("s1")
        assert "Use pnpm" in world.read("LEARNED.md")
        assert world.run("learned").code == 0

A story uses transcripts, files and commands, and nothing else: it holds whatever the engine is made of. The engine, its
plugins and the program are the real ones. The clock moves only in `wait` and in what is made of it, work runs in the
caller's thread, and the model is a function in this process, so that a story neither sleeps nor waits.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from unittest import mock

from tacitd.app import App, build_app
from tacitd.control.server import Server
from tacitd.dispatch.workers import Work
from tacitd.methods import build_methods
from tacitd.sources.registry import append_client_record, append_sample_record
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing.fakes import FakeClock, Reply, ScriptedModel

ROUNDS = 2000
"""Passes after which work counts as endless."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


class Ran(NamedTuple):
    """What a command printed and returned."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output as JSON. Raises ValueError."""
        return json.loads(self.out)


class _InlinePool:
    """Runs work at once, in the caller's thread."""

    def submit(self, work: Work) -> None:
        """Run it."""
        work()

    def stop(self, grace: float) -> bool:
        """Nothing runs."""
        return True


class World:
    """The home of a person, with one project that is a git work tree, and a daemon that runs."""

    def __init__(
        self,
        tmp: Path,
        answers: Sequence[tuple[str, Reply]] = (),
        *,
        clock: FakeClock | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`answers`: (regular expression found in a prompt, reply). `settings`: variables without `TACITD_`."""
        self.clock = clock or FakeClock()
        self.home = tmp.resolve() / "home"
        self.state = tmp.resolve() / "state"
        self.client_home = self.home / ".claude"
        (self.client_home / "projects").mkdir(parents=True)
        self.model = ScriptedModel(list(answers))
        self.environ = {
            "HOME": str(self.home),
            "USER": "dev",
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TACITD_STATE_DIR": str(self.state),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"TACITD_{name}": value for name, value in (settings or {}).items()},
        }
        self._records = 0
        self._app: App | None = None
        self.project = self.new_project("app")
        """The project in which sessions work, unless another directory is named."""

    # --- the daemon

    def start(self) -> World:
        """Start the daemon. Raises TacitdError."""
        assert self._app is None, "the daemon runs"
        with self.as_this_person():
            app = build_app(
                Paths.from_env(self.environ),
                self.environ,
                clock=self.clock,
                model=lambda config, budget: self.model,
                watcher_for=SilentWatcher,
                workers_for=lambda name, count: _InlinePool(),
            )
            self._app = app.__enter__()
        return self

    def stop(self, *, kill: bool = False) -> World:
        """Stop the daemon. `kill`: as `kill -9` would, so nothing is saved."""
        app, self._app = self._app, None
        assert app is not None, "no daemon runs"
        if kill:
            app.engine.follower.stop()
            app.lock.release()
        else:
            with self.as_this_person():
                app.close()
        return self

    def restart(self, *, kill: bool = False) -> World:
        """Stop the daemon and start it again."""
        return self.stop(kill=kill).start()

    @property
    def app(self) -> App:
        """The daemon that runs."""
        assert self._app is not None, "no daemon runs"
        return self._app

    def __enter__(self) -> World:
        return self.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._app is not None:
            self.stop()

    @contextmanager
    def as_this_person(self) -> Iterator[None]:
        """Give the process the person's environment."""
        with mock.patch.dict(os.environ, self.environ, clear=True):
            yield

    # --- time

    def wait(self, seconds: float = 2.0) -> World:
        """Let so much time pass, and do what is due. Raises RuntimeError if that never ends."""
        self.clock.advance(seconds)
        if self._app is not None:
            with self.as_this_person():
                self._run_until_idle()
        return self

    def wait_days(self, days: float) -> World:
        """Let so many days pass, an hour at a time, as a daemon that runs has them."""
        for _ in range(round(days * 24)):
            self.wait(HOUR)
        return self

    def _run_until_idle(self) -> None:
        engine = self.app.engine
        engine._poll_files(full=True)
        for _ in range(ROUNDS):
            engine.run_iteration()
            if not (engine.inbox or engine.pool.unread_paths or engine.dispatcher.work_queue.lanes.has_ready):
                return
        raise RuntimeError(f"there is still work after {ROUNDS} passes")

    # --- sessions

    def type(self, session: str, *texts: str, cwd: Path | None = None) -> World:
        """A person types these prompts in a session, two seconds apart."""
        for text in texts:
            self._append(session, "user", text, cwd)
            self.wait()
        return self

    def say(self, session: str, text: str, cwd: Path | None = None) -> World:
        """The assistant answers."""
        self._append(session, "assistant", text, cwd)
        return self.wait()

    def record(self, session: str, **fields: Any) -> World:
        """The client writes this record, with the usual fields of one beneath its own."""
        self._records += 1
        append_client_record(
            self.client_home, session, fields, cwd=self.project, number=self._records, at=self.clock.now()
        )
        return self.wait()

    def use_tool(
        self,
        session: str,
        tool: str,
        cwd: Path | None = None,
        *,
        answer: str = "done",
        error: bool = False,
        **given: Any,
    ) -> World:
        """The assistant calls a tool with these arguments and gets an answer."""
        call = f"toolu_{self._records + 1:04d}"
        where = str(cwd or self.project)
        use = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self.record(session, type="assistant", cwd=where, message={"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": answer} | (
            {"is_error": True} if error else {}
        )
        return self.record(
            session,
            type="user",
            cwd=where,
            message={"role": "user", "content": [result]},
            toolUseResult=answer,
        )

    def leave(self, session: str) -> World:
        """The person leaves the session: it falls silent, and half an hour later it counts as ended."""
        del session  # today's engine ends each session that is silent
        return self.wait(31 * MINUTE).wait(MINUTE)

    def _append(self, session: str, kind: Any, text: str, cwd: Path | None) -> None:
        self._records += 1
        append_sample_record(
            self.client_home,
            session,
            kind,
            text,
            cwd=cwd or self.project,
            number=self._records,
            at=self.clock.now(),
        )

    # --- files

    def new_project(self, name: str, *, git: bool = True) -> Path:
        """Make a directory to work in below the home, by default a git work tree with one commit."""
        root = self.home / "work" / name
        root.mkdir(parents=True)
        if git:
            self.git("init", "-q", "-b", "main", cwd=root)
            (root / "README").write_text("a project\n", "utf-8")
            self.git("add", "README", cwd=root)
            self.git("commit", "-q", "-m", "Begin", cwd=root)
        return root

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run git as this person and return its output. Raises CalledProcessError."""
        done = subprocess.run(
            ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments],
            cwd=cwd or self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def path(self, name: str | Path) -> Path:
        """A path of this person: `LEARNED.md` in the project, `~/…` in the home."""
        text = str(name)
        return self.home / text[2:] if text.startswith("~/") else self.project / text

    def read(self, name: str | Path) -> str:
        """The text of a file; "" if there is none."""
        path = self.path(name)
        return path.read_text("utf-8") if path.exists() else ""

    def bullets(self, name: str | Path) -> list[str]:
        """The texts of a file's list items, in order."""
        return [line[2:] for line in self.read(name).splitlines() if line.startswith("- ")]

    def write(self, name: str | Path, text: str) -> World:
        """The person saves a file, as an editor does: a new file takes its place."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.write_text(text, "utf-8")
        new.replace(path)
        return self.wait(MINUTE).wait(MINUTE)

    def edit(
        self, name: str | Path, *, remove: str = "", add: str = "", replace: tuple[str, str] = ("", "")
    ) -> World:
        """The person removes each line that contains a text, adds a line at the end, or replaces a text."""
        text = self.read(name)
        if remove:
            assert remove in text, f"{name} does not contain {remove!r}"
            text = "".join(line for line in text.splitlines(keepends=True) if remove not in line)
        if replace[0]:
            assert replace[0] in text, f"{name} does not contain {replace[0]!r}"
            text = text.replace(*replace)
        return self.write(name, text + (f"{add}\n" if add else ""))

    def list_files(self) -> dict[str, str]:
        """All files below the home but transcripts and git's own, by path, with their texts."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            name = path.relative_to(self.home).as_posix()
            if (
                path.is_file()
                and not path.is_symlink()
                and not ("/.git/" in f"/{name}" or name.startswith(".claude/projects/"))
            ):
                found[name] = path.read_text("utf-8", errors="replace")
        return found

    # --- commands

    def run(self, *arguments: str, cwd: Path | None = None, given: str = "") -> Ran:
        """Run a command of the program in this process, with the daemon beside it if one runs."""
        return self._run_program("tacitd", arguments, cwd, given)

    def run_program(self, program: str, *arguments: str, cwd: Path | None = None, given: str = "") -> Ran:
        """Run another program of the distribution, such as `lesson`."""
        return self._run_program(program, arguments, cwd, given)

    def _run_program(self, program: str, arguments: Sequence[str], cwd: Path | None, given: str) -> Ran:
        (point,) = entry_points(group="console_scripts", name=program)
        main: Callable[[], object] = point.load()
        out, err = _text_stream(), _text_stream()
        before = Path.cwd()
        with (
            self.as_this_person(),
            self._daemon_listens(),
            mock.patch.multiple(
                sys, argv=[program, *arguments], stdout=out, stderr=err, stdin=_text_stream(given)
            ),
        ):
            os.chdir(cwd or self.project)
            try:
                code = _call(main)
            finally:
                os.chdir(before)
        return Ran(code, _text_of(out), _text_of(err))

    @contextmanager
    def _daemon_listens(self) -> Iterator[None]:
        """Answer the socket while a command runs: the passes then run in a thread beside it."""
        app = self._app
        if app is None:
            yield
            return
        server = Server(Paths.from_env(self.environ).socket, build_methods(app))
        server.open()
        done = threading.Event()

        def serve() -> None:
            while not done.is_set():
                app.engine.run_iteration()
                app.engine.wake.wait(0.002)
                app.engine.wake.clear()

        thread = threading.Thread(target=serve, name="world")
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            server.close()
            self._run_until_idle()


def _call(main: Callable[[], object]) -> int:
    """Call the program and return its exit code."""
    try:
        main()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)  # noqa: T201  as the interpreter does
        return 1
    return 0


def _text_stream(text: str = "") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)


def _text_of(stream: io.TextIOWrapper) -> str:
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", errors="replace")
