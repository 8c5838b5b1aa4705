"""`HandlerBench`: one plugin in the real engine, with a home of its own, a fake clock and no threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tacitd.app import App
from tacitd.contract import Done, Row
from tacitd.events import Project
from tacitd.handler import Decided, Decision, StoredItem
from tacitd.model.port import Model
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins
from tacitd.report.sections import ReportScope, ReportSection
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.plugin_view import explain_text, list_items, make_report, make_section
from tacitd.sources.samples import SampleTranscripts
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing.fakes import CountedModel, FakeClock, InlineExecutor, ScriptedModel
from tacitd.testing.world_daemon import kill_app, run_until_idle
from tacitd.work.asked_tasks import AskedTasks
from tacitd.work.project_rows import store_project
from tacitd.work.running_plugin import RunningPlugin
from tacitd.work.task_rows import NewTask
from tacitd.work.work_status import list_parked


class HandlerBench:
    """A plugin under test.

        with HandlerBench(tmp_path, make_plugin()) as bench:
            bench.type("remember the milk")
            bench.settle()
            assert bench.rows("SELECT count(*) FROM toy_prompt") == [(1,)]

    The engine, its logs and the transcripts are the real ones, below `tmp`. Time passes only in `settle`, and everything
    runs in the caller's thread, so a test neither sleeps nor waits. No file of the person who runs the test is touched, if
    the handler takes its places from `environ`: pass `environ` to what reads `os.environ`, or set it with `monkeypatch`.
    """

    def __init__(
        self,
        tmp: Path,
        plugin: PluginSpec,
        *,
        model: Model | None = None,
        clock: FakeClock | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`settings`: variables of the environment, `{"TACITD_TOY__LIMIT": "3"}`. `model`: answers NONE by
        default. Raises ConfigError, RuntimeError."""
        self.plugin = plugin
        self.clock = clock or FakeClock()
        self.model: Model = model or ScriptedModel()
        self.home = tmp.resolve() / "home"
        self.project = self.make_project("project")
        """A git work tree, in which sessions work unless another is named."""
        self.environ = {"HOME": str(self.home), **(settings or {})}
        """The environment in which commands find the same files."""
        self._client = SampleTranscripts(self.home / ".claude", self.clock)
        self._start()

    def _start(self) -> None:
        self._app: App = App(
            Paths.from_env(self.environ),
            self.environ,
            clock=self.clock,
            found=FoundPlugins((self.plugin,)),
            model=lambda config, budget: CountedModel(self.model, budget),
            watcher_for=SilentWatcher,
            pool=InlineExecutor(),
        )
        self._app.open()
        if self.plugin.name not in self._app.plugins.by_name:
            what = "; ".join(one.what for one in self._app.degraded.values())
            self._app.close()
            raise RuntimeError(what)

    def close(self) -> None:
        self._app.close()

    def restart(self, *, kill: bool = False) -> None:
        """Stop the daemon and start it again on the same files. `kill`: as `kill -9` would, so nothing is saved."""
        if kill:
            kill_app(self._app)
        else:
            self._app.close()
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    # what happens

    def make_project(self, name: str) -> Path:
        """Make a git work tree below the home; a temporary directory without git is not a project."""
        root = self.home / name
        (root / ".git" / "info").mkdir(parents=True, exist_ok=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        return root

    def type(self, *words: str, session: str = "session", cwd: Path | None = None) -> None:
        """A person types: one prompt for each text, in a session that works in `cwd`."""
        for text in words:
            self._client.type(session, cwd or self.project, text)

    def answer(self, text: str, session: str = "session", cwd: Path | None = None) -> None:
        """The assistant answers in a session."""
        self._client.say(session, cwd or self.project, text)

    def settle(self, seconds: float = 2.0) -> None:
        """Let so many seconds pass, and run the engine until nothing is left to do now. Raises RuntimeError if that
        never comes. After `session.idle` (30 min by default) a session has ended."""
        self.clock.advance(seconds)
        run_until_idle(self._app)

    def sync(self) -> list[str]:
        """What `tacitd sync` does: gathered work is due now. Returns why work is parked."""
        app = self._app
        app.engine.begin_sync()
        run_until_idle(app)
        return [one.reason for one in list_parked(app.store.rows, app.engine.choices, app.clock.now())]

    def run_job(self, job: str) -> None:
        """Run one of the plugin's jobs now, for all projects. Raises ValueError if it has no such job."""
        if job not in [one.name for one in self.plugin.jobs]:
            raise ValueError(f"{self.plugin.name} has no job {job!r}")
        with self._app.store.write() as tx:
            self._running.queue_job(tx, job)
        run_until_idle(self._app)

    def decide(
        self,
        id: str,
        choice: Literal["keep", "drop", "edit", "restore"],
        text: str = "",
        root: Path | None = None,
    ) -> Decided:
        """A person decides about an item. Raises what its hook raises."""
        return self._asked.decide(self._running, Decision(id, choice, root, text), self.list_items(root))

    def run_command(self, key: str, data: Mapping[str, Any], cwd: Path | None = None) -> Done:
        """A person's command asks the plugin to do something in a project. Raises what it raises."""
        project = Project(cwd or self.project, git=True)
        with self._app.store.write() as tx:
            number = store_project(tx, project, self.clock.now())
        new = NewTask(self.plugin.name, str(project.root), "command", key, number, "", data)
        return self._asked.run(self._running, new)

    def purge(self, id: str, texts: Sequence[str] = ()) -> Done:
        """The words of a forgotten item are about to be purged."""
        new = NewTask(self.plugin.name, "", "purge", id, data={"texts": list(texts)})
        return self._asked.run(self._running, new)

    @property
    def _asked(self) -> AskedTasks:
        pass_on = partial(run_until_idle, self._app)
        return AskedTasks(self._app.store, self._app.engine.runner, self.clock.now, pass_on)

    @property
    def _running(self) -> RunningPlugin:
        return self._app.plugins.by_name[self.plugin.name]

    # what came of it

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self._app.store.rows(sql, *values)

    def list_items(self, root: Path | None = None) -> list[StoredItem]:
        return list_items(self.plugin, self.environ, root)

    @property
    def status(self) -> dict[str, Any]:
        part: dict[str, Any] = self._app.read_status()["slices"][self.plugin.name]
        return part

    @property
    def status_lines(self) -> list[str]:
        return list(self.status.get("says", ()))

    @property
    def degraded(self) -> list[str]:
        return [one["what"] for one in self._app.read_status()["degraded"]]

    def context(self, budget: int = 9000, cwd: Path | None = None) -> str:
        """The plugin's section of `tacitd context`; its hook reads this process's environment, see the class."""
        return make_section(self.plugin, ContextRequest(cwd or self.project, budget))

    def explain(self, text: str, cwd: Path | None = None) -> Sequence[Mapping[str, Any]]:
        """The plugin's matches for `tacitd why TEXT`; the same holds for its hook."""
        return explain_text(self.plugin, text, cwd or self.project)

    def report(self, days: float = 90.0, root: Path | None = None) -> list[ReportSection]:
        """The plugin's sections of `tacitd report` about the last `days`; `root`: of one project only."""
        now = self.clock.now()
        state_dir = Paths.from_env(self.environ).state_dir
        scope = ReportScope(state_dir, self.environ, root, now - days * 86_400.0, now)
        return make_report(self.plugin, scope)
