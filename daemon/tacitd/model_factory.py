"""How the real model is built: the adapter, with its children and the budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tacitd.clock import Clock, SystemClock
from tacitd.config.settings import Config
from tacitd.errors import TacitdError
from tacitd.files.locks import make_private_dir
from tacitd.model.budget import Budget
from tacitd.model.claude import ClaudeModel
from tacitd.model.port import Model, ModelHealth
from tacitd.model.process import reap_leftovers
from tacitd.state.paths import Paths
from tacitd.store import Store


def make_daemon_model(
    config: Config,
    budget: Budget,
    clock: Clock,
    environ: Mapping[str, str],
    work: Path,
    stopping: threading.Event,
    own_sessions: set[str],
) -> ModelHealth:
    """`work`: the private directory of calls. `own_sessions` grows with each call."""
    reap_leftovers(work)
    claude = ClaudeModel(
        config.claude,
        budget,
        clock=clock,
        environ=environ,
        work=work,
        stop=stopping,
        own_sessions=own_sessions,
    )
    reap = partial(reap_leftovers, work)
    return ModelHealth(claude, claude.find_program, reap)


def make_command_model(
    config: Config, budget: Budget, clock: Clock, environ: Mapping[str, str], work: Path
) -> Model:
    reap_leftovers(work)
    return ClaudeModel(config.claude, budget, clock=clock, environ=environ, work=work)


@contextmanager
def open_model(paths: Paths, environ: Mapping[str, str], config: Config) -> Iterator[tuple[Model, Budget]]:
    """Yield the model for a command, and the budget, which is the store's. What an earlier command left running is ended.
    Raises ConfigError, OSError, UnwritableError, StoreLostError."""
    make_private_dir(paths.state_dir)
    work, clock = make_private_dir(paths.state_dir / "model") / "work", SystemClock()
    store = Store.open(paths.state_dir, clock, owner=False)
    try:
        budget = Budget(store, config.budget, clock)
        budget.mark_lost()
        yield make_command_model(config, budget, clock, environ, work), budget
        with suppress(TacitdError):  # the answer is not lost with the store
            budget.save_ends()
    finally:
        store.close()
