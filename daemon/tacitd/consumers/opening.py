"""Making and opening the handlers at a start. One that fails becomes a degradation; the others still start."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from loguru import logger

from tacitd.clock import Clock
from tacitd.consumers.compaction import compact_log
from tacitd.consumers.consumer import Consumer
from tacitd.consumers.cursor_table import CursorTable
from tacitd.errors import TacitdError, describe_failure, describe_plugin_error
from tacitd.files.log import Log
from tacitd.handler import Commit, Degradation, Plugin, Tools


def make_consumers(
    plugins: Sequence[Plugin], make_directory: Callable[[str], Path], clock: Clock
) -> tuple[dict[str, Consumer], dict[str, Degradation]]:
    """Return the handlers with their logs, and a degradation for each that cannot be made, by its key.

    `make_directory` makes a handler's private directory.
    """
    made: dict[str, Consumer] = {}
    broken: dict[str, Degradation] = {}
    tables: list[CursorTable] = []
    for one in plugins:
        try:
            log = Log(make_directory(one.name) / "log.jsonl")
            made[one.name] = Consumer(one, one.make_handler(), log, clock, CursorTable(tables))
        except Exception as error:  # noqa: BLE001  a third-party handler may raise anything
            broken[f"handler.broken:{one.name}"] = _describe_broken(one.name, error)
    return made, broken


def open_consumer(
    consumer: Consumer, tools: Tools, on_commit: Callable[[Commit], None] = lambda commit: None
) -> Degradation | None:
    """Open a handler with its commits, and compact its log. Return what is wrong if it cannot be opened.

    `on_commit` gets each commit too, oldest first.
    """
    commits = consumer.replay_log(on_commit)
    try:
        consumer.handler.open(commits, tools)
        deque(commits, maxlen=0)  # positions are read with the commits: the handler may not have read all
    except Exception as error:  # noqa: BLE001  a third-party handler may raise anything
        return _describe_broken(consumer.name, error)
    try:
        compact_log(consumer, os.path.lexists)
    except Exception as error:  # noqa: BLE001  a third-party handler's snapshot may raise anything
        logger.warning("{} stays long: {}", consumer.log.path, describe_plugin_error(error))
    return None


def _describe_broken(name: str, error: Exception) -> Degradation:
    if isinstance(error, OSError | TacitdError):
        why, hint = describe_failure(error)
        what = f"the handler {name} cannot begin: {why}"
        logger.error("{}", what)
        return Degradation("handler.broken", what, f"{hint}; then `tacitd restart`; everything else goes on")
    logger.opt(exception=error).error("the handler {} cannot begin", name)
    what = f"the handler {name} cannot begin: {type(error).__name__}: {error}"
    return Degradation("handler.broken", what, "the log says more; everything else goes on")
