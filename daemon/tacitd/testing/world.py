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
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tacitd.model.port import NoAnswer, Why
from tacitd.sources.samples import SampleTranscripts
from tacitd.testing.fakes import FakeClock, Reply, ScriptedModel
from tacitd.testing.world_daemon import InProcessDaemon

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
Cwd = Path | None
"""A directory; None: the project."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class World:
    """The home of a person, with one project that is a git work tree, and a daemon that runs. `cwd` is the
    project if it is None. The time zone is UTC."""

    daemon_class: type[InProcessDaemon] = InProcessDaemon
    """What runs the daemon."""

    def __init__(
        self,
        tmp: Path,
        answers: Sequence[tuple[str, Reply]] = (),
        *,
        clock: FakeClock | None = None,
        settings: Mapping[str, str] | None = None,
        packages: Sequence[Path] = (),
    ) -> None:
        """`answers`: (regular expression found in a prompt, reply). `settings`: variables without `TACITD_`. `packages`:
        directories in which further plugins are installed.
        """
        self.clock = clock or FakeClock()
        self.begun = self.clock.now()
        """The time of the clock at the beginning: seconds since 1970, UTC."""
        self.home = tmp.resolve() / "home"
        self.state = tmp.resolve() / "state"
        self._answers = list(answers)
        self.model = ScriptedModel(self._answers)
        self.environ = {
            "HOME": str(self.home),
            "USER": "dev",
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TACITD_STATE_DIR": str(self.state),
            "TACITD_BUDGET__CALLS_PER_MINUTE": "1000",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"TACITD_{name}": value for name, value in (settings or {}).items()},
        }
        self._client = SampleTranscripts(self.home / ".claude", self.clock)
        self._daemon = self.daemon_class(self.environ, self.clock, self.model, packages)
        self.project = self.new_project("app")
        """The project in which sessions work, unless another directory is named."""

    # --- the daemon

    def start(self) -> World:
        self._daemon.start()
        return self

    def stop(self, *, kill: bool = False) -> World:
        """Stop the daemon. `kill`: as `kill -9` would, so nothing is saved."""
        self._daemon.stop(kill=kill)
        return self

    def restart(self, *, kill: bool = False) -> World:
        return self.stop(kill=kill).start()

    @property
    def runs(self) -> bool:
        return self._daemon.runs

    def __enter__(self) -> World:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.runs:
            self.stop()

    # --- the model

    @property
    def prompts(self) -> list[str]:
        return self.model.prompts

    def fail_calls(self, why: str, detail: str = "") -> World:
        """Let the model answer nothing from now on. `why`: a value of `tacitd.model.port.Why`, such as `absent`."""
        self.model.rules = [("", NoAnswer(Why(why), detail))]
        return self

    def answer_calls(self) -> World:
        """Let the model answer as before `fail_calls`."""
        self.model.rules = self._answers
        return self

    # --- time

    def wait(self, seconds: float = 2.0) -> World:
        """Let so much time pass, and do what is due. Raises RuntimeError if that never ends."""
        self.clock.advance(seconds)
        self._daemon.run_until_idle()
        return self

    def wait_days(self, days: float, *, step: float = HOUR) -> World:
        """Let so many days pass, `step` seconds at a time, as a daemon that runs has them."""
        for _ in range(round(days * DAY / step)):
            self.wait(step)
        return self

    def set_clock(self, seconds: float) -> World:
        """Set the wall clock so many seconds forward or back, as a person or the network does; no time passes."""
        self.clock.jump(seconds)
        self._daemon.run_until_idle()
        return self

    def date(self, days: float = 0.0) -> str:
        """The date so many days from now, such as `2026-02-19`."""
        return self._local_time(days).date().isoformat()

    def minutes(self, days: float = 0.0) -> str:
        """The minute so many days from now, such as `2026-02-19T14:30`."""
        return self._local_time(days).isoformat(timespec="minutes")

    def _local_time(self, days: float) -> datetime:
        return datetime.fromtimestamp(self.clock.now() + days * DAY, UTC).replace(tzinfo=None)

    # --- sessions

    def type(self, session: str, *texts: str, cwd: Cwd = None) -> World:
        """A person types these prompts in a session, two seconds apart."""
        for text in texts:
            self._client.type(session, cwd or self.project, text)
            self.wait()
        return self

    def say(self, session: str, text: str, cwd: Cwd = None) -> World:
        """The assistant answers."""
        self._client.say(session, cwd or self.project, text)
        return self.wait()

    def use_tool(
        self,
        session: str,
        tool: str,
        cwd: Cwd = None,
        *,
        answer: str = "done",
        result: Any = None,
        error: bool = False,
        **given: Any,
    ) -> World:
        """The assistant calls a tool with these arguments. `answer`: as the model gets it. `result`: as the client keeps it."""
        kept = answer if result is None else result
        self._client.use_tool(session, cwd or self.project, tool, given, kept, answer, error=error)
        return self.wait()

    def edit_in_session(self, session: str, path: Path) -> World:
        """The assistant edits a file: the tool's call stands in the transcript, the file itself stays."""
        return self.use_tool(session, "Edit", file_path=str(path), old_string="a", new_string="b")

    def queue(self, session: str, text: str, cwd: Cwd = None) -> World:
        """The person types a message while the assistant works; it gets there in the same turn."""
        self._client.queue(session, cwd or self.project, text)
        return self.wait()

    def command_in_session(self, session: str, name: str, words: str = "", cwd: Cwd = None) -> World:
        """The person types a slash command."""
        self._client.command(session, cwd or self.project, name, words)
        return self.wait()

    def run_agent(self, session: str, asked: str, answer: str = "done", cwd: Cwd = None) -> World:
        """The assistant starts a sub-agent with a prompt of its own, which answers."""
        self._client.run_agent(session, cwd or self.project, asked, answer)
        return self.wait()

    def compact(self, session: str, summary: str, cwd: Cwd = None) -> World:
        """The person compacts the session; the client puts a summary into it."""
        self._client.compact(session, cwd or self.project, summary)
        return self.wait()

    def clear(self, new: str, cwd: Cwd = None) -> World:
        """The person types `/clear`: the client goes on in the session `new`."""
        self._client.clear(new, cwd or self.project)
        return self.wait()

    def fork(self, session: str, new: str) -> World:
        """The person forks a session: its history is copied, with the same ids, into the session `new`."""
        self._client.fork(session, new)
        return self.wait()

    def record(self, session: str, cwd: Cwd = None, **fields: Any) -> World:
        """The client writes this record, with the usual fields of one beneath its own."""
        self._client.record(session, cwd or self.project, fields)
        return self.wait()

    def leave(self, session: str) -> World:
        """The person leaves the session: it falls silent, and half an hour later it counts as ended."""
        del session  # each session that is silent ends
        return self.wait(31 * MINUTE).wait(MINUTE)

    def hook(self, event: str, session: str, cwd: Cwd = None, **fields: str) -> str:
        """The client runs a hook of the plugin; return what it prints into the session."""
        path = self._client.name_path(session, cwd or self.project)
        common = {"session_id": session, "transcript_path": str(path), "cwd": str(cwd or self.project)}
        return self._daemon.take_hook({**common, "hook_event_name": event, **fields})

    def transcript(self, session: str) -> Path:
        """The file of a session's transcript. Raises ValueError if there is none."""
        return self._client.find(session)

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

    def git(self, *arguments: str, cwd: Cwd = None) -> str:
        """Run git as this person, then let a minute pass; return its output. Raises CalledProcessError."""
        stamp = f"@{int(self.clock.now())} +0000"
        done = subprocess.run(
            ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments],
            cwd=cwd or self.project,
            env=self.environ | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp},
            capture_output=True,
            text=True,
            check=True,
        )
        if self.runs:
            self.wait(MINUTE).wait(MINUTE)
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
        """The person saves a file, as an editor does: a new file takes its place. Then two minutes pass."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.write_text(text, "utf-8")
        if path.exists():
            shutil.copymode(path, new)
        # The file system's clock does not move with this one, and some waits are measured by it.
        saved = new.stat().st_mtime - 2 * MINUTE
        os.utime(new, (saved, saved))
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

    def remove(self, name: str | Path) -> World:
        """The person removes a file, or a directory with all that is in it."""
        path = self.path(name)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        return self.wait(MINUTE).wait(MINUTE)

    def list_files(self) -> dict[str, str]:
        """All files below the home but transcripts and git's own, by path, with their texts."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            name = path.relative_to(self.home).as_posix()
            is_left_out = {".git", ".bare"} & set(Path(name).parts) or self._client.root in path.parents
            if path.is_file() and not path.is_symlink() and not is_left_out:
                found[name] = path.read_text("utf-8", errors="replace")
        return found

    # --- commands

    def run(self, *arguments: str, cwd: Cwd = None, given: str = "", **variables: str) -> Ran:
        """Run a command of the program in this process, with the daemon beside it if one runs. `given`: its
        standard input. `variables`: of the environment."""
        return self.run_program("tacitd", *arguments, cwd=cwd, given=given, **variables)

    def run_program(
        self, program: str, *arguments: str, cwd: Cwd = None, given: str = "", **variables: str
    ) -> Ran:
        """Run another program of the distribution, such as `lesson`."""
        main = _load_program(program)
        out, err = _text_stream(), _text_stream()
        before = Path.cwd()
        with (
            self._daemon.as_this_person(),
            mock.patch.dict(os.environ, variables),
            self._daemon.listens(),
            mock.patch.object(sys, "argv", [program, *arguments]),
            mock.patch.object(sys, "stdin", _text_stream(given)),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            os.chdir(cwd or self.project)
            try:
                code = self.call_program(main)
            finally:
                os.chdir(before)
        return Ran(code, _text_of(out), _text_of(err))

    def call_program(self, main: Callable[[], object]) -> int:
        try:
            main()
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                return ended.code or 0
            sys.stderr.write(f"{ended.code}\n")  # as the interpreter does
            return 1
        return 0


@cache
def _load_program(name: str) -> Callable[[], object]:
    (point,) = entry_points(group="console_scripts", name=name)
    program: Callable[[], object] = point.load()
    return program


def _text_stream(text: str = "") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)


def _text_of(stream: io.TextIOWrapper) -> str:
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", errors="replace")
