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
from pathlib import Path

from loguru import logger

from tacitd import compaction, report
from tacitd.choices import Choices
from tacitd.clock import Clock, SystemClock
from tacitd.config import Config, load
from tacitd.consumer import Consumer
from tacitd.control.server import Server
from tacitd.dispatch import Dispatcher
from tacitd.engine import Engine
from tacitd.errors import TacitdError, said_by_system
from tacitd.events import Project
from tacitd.files.busy import BusyFiles
from tacitd.files.follow_up import FollowUp
from tacitd.files.locks import Lock, hold, private_dir
from tacitd.files.log import Log
from tacitd.files.replaced import EditGuards
from tacitd.files.replaced import replace as replace_file
from tacitd.files.second_look import SecondLook
from tacitd.files.transaction import History
from tacitd.handler import Degradation, Slice, Tools
from tacitd.holds import Holds
from tacitd.letters import Letters
from tacitd.migrate import ensure
from tacitd.model.budget import Budget
from tacitd.model.children import Children
from tacitd.model.claude import ClaudeModel
from tacitd.model.guard import SENTINEL
from tacitd.model.health import Health
from tacitd.model.port import Model
from tacitd.notices import Notices
from tacitd.parking import Pauses
from tacitd.paths import SOCKET_FILE, Paths
from tacitd.reload import check_refused
from tacitd.rescue import Rescue
from tacitd.schedule import Schedule
from tacitd.slices import Found, find
from tacitd.sources import Sources
from tacitd.stores import Stores
from tacitd.tails import Tails
from tacitd.transcripts.breaker import Breaker
from tacitd.transcripts.follow import Follower
from tacitd.transcripts.person import Own
from tacitd.transcripts.processes import process_start
from tacitd.transcripts.projects import Projects
from tacitd.transcripts.sessions import Sessions
from tacitd.transcripts.watch import WatchdogWatcher, Watcher
from tacitd.turns import Parts

WatcherFor = Callable[[Path, Callable[[], None]], Watcher]


@dataclass(slots=True)
class App:
    """Everything, joined. Build one with `build`."""

    paths: Paths
    config: Config
    found: Found
    clock: Clock
    engine: Engine
    model: Model
    budget: Budget
    history: History
    choices: Choices
    lock: Lock
    leaving: threading.Event
    projects: Projects
    environ: Mapping[str, str]
    second: SecondLook
    guards: EditGuards
    follow_up: FollowUp
    notices: Notices = field(default_factory=Notices)
    tools: dict[str, Tools] = field(default_factory=dict)
    on_level: Callable[[str], None] = lambda _: None
    """Log as much as this from now on."""
    server: Server | None = None
    degraded: dict[str, Degradation] = field(default_factory=dict)

    def open(self) -> None:
        """Finish what a crash left, watch, list, and take calls. Raises TacitdError."""
        self.history.recover()
        self.second.find(self.history.places())
        for name, consumer in list(self.engine.consumers.items()):
            if not self._opened(name, consumer):
                del self.engine.consumers[name]
        try:
            self.budget.compact()
        except (OSError, TacitdError) as error:
            logger.warning("the budget's log stays long: {}", error)
        self.engine.start()
        self.engine.dispatcher.telling.again(self.clock.now())
        self.engine.snapshot = self._each_minute
        for name, consumer in self.engine.consumers.items():
            for job in consumer.slice.jobs:
                self.engine.schedule.add(name, job, consumer.jobs.get(job.name))
        self.engine.snapshot()

    def _each_minute(self) -> None:
        """What the engine's housekeeping leaves to the one who knows all parts."""
        try:
            self.follow_up.run_once()
        except (OSError, TacitdError) as error:
            logger.warning("files that wait cannot be finished now: {}", error)
        check_refused(self)
        self._save_budget()
        report.write_snapshot(self)

    def _save_budget(self) -> None:
        """Append what the budget could not write before. If it fails again, work that needs a call waits and says so."""
        with suppress(OSError, TacitdError):
            self.budget.save()

    def _opened(self, name: str, consumer: Consumer) -> bool:
        """Give a handler its memory. One that cannot begin is left out and said, and stops no other."""
        commits = consumer.read()
        try:
            consumer.handler.open(commits, self.engine.dispatcher.tools[name])
            deque(commits, maxlen=0)  # one that did not read all of it must not lose its positions
        except Exception as error:  # noqa: BLE001  a stranger's handler may raise anything
            self.degraded[f"handler.broken:{name}"] = _broken(name, error)
            return False
        try:
            compaction.compact(consumer, os.path.lexists)
        except OSError as error:
            logger.warning("{} stays long: {}", consumer.log.path, error)
        return True

    def directives(self, config: Config) -> list[Path]:
        """The documents that hold for every project."""
        return [_expanded(name, Path(self.paths.home)) for name in config.directives]

    def run(self) -> None:
        """Until `leave`."""
        self.follow_up.start()
        self.engine.run()

    def leave(self) -> None:
        """Begin to leave: kill the model's children, end the loop. May be called from a signal handler's thread."""
        self.leaving.set()
        self.engine.stop()

    def close(self) -> None:
        """Leave: everything that was committed is durable already."""
        self.leaving.set()
        steps: list[Callable[[], object]] = [] if self.server is None else [self.server.close]
        steps += [self.engine.dispatcher.stop, self.engine.follower.stop]
        steps += [self.model.sweep] if isinstance(self.model, Health) else []
        steps += [
            self.follow_up.stop,
            self.second.close,
            self._save_budget,
            self.engine.save,
            self.engine.save_jobs,
            self.engine.snapshot,
            self._unname,
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
            self._name(self.server.path)

    def _name(self, socket: Path) -> None:
        try:
            replace_file(self.paths.state_dir / SOCKET_FILE, f"{socket}\n".encode(), mode=0o600)
        except OSError as error:  # a full disk is no reason not to run: a service manager would try for ever
            logger.warning("{} cannot be written: {}", SOCKET_FILE, error.strerror)

    def _unname(self) -> None:
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


def build(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    clock: Clock | None = None,
    found: Found | None = None,
    model: Callable[[Config, Budget], Model] | None = None,
    watcher_for: WatcherFor = WatchdogWatcher,
    longer: Callable[[float], None] = lambda _: None,
) -> App:
    """Take the lock and build the parts. Nothing is watched, asked or written yet.

    `longer(seconds)` asks a service manager for time. Raises ConfigError, also for a state directory that a newer
    version wrote, and UnavailableError where another daemon holds the lock.
    """
    clock = clock or SystemClock()
    found = found or find()
    config = load(paths.config_file, environ, found.sections(), broken=bool(found.failed))
    private_dir(paths.state_dir)
    lock = hold(paths.state_dir / "lock")
    try:
        ensure(paths.state_dir, longer=longer)
        return _joined(paths, environ, clock, found, config, lock, model, watcher_for)
    except BaseException:
        lock.release()
        raise


def _joined(
    paths: Paths,
    environ: Mapping[str, str],
    clock: Clock,
    found: Found,
    config: Config,
    lock: Lock,
    make_model: Callable[[Config, Budget], Model] | None,
    watcher_for: WatcherFor,
) -> App:
    stores, leaving, wake = Stores(paths.state_dir), threading.Event(), threading.Event()
    work = private_dir(paths.state_dir / "model") / "work"
    budget = Budget(stores.log("budget.jsonl", terminated=True), config.budget, clock)
    own_sessions = {str(record.get("session", "")) for record in stores.log("own-sessions.jsonl").read()}
    own = Own(str(work), SENTINEL, own_sessions)
    model = (make_model or _claude(work, environ, clock, leaving, stores, own_sessions))(config, budget)
    second = SecondLook(clock)
    busy = BusyFiles(clock, swap_directories=_swap_directories(paths, environ))
    guards = EditGuards(second, busy)
    history = History(stores.log("history.jsonl"), clock, guards=guards)
    choices = Choices(stores.log("projects.jsonl"), clock, config.projects.write)
    follow_up = FollowUp(second, history, lambda root: choices.mode(Project(root, False)) != "off")
    projects = Projects(
        paths.home, clock, excludes=config.projects.exclude, private=[paths.state_dir, paths.config_dir]
    )
    consumers, broken = _consumers(found.slices, stores, clock)
    holds = Holds(stores.log("paused.jsonl"), clock)
    engine = Engine(
        clock=clock,
        follower=Follower([paths.config_dir], clock, watcher_for, wake.set),
        tails=Tails(consumers, own),
        sessions=Sessions(clock, config.session.idle, paths.config_dir, process_start),
        breaker=Breaker(clock.monotonic, resumed=holds.list_let_go(), on_open=holds.let_go),
        project_of=projects.of,
        holds=holds,
        consumers=consumers,
        sources=Sources(consumers),
        schedule=Schedule(clock),
        wake=wake,
        root=paths.config_dir,
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
    app.tools |= {name: _tools(c.slice, app, stores, projects) for name, c in consumers.items()}
    engine.dispatcher = _dispatcher(app, app.tools, stores)
    engine.extra = lambda: [*found.failed, *app.degraded.values(), *report.ill(app)]
    return app


def _swap_directories(paths: Paths, environ: Mapping[str, str]) -> list[Path]:
    """Where Neovim keeps its swap files unless it is told otherwise."""
    state = environ.get("XDG_STATE_HOME") or str(Path(paths.home) / ".local" / "state")
    return [Path(state) / "nvim" / "swap"]


def _consumers(
    slices: Sequence[Slice], stores: Stores, clock: Clock
) -> tuple[dict[str, Consumer], dict[str, Degradation]]:
    """The handlers with their logs, and what is said of those that cannot be made."""
    made: dict[str, Consumer] = {}
    broken: dict[str, Degradation] = {}
    for one in slices:
        try:
            made[one.name] = Consumer(one, one.make(), Log(stores.home(one.name) / "log.jsonl"), clock)
        except Exception as error:  # noqa: BLE001  a stranger's handler may raise anything
            broken[f"handler.broken:{one.name}"] = _broken(one.name, error)
    return made, broken


def _broken(name: str, error: Exception) -> Degradation:
    if isinstance(error, OSError | TacitdError):
        why, hint = said_by_system(error) if isinstance(error, OSError) else (error.what, error.hint)
        what = f"the handler {name} cannot begin: {why}"
        logger.error("{}", what)
        return Degradation("handler.broken", what, f"{hint}; then `tacitd restart`; everything else goes on")
    logger.opt(exception=error).error("the handler {} cannot begin", name)
    what = f"the handler {name} cannot begin: {type(error).__name__}: {error}"
    return Degradation("handler.broken", what, "the log says more; everything else goes on")


def _claude(
    work: Path,
    environ: Mapping[str, str],
    clock: Clock,
    leaving: threading.Event,
    stores: Stores,
    own_sessions: set[str],
) -> Callable[[Config, Budget], Model]:
    log = stores.log("own-sessions.jsonl")

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
        return Health(claude, claude.program, lambda: claude.running, children.reap_leftovers)

    return make


def _dispatcher(app: App, tools: Mapping[str, Tools], stores: Stores) -> Dispatcher:
    engine = app.engine
    parts = Parts(
        tail=engine.tails.get,
        end=engine.tails.end,
        coming=engine.tails.coming,
        away=engine.tails.away,
        project_of=engine.project_of,
        refused=engine.refused,
        unpaid=engine.unpaid,
        know=engine.sources.know,
        post=engine.post,
        monotonic=app.clock.monotonic,
        now=app.clock.now,
    )
    dead = Letters(stores.log("dead.jsonl"), app.clock.now)
    pauses = Pauses(app.config.dispatch.first_pause, app.config.dispatch.longest_pause)
    rescue = Rescue(stores.log("rescue.jsonl"), app.clock)
    made = Dispatcher(engine.consumers, tools, parts, pauses, rescue, dead)
    made.runner.unused = app.budget.unused
    return made


def _tools(one: Slice, app: App, stores: Stores, projects: Projects) -> Tools:
    def degrade(what: Degradation) -> None:
        app.degraded[f"{one.name} {what.id}"] = what  # its own: no handler clears what another said

    def clear(id: str) -> None:
        app.degraded.pop(f"{one.name} {id}", None)

    return Tools(
        clock=app.clock,
        model=app.model,
        history=app.history,
        settings={name: app.config.section(name) for name in one.settings},
        home=stores.home(one.name),
        project_of=projects.of,
        live=lambda project: app.engine.sessions.live_in(lambda cwd: projects.of(cwd) == project),
        degrade=degrade,
        clear=clear,
        directives=app.directives(app.config),
        guards=app.guards,
        write=app.config.projects.write,
        written=app.choices.mode,
        announce=app.notices.add,
        post=lambda event: app.engine.post(lambda: app.engine.dispatcher.post(event, only=one.name)),
    )


def _expanded(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else Path(name)
