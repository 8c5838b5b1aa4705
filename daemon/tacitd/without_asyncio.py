"""loguru and APScheduler import asyncio for coroutines, of which tacitd has none; with ssl, which asyncio imports, that is up to 5 MB of each daemon."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import iscoroutinefunction
from types import ModuleType

USERS = ("loguru", "apscheduler.triggers.interval")
"""The modules that import asyncio and do not need it."""


def import_without_asyncio(names: Sequence[str] = USERS) -> None:
    """Import these modules with a stand-in for asyncio. Who imports asyncio later, such as a plugin, gets the real one. A module that
    needs more of it than the stand-in has is forgotten again: its next import is an ordinary one."""
    if "asyncio" in sys.modules:
        return
    stand_in = ModuleType("asyncio")
    stand_in.__dict__.update(get_running_loop=_refuse, iscoroutinefunction=iscoroutinefunction)
    sys.modules["asyncio"] = stand_in
    try:
        for name in names:
            import_module(name)
    except Exception:  # noqa: BLE001  what a later release of it may raise
        tops = {name.partition(".")[0] for name in names}
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]
    finally:
        sys.modules.pop("asyncio", None)


def _refuse() -> None:
    raise RuntimeError("no running event loop")
