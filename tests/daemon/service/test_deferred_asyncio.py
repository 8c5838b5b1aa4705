"""A stand-in for asyncio, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.scenario, pytest.mark.undated]


BEGIN = """
import sys
from tacitd.service.deferred_asyncio import defer_asyncio
with defer_asyncio():
    import asyncio as early
    from asyncio import get_running_loop, iscoroutinefunction
    from loguru import logger
    from apscheduler.triggers.interval import IntervalTrigger
assert "asyncio" not in sys.modules and "ssl" not in sys.modules, "nothing needed it"
async def one():
    return get_running_loop().time() > 0
"""


@pytest.mark.parametrize(
    "program",
    [
        "import asyncio; assert asyncio.run(one()) and asyncio is not early",
        "assert early.run(one()); import asyncio; assert asyncio.run is early.run",
        "assert iscoroutinefunction(one) and not iscoroutinefunction(print); assert 'asyncio' in sys.modules",
        "import asyncio.tasks; assert asyncio.tasks.Task is early.Task",
        "logger.remove(); logger.add(print, format='{message}'); logger.warning('{}', 1); assert 'asyncio' not in sys.modules",
    ],
)
def test_whoever_needs_asyncio_gets_it(program: str) -> None:
    """After the block it is imported as always; what was imported in the block leads to the real one."""
    subprocess.run([sys.executable, "-c", BEGIN + program], check=True)


def test_one_that_is_there_already_is_used() -> None:
    """A plugin or a test has imported it."""
    program = """
import asyncio
from tacitd.service.deferred_asyncio import defer_asyncio
with defer_asyncio():
    import asyncio as inside
assert inside is asyncio is __import__("sys").modules["asyncio"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_the_block_uses_of_it_becomes_real_at_once() -> None:
    """A later version of a library may look up more when it is imported."""
    program = """
import sys
from tacitd.service.deferred_asyncio import defer_asyncio
with defer_asyncio():
    from asyncio import Task, locks
assert sys.modules["asyncio"].Task is Task and locks.Lock
"""
    subprocess.run([sys.executable, "-c", program], check=True)
