"""Making the handlers of the first contract at a start. One that fails becomes a degradation; the others still start."""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger

from tacitd.config.settings import Config
from tacitd.errors import TacitdError, describe_failure
from tacitd.events import Event
from tacitd.handler import BaseHandler, Degradation, Done, Outcome, Plugin, Tools
from tacitd.state.layout import StateLayout
from tacitd.work.growth_queue import Services
from tacitd.work.handler_adapter import AdaptedHandler


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
