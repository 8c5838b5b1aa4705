"""The composition root: the one place that builds the parts and joins them. Nothing is decided here.

with App.build(paths, environ) as app:      # takes the lock, binds the socket, opens the logs
    app.run()                               # until a signal or `stop`
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from loguru import logger

from tacitd import status_snapshot
from tacitd.clock import Clock, SystemClock, read_process_start
from tacitd.config.settings import Config, load_config
from tacitd.consumers import compaction
from tacitd.consumers.consumer import Consumer
from tacitd.consumers.dead_letters import DeadLetters
from tacitd.consumers.rescue import RescueLog
from tacitd.control.server import Server
from tacitd.dispatch.backoff import Backoff
from tacitd.dispatch.dispatcher import Dispatcher
from tacitd.dispatch.notices import Notices
from tacitd.dispatch.pauses import PausedScopes
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.watched_files import WatchedFiles
from tacitd.dispatch.work_item import EngineContext
from tacitd.engine import Engine
from tacitd.errors import TacitdError, describe_os_error
from tacitd.events import Project
from tacitd.files.busy_files import BusyFiles
from tacitd.files.follow_up import FollowUp
from tacitd.files.late_writes import LateWrites
from tacitd.files.locks import Lock, acquire_lock, make_private_dir
from tacitd.files.log import Log
from tacitd.files.replaced import EditGuards, replace_file
from tacitd.files.transaction import History
from tacitd.handler import Degradation, Plugin, Tools
from tacitd.model.answer_checks import SENTINEL
from tacitd.model.budget import Budget
from tacitd.model.children import Children
from tacitd.model.claude import ClaudeModel
from tacitd.model.health import ModelHealth
from tacitd.model.port import Model
from tacitd.plugins import FoundPlugins, find_plugins
from tacitd.reload import check_refused
from tacitd.schedule import Schedule
from tacitd.sources.base import OwnCalls, Source
from tacitd.sources.follow import Follower, WatcherFor
from tacitd.sources.growth_breaker import GrowthBreaker
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.sessions import Sessions
from tacitd.sources.transcript import read_records
from tacitd.sources.watch import WatchdogWatcher
from tacitd.state.layout import StateLayout
from tacitd.state.migrate import migrate_state
from tacitd.state.paths import SOCKET_FILE, Paths
from tacitd.state.write_modes import WriteModes

SourceFor = Callable[[Path, OwnCalls], Source]
"""Makes the source, given the client's own directory and what identifies tacitd's own calls."""


@dataclass(slots=True)
class App:
    """Everything, joined. Build one with `build`."""

    paths: Paths
    config: Config
    found: FoundPlugins
    clock: Clock
    engine: Engine
    model: Model
    budget: Budget
    history: History
    write_modes: WriteModes
    lock: Lock
    stopping: threading.Event
    projects: ProjectFinder
    environ: Mapping[str, str]
    late_writes: LateWrites
    guards: EditGuards
    follow_up: FollowUp
    notices: Notices = field(default_factory=Notices)
    tools: dict[str, Tools] = field(default_factory=dict)
    set_log_level: Callable[[str], None] = lambda _: None
    """Log as much as this from now on."""
    server: Server | None = None
    degraded: dict[str, Degradation] = field(default_factory=dict)

    def open(self) -> None:
        """Finish what a crash left, watch, list, and take calls. Raises TacitdError."""
        self.history.recover()
        self.late_writes.find_copies(self.history.list_directories())
        for name, consumer in list(self.engine.consumers.items()):
            if not self._open_handler(name, consumer):
                del self.engine.consumers[name]
        try:
            self.budget.compact_log()
        except (OSError, TacitdError) as error:
            logger.warning("the budget's log stays long: {}", error)
        try:
            self.history.compact_log()
        except (OSError, TacitdError) as error:
            logger.warning("the history log stays long: {}", error)
        self.engine.start()
        self.engine.dispatcher.messages.resend_unhandled(self.clock.now())
        self.engine.write_snapshot = self._run_each_minute
        for name, consumer in self.engine.consumers.items():
            for job in consumer.plugin.jobs:
                self.engine.schedule.add_job(name, job, consumer.last_job_runs.get(job.name))
        self.engine.write_snapshot()

    def _run_each_minute(self) -> None:
        """What the engine's housekeeping leaves to the one who knows all parts."""
        try:
            self.follow_up.run_once()
        except (OSError, TacitdError) as error:
            logger.warning("files that wait cannot be finished now: {}", error)
        check_refused(self)
        self._save_budget()
        status_snapshot.write_snapshot(self)

    def _save_budget(self) -> None:
        """Append what the budget could not write before. If it fails again, work that needs a call waits and says so."""
        with suppress(OSError, TacitdError):
            self.budget.save_unwritten()

    def _open_handler(self, name: str, consumer: Consumer) -> bool:
        """Give a handler its memory. One that cannot begin is left out and said, and stops no other."""
        commits = consumer.replay_log()
        try:
            consumer.handler.open(commits, self.engine.dispatcher.tools[name])
            deque(commits, maxlen=0)  # one that did not read all of it must not lose its positions
        except Exception as error:  # noqa: BLE001  a stranger's handler may raise anything
            self.degraded[f"handler.broken:{name}"] = _describe_broken(name, error)
            return False
        try:
            compaction.compact_log(consumer, os.path.lexists)
        except OSError as error:
            logger.warning("{} stays long: {}", consumer.log.path, error)
        return True

    def list_directives(self, config: Config) -> list[Path]:
        """The documents that hold for every project."""
        return [_expand_home(name, Path(self.paths.home)) for name in config.directives]

    def run(self) -> None:
        """Until `leave`."""
        self.follow_up.start()
        self.engine.run()

    def request_stop(self) -> None:
        """Begin to leave: kill the model's children, end the loop. May be called from a signal handler's thread."""
        self.stopping.set()
        self.engine.stop()

    def close(self) -> None:
        """Leave: everything that was committed is durable already."""
        self.stopping.set()
        steps: list[Callable[[], object]] = [] if self.server is None else [self.server.close]
        steps += [self.engine.dispatcher.stop, self.engine.follower.stop]
        steps += [self.model.reap_children] if isinstance(self.model, ModelHealth) else []
        steps += [
            self.follow_up.stop,
            self.late_writes.close,
            self._save_budget,
            self.engine.save_positions,
            self.engine.save_jobs,
            self.engine.write_snapshot,
            self._remove_socket_file,
        ]
        try:
            for step in steps:
                try:
                    step()
                except Exception as error:  # noqa: BLE001  what follows must be closed all the same
                    logger.opt(exception=error).error(
                        "leaving: {} failed", getattr(step, "__qualname__", step)
                    )
        finally:
            self.lock.release()

    def listen(self) -> None:
        """Take calls, and write down where: a command with another environment finds the socket all the same.

        Raises UnavailableError, OSError.
        """
        if self.server is not None:
            self.server.open()
            self._write_socket_file(self.server.path)

    def _write_socket_file(self, socket: Path) -> None:
        try:
            replace_file(self.paths.state_dir / SOCKET_FILE, f"{socket}\n".encode(), mode=0o600)
        except OSError as error:  # a full disk is no reason not to run: a service manager would try for ever
            logger.warning("{} cannot be written: {}", SOCKET_FILE, error.strerror)

    def _remove_socket_file(self) -> None:
        if self.server is not None:
            with suppress(OSError):
                (self.paths.state_dir / SOCKET_FILE).unlink(missing_ok=True)

    def __enter__(self) -> App:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def build_app(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    clock: Clock | None = None,
    found: FoundPlugins | None = None,
    model: Callable[[Config, Budget], Model] | None = None,
    watcher_for: WatcherFor = WatchdogWatcher,
    source_for: SourceFor = make_source,
    longer: Callable[[float], None] = lambda _: None,
) -> App:
    """Take the lock and build the parts. Nothing is watched, asked or written yet.

    `longer(seconds)` asks a service manager for time. Raises ConfigError, also for a state directory that a newer
    version wrote, and UnavailableError where another daemon holds the lock.
    """
    clock = clock or SystemClock()
    found = found or find_plugins()
    config = load_config(paths.config_file, environ, found.collect_sections(), broken=bool(found.failed))
    make_private_dir(paths.state_dir)
    lock = acquire_lock(paths.state_dir / "lock")
    try:
        migrate_state(paths.state_dir, longer=longer)
        return _join_parts(paths, environ, clock, found, config, lock, model, watcher_for, source_for)
    except BaseException:
        lock.release()
        raise


def _join_parts(
    paths: Paths,
    environ: Mapping[str, str],
    clock: Clock,
    found: FoundPlugins,
    config: Config,
    lock: Lock,
    make_model: Callable[[Config, Budget], Model] | None,
    watcher_for: WatcherFor,
    source_for: SourceFor,
) -> App:
    stores, leaving, wake = StateLayout(paths.state_dir), threading.Event(), threading.Event()
    work = make_private_dir(paths.state_dir / "model") / "work"
    budget = Budget(stores.open_log("budget.jsonl", terminated=True), config.budget, clock)
    own_sessions = {str(record.get("session", "")) for record in stores.open_log("own-sessions.jsonl").read()}
    source = source_for(paths.config_dir, OwnCalls(str(work), SENTINEL, own_sessions))
    model = (make_model or _model_factory(work, environ, clock, leaving, stores, own_sessions))(
        config, budget
    )
    second = LateWrites(clock)
    busy = BusyFiles(clock, swap_directories=_swap_directories(paths, environ))
    guards = EditGuards(second, busy)
    history = History(stores.open_log("history.jsonl"), clock, guards=guards)
    choices = WriteModes(stores.open_log("projects.jsonl"), clock, config.projects.write)
    follow_up = FollowUp(second, history, lambda root: choices.get_mode(Project(root, False)) != "off")
    projects = ProjectFinder(
        paths.home, clock, excludes=config.projects.exclude, private=[paths.state_dir, paths.config_dir]
    )
    consumers, broken = _make_consumers(found.plugins, stores, clock)
    holds = PausedScopes(stores.open_log("paused.jsonl"), clock)
    engine = Engine(
        clock=clock,
        follower=Follower(source, clock, watcher_for, wake.set),
        pool=TranscriptPool(consumers, source),
        sessions=Sessions(clock, config.session.idle, source.read_claims, read_process_start),
        breaker=GrowthBreaker(clock.monotonic, resumed=holds.list_let_go(), on_open=holds.let_go),
        project_of=projects.find_project,
        pauses=holds,
        consumers=consumers,
        watched_files=WatchedFiles(consumers),
        schedule=Schedule(clock),
        wake=wake,
        source=source,
    )
    app = App(
        paths,
        config,
        found,
        clock,
        engine,
        model,
        budget,
        history,
        choices,
        lock,
        leaving,
        projects,
        environ,
        second,
        guards,
        follow_up,
    )
    app.degraded.update(broken)
    app.tools |= {name: _make_tools(c.plugin, app, stores, projects) for name, c in consumers.items()}
    engine.dispatcher = _make_dispatcher(app, app.tools, stores)
    engine.extra_degradations = lambda: [
        *found.failed,
        *app.degraded.values(),
        *status_snapshot.list_app_degradations(app),
    ]
    return app


def _swap_directories(paths: Paths, environ: Mapping[str, str]) -> list[Path]:
    """Where Neovim keeps its swap files unless it is told otherwise."""
    state = environ.get("XDG_STATE_HOME") or str(Path(paths.home) / ".local" / "state")
    return [Path(state) / "nvim" / "swap"]


def _make_consumers(
    slices: Sequence[Plugin], stores: StateLayout, clock: Clock
) -> tuple[dict[str, Consumer], dict[str, Degradation]]:
    """The handlers with their logs, and what is said of those that cannot be made."""
    made: dict[str, Consumer] = {}
    broken: dict[str, Degradation] = {}
    for one in slices:
        try:
            made[one.name] = Consumer(
                one, one.make_handler(), Log(stores.make_handler_dir(one.name) / "log.jsonl"), clock
            )
        except Exception as error:  # noqa: BLE001  a stranger's handler may raise anything
            broken[f"handler.broken:{one.name}"] = _describe_broken(one.name, error)
    return made, broken


def _describe_broken(name: str, error: Exception) -> Degradation:
    if isinstance(error, OSError | TacitdError):
        why, hint = describe_os_error(error) if isinstance(error, OSError) else (error.what, error.hint)
        what = f"the handler {name} cannot begin: {why}"
        logger.error("{}", what)
        return Degradation("handler.broken", what, f"{hint}; then `tacitd restart`; everything else goes on")
    logger.opt(exception=error).error("the handler {} cannot begin", name)
    what = f"the handler {name} cannot begin: {type(error).__name__}: {error}"
    return Degradation("handler.broken", what, "the log says more; everything else goes on")


def _model_factory(
    work: Path,
    environ: Mapping[str, str],
    clock: Clock,
    leaving: threading.Event,
    stores: StateLayout,
    own_sessions: set[str],
) -> Callable[[Config, Budget], Model]:
    log = stores.open_log("own-sessions.jsonl")

    def remember(session: str) -> None:
        log.append({"at": clock.now(), "session": session})

    def make(config: Config, budget: Budget) -> Model:
        children = Children(work.parent / "children", work)
        children.reap_leftovers()
        claude = ClaudeModel(
            config.claude,
            budget,
            clock=clock,
            environ=environ,
            work=work,
            stop=leaving,
            children=children,
            own_sessions=own_sessions,
            on_session=remember,
        )
        return ModelHealth(claude, claude.find_program, lambda: claude.running_count, children.reap_leftovers)

    return make


def _make_dispatcher(app: App, tools: Mapping[str, Tools], stores: StateLayout) -> Dispatcher:
    engine = app.engine
    parts = EngineContext(
        get_tail=engine.pool.get_tail,
        get_final_offset=engine.pool.get_final_offset,
        is_pending=engine.pool.is_pending,
        is_evicted=engine.pool.is_evicted,
        project_of=engine.project_of,
        get_refusal=engine.get_refusal,
        get_model_refusal=engine.get_model_refusal,
        watch_project=engine.watched_files.watch_project,
        call_soon=engine.call_soon,
        monotonic=app.clock.monotonic,
        now=app.clock.now,
    )
    dead = DeadLetters(stores.open_log("dead.jsonl"), app.clock.now)
    pauses = Backoff(app.config.dispatch.first_pause, app.config.dispatch.longest_pause)
    rescue = RescueLog(stores.open_log("rescue.jsonl"), app.clock)
    made = Dispatcher(engine.consumers, tools, parts, pauses, rescue, dead)
    made.runner.mark_discarded = app.budget.mark_discarded
    return made


def _make_tools(one: Plugin, app: App, stores: StateLayout, projects: ProjectFinder) -> Tools:
    def degrade(what: Degradation) -> None:
        app.degraded[f"{one.name} {what.id}"] = what  # its own: no handler clears what another said

    def clear(id: str) -> None:
        app.degraded.pop(f"{one.name} {id}", None)

    return Tools(
        clock=app.clock,
        model=app.model,
        history=app.history,
        settings={name: app.config.get_section(name) for name in one.settings},
        home=stores.make_handler_dir(one.name),
        project_of=projects.find_project,
        has_live_session=lambda project: app.engine.sessions.is_live_in(
            lambda cwd: projects.find_project(cwd) == project
        ),
        degrade=degrade,
        clear=clear,
        directives=app.list_directives(app.config),
        guards=app.guards,
        write=app.config.projects.write,
        write_mode_of=app.write_modes.get_mode,
        list_sessions=app.engine.source.list_sessions,
        read_records=partial(read_records, app.engine.source),
        read_tool_answers=app.engine.source.read_tool_answers,
        announce=app.notices.add_notice,
        prompt_extensions=app.found.collect_prompt_extensions(),
        post=lambda event: app.engine.call_soon(
            lambda: app.engine.dispatcher.post_event(event, only=one.name)
        ),
    )


def _expand_home(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else Path(name)
