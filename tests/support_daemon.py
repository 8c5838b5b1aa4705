"""A real tacitd in a home of its own, and a person who types into sessions. For the scenarios.

`Daemon` makes the home, the project, the stand-in for Claude Code and the environment; starts, kills and stops the
process; types; waits for a condition, never for a time. After every scenario `finish` checks that no process is left,
no log has a torn line, the modes are private, and the log has no traceback.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support_beginnings import RECENT, is_new, opening
from support_claude import StandIn, install_stand_in
from support_leftovers import leftovers as leftovers
from support_leftovers import too_open
from support_leftovers import torn_lines as torn_lines
from support_waiting import PATIENCE
from tacitd.control.client import call_daemon
from tacitd.errors import UnavailableError
from tacitd.state.paths import Paths

PROGRAM = [sys.executable, "-c", "from tacitd_handlers.entry_point import main; main()"]
SETTINGS = {
    "TACITD_EXTRACTION__SETTLE": "1h",
    "TACITD_SESSION__IDLE": "1h",
    "TACITD_BUDGET__CALLS_PER_MINUTE": "1000",
    "TACITD_BUDGET__CALLS_PER_DAY": "5000",
}
EXTRACTION, SYNTHESIS, SUMMARY = "opinion mining", "knowledge synthesis", "following directive documents"
ECHO_FACTS = {"match": EXTRACTION, "each": r"What the person wrote:\n```\n(.*?)\n```", "reply": r"\g<1>"}
"""The stand-in answers each message with one fact that has its text."""
ECHO_LINES = {
    "match": SYNTHESIS,
    "each": r"^(?:-|\d+\.) (Prefers [^\n]+)$",
    "reply": r"FILE: LEARNED.md\nFACT: \g<1>\n",
}
"""The stand-in answers each fact that begins with `Prefers` with one line for LEARNED.md."""
LEARNING = (ECHO_FACTS, ECHO_LINES)


class Daemon:
    """A home with one project, and a daemon that is not started yet."""

    def __init__(
        self,
        root: Path,
        rules: Sequence[Mapping[str, Any]] = LEARNING,
        *,
        claude: bool = True,
        **settings: str,
    ) -> None:
        """`settings` are variables without `TACITD_`; `claude=False` leaves the stand-in's directory empty."""
        self.root = root.resolve()
        self.home = self.root / "home"
        self.projects = self.home / ".claude" / "projects"
        self.state = self.root / "state"
        self.projects.mkdir(parents=True)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "USER": "dev",
            "PATH": os.pathsep.join((str(self.bin), "/usr/bin", "/bin")),
            "LANG": "C.UTF-8",
            "TZ": noon(),
            "TACITD_STATE_DIR": str(self.state),
            **{
                name: os.environ[name]
                for name in ("PYTHONPATH", "COVERAGE_PROCESS_START")
                if name in os.environ
            },
            **SETTINGS,
            **{f"TACITD_{name}": value for name, value in settings.items()},
        }
        self.project = self.new_project("app")
        self.claude = install_stand_in(self.bin, rules) if claude else StandIn(self.bin / "claude")
        self.process: subprocess.Popen[bytes] | None = None
        self.before: list[str] = []
        """The words before the program, from `support_rights.bound`."""
        self.begins = RECENT
        """The shape with which each session begins, one of `support_beginnings.SHAPES`."""
        self.faults_expected = False
        """Whether the scenario causes a traceback in the log."""

    # the world

    def new_project(self, name: str, *, git: bool = True) -> Path:
        """A directory to work in, and a git work tree."""
        project = self.home / "work" / name
        project.mkdir(parents=True)
        if git:
            subprocess.run(["git", "init", "-q", str(project)], check=True, env=self.environ)
        return project

    def install_claude(self, rules: Sequence[Mapping[str, Any]] = LEARNING) -> None:
        """Put the client on PATH."""
        self.claude = install_stand_in(self.bin, rules)

    def git(self, *arguments: str) -> str:
        """Run git in the project and return its output."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    # the process

    def start(self, seconds: float = PATIENCE, /, **settings: str) -> None:
        """Run `tacitd run` and return when it answers, within `seconds`. `settings` hold from now on."""
        self.environ |= {f"TACITD_{name}": value for name, value in settings.items()}
        assert self.process is None
        self.process = self.spawn("run")
        process = self.process

        def answers() -> bool:
            assert process.poll() is None, f"the daemon ended with {process.returncode}: {self.said()}"
            with suppress(UnavailableError):
                return bool(self.call("ping"))
            return False

        until(answers, seconds, self.said)

    def spawn(self, *arguments: str, output: str = "output") -> subprocess.Popen[bytes]:
        """Start the program without waiting for it. Its output goes to a file."""
        with (self.root / output).open("ab") as file:
            return subprocess.Popen(
                [*self.before, *PROGRAM, *arguments],
                env=self.environ,
                cwd=self.root,
                stdout=file,
                stderr=file,
            )

    def cli(
        self, *arguments: str, cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with these variables in its environment."""
        return subprocess.run(
            [*self.before, *PROGRAM, *arguments],
            env={**self.environ, **variables},
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def said(self) -> str:
        """The daemon's output so far."""
        return (self.root / "output").read_text(encoding="utf-8", errors="replace")

    def kill9(self) -> None:
        """Kill the daemon as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> float:
        """End the daemon as a service manager would; return how many seconds that took. It must end with 0."""
        started = time.monotonic()
        assert self._end(signal.SIGTERM) == 0, self.said()
        return time.monotonic() - started

    def restart(self, **settings: str) -> None:
        """Stop and start, with other settings if they are given."""
        self.stop()
        self.start(**settings)

    def _end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process = None

    # the socket

    @property
    def socket(self) -> Path:
        """The path of its socket."""
        return Paths.from_env(self.environ).socket

    def call(self, method: str, /, timeout: float = PATIENCE, **params: Any) -> Any:
        """Call a method of the daemon. Raises TacitdError."""
        return call_daemon(self.socket, method, params, timeout)

    def status(self) -> dict[str, Any]:
        """The status document."""
        return dict(self.call("status"))

    def list_rescued(self) -> list[dict[str, str]]:
        """What `tacitd rescue` lists."""
        return list(json.loads(self.cli("rescue", "--json").stdout))

    def list_review(self) -> list[dict[str, Any]]:
        """What `tacitd review` lists of all projects."""
        return list(json.loads(self.cli("review", "--all", "--json").stdout))

    def sync(self, timeout: float = PATIENCE) -> list[dict[str, Any]]:
        """Wait until everything is handled, and return what is parked."""
        said = self.call("sync", timeout=timeout)
        assert said["done"]
        return list(said["parked"])

    def synthesize(self, project: Path | None = None, timeout: float = PATIENCE) -> list[dict[str, Any]]:
        """Make lines of all facts now, and return what is parked."""
        self.sync(timeout)
        self.call("due", job="synthesize", project=str(project or self.project))
        return self.sync(timeout)

    def wait_until(
        self, condition: Callable[[dict[str, Any]], object], what: str = "", seconds: float = PATIENCE
    ) -> dict[str, Any]:
        """Wait until the condition is true of the status, and return the status."""
        last: dict[str, Any] = {}

        def holds() -> bool:
            nonlocal last
            last = self.status()
            return bool(condition(last))

        until(holds, seconds, lambda: f"{what}\n{json.dumps(last, indent=1)}\n{self.said()}")
        return last

    # the person

    def transcript(self, session: str, project: Path | None = None) -> Path:
        """The path of a session's transcript."""
        folder = self.projects / re.sub(r"[^A-Za-z0-9]", "-", str(project or self.project))
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{session}.jsonl"

    def begin(self, session: str, project: Path | None = None) -> Path:
        """Open a session as the client does: one write before anything is typed. No effect if it is open."""
        path = self.transcript(session, project)
        if is_new(path):
            append(path, opening(session, self.begins, stamp(time.time())))
        return path

    def type_(self, session: str, words: str, project: Path | None = None, **fields: Any) -> str:
        """Type into a session, as 2.1.328 records it: one write of whole lines. Returns the prompt's uuid."""
        record = prompt_record(session, words, str(project or self.project), **fields)
        self.begin(session, project)
        append(self.transcript(session, project), line(record))
        return str(record["uuid"])

    # what was learned

    @property
    def learned(self) -> list[str]:
        """The bullets of LEARNED.md."""
        return bullets(self.project / "LEARNED.md")

    def wait_for_lines(self, *lines: str) -> None:
        """Wait until LEARNED.md has these lines and the synthesis is finished."""

        def there(status: dict[str, Any]) -> bool:
            handled = set(lines) <= set(self.learned) and not raw_files(self.project)
            return handled and status["handlers"]["learning"]["busy"] == 0

        self.wait_until(there, f"{lines} in {self.learned}")

    def extractions(self) -> list[str]:
        """The prompts of stage 1 that reached the model."""
        return [text for text in self.claude.prompts() if EXTRACTION in text]

    def put_to_model(self) -> list[str]:
        """Every message in the prompts of stage 1, in order."""
        return [words for text in self.extractions() for words in messages(text)]

    def snapshot(self, project: Path | None = None) -> dict[str, bytes]:
        """Every file of a project with its bytes, except git's objects."""
        root = project or self.project
        files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    # after every scenario

    def finish(self) -> None:
        """Stop the daemon, and check what must be true after every scenario."""
        if self.process is not None:
            self.stop()
        left = leftovers(self.home)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert not left, f"processes were left behind: {left}"
        assert not torn_lines(self.state)
        assert not too_open(self.state), too_open(self.state)
        if not self.faults_expected:
            log = self.state / "tacitd.log"
            logged = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            assert "Traceback" not in logged, logged[-4000:]
            assert "Traceback" not in self.terminal(), self.terminal()[-4000:]

    def terminal(self) -> str:
        """The output of all starts."""
        found = self.root.glob("output*")
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in found)


def noon() -> str:
    """A time zone for TZ in which it is about noon, so that the budget's day does not end during a scenario."""
    return f"<noon>{time.gmtime().tm_hour - 12}"


MakeDaemon = Callable[..., Daemon]
"""What the fixture `make` gives: call it as `Daemon`, without the directory."""


def prompt_record(session: str, words: str, cwd: str, **fields: Any) -> dict[str, Any]:
    """What Claude Code 2.1.328 writes when a person presses Enter."""
    made = {
        "parentUuid": None,
        "isSidechain": False,
        "promptId": str(uuid.uuid4()),
        "type": "user",
        "message": {"role": "user", "content": words},
        "uuid": str(uuid.uuid4()),
        "timestamp": stamp(time.time()),
        "permissionMode": "auto",
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "turnOrigin": "human",
        "turnPosition": {"promptIndex": 1, "turnIndex": 1},
        "userType": "external",
        "entrypoint": "cli",
        "cwd": cwd,
        "sessionId": session,
        "version": "2.1.328",
        "gitBranch": "HEAD",
    }
    return made | fields


def tool_record(session: str, path: Path, cwd: str) -> dict[str, Any]:
    """What Claude Code writes when the assistant edits a file."""
    use = {
        "type": "tool_use",
        "id": f"toolu_{uuid.uuid4().hex}",
        "name": "Edit",
        "input": {"file_path": str(path)},
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [use],
    }
    record = prompt_record(session, "", cwd)
    for name in ("promptId", "origin", "promptSource", "turnOrigin", "turnPosition", "permissionMode"):
        del record[name]
    return record | {"type": "assistant", "message": message, "madeBy": "model"}


def stamp(at: float) -> str:
    """Given seconds since 1970, return the time as records have it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def line(record: Mapping[str, Any]) -> bytes:
    """A record as the client writes it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def append(path: Path, data: bytes) -> None:
    """Append to a file with one write, as the client does."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        assert os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def messages(prompt: str) -> list[str]:
    """The person's words in a prompt of stage 1."""
    fenced = re.compile(r"^What the person wrote:\n(`{3,})\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
    return [found[2] for found in fenced.finditer(prompt)]


def bullets(path: Path) -> list[str]:
    """The bullets of a Markdown file; none if it does not exist."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [one.removeprefix("- ") for one in text.splitlines() if one.startswith("- ")]


def raw_files(project: Path) -> list[str]:
    """The names of the raw and claimed files that exist."""
    return sorted(path.name for path in (project / "tmp").glob("learning-raw*"))


def until(condition: Callable[[], bool], seconds: float, explain: Callable[[], str]) -> None:
    """Wait until the condition is true; fail with the explanation after the given seconds."""
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > last:
            raise AssertionError(f"not within {seconds:g} s: {explain()}")
        time.sleep(0.03)
