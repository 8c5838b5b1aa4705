"""How the real model is built: the adapter, with its children and what it remembers. Used by the daemon, and by commands
that make a call where no daemon runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tacitd.clock import Clock, SystemClock
from tacitd.config.settings import Config, load_config
from tacitd.errors import TacitdError
from tacitd.files.locks import acquire_lock, make_private_dir
from tacitd.files.recent_records import read_recent
from tacitd.model.budget import Budget
from tacitd.model.children import Children
from tacitd.model.claude import ClaudeModel
from tacitd.model.health import ModelHealth
from tacitd.model.port import Model
from tacitd.plugins import find_plugins
from tacitd.state.layout import StateLayout
from tacitd.state.paths import Paths
from tacitd.state.schema import check_schema

OWN_SESSIONS_KEPT = 60 * 86_400.0
"""Seconds. The client keeps a transcript for 30 days, and it keeps none of these calls unless an old version ignores that."""


def load_own_sessions(layout: StateLayout, clock: Clock) -> set[str]:
    """The session ids of tacitd's own calls of the last 60 days. Raises OSError if the log cannot be read."""
    recent = read_recent(layout.open_log("own-sessions.jsonl"), clock.now(), OWN_SESSIONS_KEPT)
    return {str(one.get("session", "")) for one in recent}


def make_claude_factory(
    work: Path,
    environ: Mapping[str, str],
    clock: Clock,
    stopping: threading.Event,
    layout: StateLayout,
    own_sessions: set[str],
) -> Callable[[Config, Budget], ModelHealth]:
    """A function that makes the model. `work`: the private directory of calls. `own_sessions` grows with each call."""
    log = layout.open_log("own-sessions.jsonl")

    def remember(session: str) -> None:
        log.append({"at": clock.now(), "session": session})

    def make(config: Config, budget: Budget) -> ModelHealth:
        children = Children(work.parent / "children", work)
        children.reap_leftovers()
        claude = ClaudeModel(
            config.claude,
            budget,
            clock=clock,
            environ=environ,
            work=work,
            stop=stopping,
            children=children,
            own_sessions=own_sessions,
            on_session=remember,
        )
        return ModelHealth(claude, claude.find_program, lambda: claude.running_count, children.reap_leftovers)

    return make


@contextmanager
def borrow_model(paths: Paths, environ: Mapping[str, str]) -> Iterator[Model]:
    """Yield the model without an engine, where no daemon runs: nothing is read, and no handler starts.

    The daemon's lock is held meanwhile, so that the budget's log has one writer. Raises UnavailableError if another process
    has it, ConfigError, OSError, LogDamagedError.
    """
    found = find_plugins()
    config = load_config(paths.config_file, environ, found.collect_sections(), broken=bool(found.failed))
    make_private_dir(paths.state_dir)
    lock = acquire_lock(paths.state_dir / "lock")
    try:
        check_schema(paths.state_dir)
        layout, clock, stopping = StateLayout(paths.state_dir), SystemClock(), threading.Event()
        work = make_private_dir(paths.state_dir / "model") / "work"
        budget = Budget(layout.open_log("budget.jsonl", terminated=True), config.budget, clock)
        own_sessions = load_own_sessions(layout, clock)
        model = make_claude_factory(work, environ, clock, stopping, layout, own_sessions)(config, budget)
        try:
            yield model
        finally:
            stopping.set()
            model.reap_children()
            with suppress(OSError, TacitdError):
                budget.save_unwritten()
    finally:
        lock.release()
