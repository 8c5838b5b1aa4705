"""Importing libraries without asyncio, which they import for coroutines, and of which the daemon has none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

NAME = "asyncio"
CALLED_LATER = frozenset({"get_running_loop", "iscoroutinefunction"})
"""What loguru and APScheduler look up when they are imported, and call for coroutines only."""


@contextmanager
def defer_asyncio() -> Iterator[None]:
    """Let the imports of this block have a stand-in for asyncio, which becomes the real one as soon as more is asked of it.

    Trigger: loguru and APScheduler import asyncio. Why: with ssl it takes 3 MB of each daemon, and 40 ms of its start. Outcome:
    whoever imports it after the block, or uses what it imported in the block, gets the real one.
    """
    if NAME in sys.modules:
        yield
        return
    sys.modules[NAME] = stand_in = _StandIn(NAME)
    try:
        yield
    finally:
        if sys.modules.get(NAME) is stand_in:
            del sys.modules[NAME]


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name in CALLED_LATER:
            return _make_caller(name)
        if name.startswith("__"):  # asked for by the import system
            raise AttributeError(name)
        return getattr(_import_real(), name)


def _import_real() -> ModuleType:
    if isinstance(sys.modules.get(NAME), _StandIn):
        del sys.modules[NAME]
    return import_module(NAME)


def _make_caller(name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return getattr(_import_real(), name)(*arguments)

    return call
