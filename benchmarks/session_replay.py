"""Replays the labelled sessions of one project through a whole daemon, with a home of its own and an injected clock.

The daemon is the one of `tacitd run`: `App` with the real plugins, files, git, threads and the client as a child
process. Only the clock is a fake, set to the times of the sessions, and the files are polled without inotify. Projects are
independent: each has its own home, state and person, so that the answers for one do not change the prompts of another.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelled_sessions import LabelledProject, LabelledSession, render_transcript
from recorded_answers import PromptKind, find_kind, hash_prompt
from tacitd.app import App
from tacitd.methods import RpcMethod, build_methods
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import FakeClock

SETTINGS = {
    "TACITD_BUDGET__CALLS_PER_MINUTE": "1000",
    "TACITD_BUDGET__CALLS_PER_DAY": "5000",
    # Why: summaries of sessions are not about learning, and each would be a call more.
    "TACITD_CONTINUITY__SUMMARIES": "false",
}
IDLE = 1860.0
"""Seconds after which a session has ended: more than the default of `session.idle`."""
PATIENCE = 600.0
"""Seconds that one stage of one session may take, with a real model."""
_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of the client."""

    name: str
    """The session, the kind and the number within both: `ferro-1 extraction 1`."""
    kind: PromptKind
    prompt: str
    answer: str
    """What the client answered; "" if it is not known."""
    rule: int
    """The number of the stand-in's rule that answered; -1: none did."""
    usd: float


@dataclass(frozen=True, slots=True)
class ProjectReplay:
    """What is there after the sessions of one project."""

    project: LabelledProject
    root: Path
    state_dir: Path
    memory_dir: Path
    calls: tuple[ModelCall, ...]
    parked: tuple[str, ...]
    """Work that could not be done, as text."""


@dataclass(slots=True)
class CallLog:
    """Reads the log that the stand-in, or the proxy of the real client, writes beside itself."""

    path: Path
    read: int = 0
    counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def take_new(self, session: str) -> list[ModelCall]:
        """The calls since the last time, which belong to this session. Other uses of the client are left out."""
        lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        found, self.read = lines[self.read :], len(lines)
        made = (self._make_call(session, json.loads(line)) for line in found)
        return [call for call in made if call.prompt.strip()]

    def _make_call(self, session: str, record: Mapping[str, Any]) -> ModelCall:
        prompt = str(record["stdin"])
        kind = find_kind(prompt)
        number = self.counts[session, kind] = self.counts.get((session, kind), 0) + 1
        answer, usd = str(record.get("answer", "")), float(record.get("usd", 0.0))
        return ModelCall(f"{session} {kind} {number}", kind, prompt, answer, int(record["rule"]), usd)


def replay_project(
    project: LabelledProject,
    box: Path,
    client: Path,
    *,
    goes_on: Callable[[list[ModelCall]], bool] = lambda calls: True,
    environ: Mapping[str, str] | None = None,
) -> ProjectReplay:
    """Replay the sessions in order and return the result.

    `box`: an empty directory. `client`: the program `claude`, with its log beside it. `goes_on`: given the calls of one
    stage, whether to continue with the next. `environ`: further variables for the daemon.
    """
    home = box / "home"
    root = home / "work" / project.name
    given = _make_environment(home, client.parent, environ or {})
    _make_project(project, root, given)
    log = CallLog(client.with_name(client.name + ".log.jsonl"))
    calls: list[ModelCall] = []
    parked: list[str] = []
    clock = FakeClock(wall=project.sessions[0].begins - 3600.0)
    with _environment(given), _running(given, clock) as daemon:
        for session in project.sessions:
            daemon.feed_session(session, root)
            for stage in (daemon.finish_extraction, daemon.finish_synthesis):
                parked += stage()
                made = log.take_new(session.id)
                calls += made
                if not goes_on(made):
                    break
            else:
                continue
            break
    return ProjectReplay(
        project, root, box / "state", home / ".claude" / "user-memory", tuple(calls), tuple(parked)
    )


class RunningDaemon:
    """A daemon whose loop runs in a thread."""

    def __init__(self, app: App, clock: FakeClock) -> None:
        self._app, self._clock = app, clock
        self._methods: dict[str, RpcMethod] = build_methods(app)
        self._passes = 0

    def count_pass(self) -> None:
        """Called after each pass of the engine's loop."""
        self._passes += 1

    def feed_session(self, session: LabelledSession, root: Path) -> None:
        """Write the session's transcript, and set the clock to its last record."""
        self._clock.advance(session.ends - self._clock.now())
        folder = self._app.paths.config_dir / "projects" / f"-home-dev-work-{root.name}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session.id}.jsonl"
        path.write_bytes(render_transcript(session, root))
        os.utime(path, (session.ends, session.ends))
        self._wait_for_passes()

    def finish_extraction(self) -> list[str]:
        """Wait until all messages are handled. Return what is parked."""
        return self._sync()

    def finish_synthesis(self) -> list[str]:
        """Let the session end, and wait until its facts are handled. Return what is parked."""
        self._clock.advance(IDLE)
        self._wait_for_passes()
        return self._sync()

    def _sync(self) -> list[str]:
        said = self._methods["sync"]({})
        self._wait_for_passes()
        return [f"{one['handler']}: {one['reason']}" for one in said["parked"]]

    def _wait_for_passes(self) -> None:
        """Wait until the loop has seen the new time and the new bytes: files are polled every two seconds of its clock."""
        self._clock.advance(3.0)
        wanted, end = self._passes + 3, time.monotonic() + PATIENCE
        while self._passes < wanted:
            if time.monotonic() > end:
                raise TimeoutError("the daemon's loop does not go on")
            time.sleep(_PAUSE)


@contextmanager
def _running(environ: Mapping[str, str], clock: FakeClock) -> Iterator[RunningDaemon]:
    app = App(Paths.from_env(environ), environ, clock=clock, watcher_for=SilentWatcher)
    with app:
        daemon = RunningDaemon(app, clock)
        thread = threading.Thread(
            target=app.run, kwargs={"on_iteration": daemon.count_pass, "max_sleep": _PAUSE}, daemon=True
        )
        thread.start()
        try:
            yield daemon
        finally:
            app.request_stop()
            thread.join(PATIENCE)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Replace the environment of this process: some handlers read it themselves."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    time.tzset()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


def _make_environment(home: Path, client_dir: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of the daemon. It is the same wherever the benchmark runs, so that the prompts are too."""
    return {
        "HOME": str(home),
        "USER": "dev",
        "LOGNAME": "dev",
        "PATH": os.pathsep.join((str(client_dir), "/usr/local/bin", "/usr/bin", "/bin")),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TACITD_STATE_DIR": str(home.parent / "state"),
        "TACITD_SOCKET": str(home.parent / "s"),
        **SETTINGS,
        **more,
    }


def _make_project(project: LabelledProject, root: Path, environ: Mapping[str, str]) -> None:
    root.mkdir(parents=True)
    (root.parents[1] / ".claude" / "projects").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True, env=dict(environ))
    for folder in project.folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / ".gitkeep").touch()
    for name, text in project.files.items():
        (root / name).write_text(text, "utf-8")


def list_missing(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """The calls that no rule answered, one for each prompt.

    Calls after a summary without an answer are left out: their prompts would contain that answer.
    """
    found: dict[str, ModelCall] = {}
    for call in calls:
        if call.rule < 0:
            found.setdefault(hash_prompt(call.prompt), call)
            if call.kind == "summary":
                break
    return list(found.values())
