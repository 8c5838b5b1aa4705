"""Making the handlers of the first contract at a start. One that fails becomes a degradation; the others still start."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence

from loguru import logger

from tacitd.config.settings import Config
from tacitd.contract import Row
from tacitd.errors import TacitdError, describe_failure
from tacitd.events import Event
from tacitd.handler import BaseHandler, Degradation, Done, Outcome, Plugin, Tools
from tacitd.state.layout import StateLayout
from tacitd.work.activities import Activity, read_activities
from tacitd.work.growth_queue import Services
from tacitd.work.handler_adapter import AdaptedHandler
from tacitd.work.reader import Observer
from tacitd.work.task_runner import Runnable


class _NoHandler(BaseHandler):
    """In the place of a handler that could not be made: what it would do waits."""

    def handle(self, event: Event, tools: Tools) -> Outcome:
        return Done()


def adapt_handlers(
    plugins: Sequence[Plugin],
    config: Config,
    services: Services,
    layout: StateLayout,
    degraded: dict[str, Degradation],
) -> list[AdaptedHandler]:
    """Make the handlers. For one that cannot be made, `degraded` gets a `handler.broken:NAME`; its work is queued all the same."""
    made = list[AdaptedHandler]()
    for one in plugins:
        gather = None
        try:
            layout.make_handler_dir(one.name)
            gather = one.find_gather({name: config.get_section(name) for name in one.settings})
            handler = one.make_handler()
        except Exception as error:  # noqa: BLE001  a third-party handler may raise anything
            degraded[f"handler.broken:{one.name}"] = describe_broken(one.name, error)
            handler = _NoHandler()
        made.append(AdaptedHandler(one, handler, services, gather))
    return made


def make_observer(one: AdaptedHandler) -> Observer:
    """What the reader needs of a handler."""
    reads = one.plugin.reads_records
    return Observer(one.name, one.observe if reads else None, reads, True, True, one.plugin.uses_model)


def make_runnable(one: AdaptedHandler) -> Runnable:
    """What the workers need of a handler."""
    return Runnable(one.run, lambda task: None, has_one_lane=one.has_one_lane, committed=one.committed)


def open_handlers(
    handlers: MutableMapping[str, AdaptedHandler],
    runnables: MutableMapping[str, Runnable],
    rows: Callable[..., list[Row]],
    since: float,
    degraded: dict[str, Degradation],
) -> list[Activity]:
    """Open the handlers; one that fails runs no longer. Returns what they and the plugins did at `since` (seconds since
    1970, UTC) or later."""
    for name, one in list(handlers.items()):
        try:
            one.open()
        except Exception as error:  # noqa: BLE001  a third-party handler may raise anything
            degraded[f"handler.broken:{name}"] = describe_broken(name, error)
            del handlers[name], runnables[name]
    return list(read_activities(rows, since))


def describe_broken(name: str, error: Exception) -> Degradation:
    """What is wrong with a handler that cannot begin."""
    if isinstance(error, OSError | TacitdError):
        why, hint = describe_failure(error)
        what = f"the handler {name} cannot begin: {why}"
        logger.error("{}", what)
        return Degradation("handler.broken", what, f"{hint}; then `tacitd restart`; everything else goes on")
    logger.opt(exception=error).error("the handler {} cannot begin", name)
    what = f"the handler {name} cannot begin: {type(error).__name__}: {error}"
    return Degradation("handler.broken", what, "the log says more; everything else goes on")
