"""What a daemon imports without asyncio, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_python(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_asyncio_is_not_loaded_and_works_for_who_wants_it(tmp_path: Path) -> None:
    """The log works, times of jobs are computed, and a plugin may run coroutines later."""
    program = """
import sys
from tacitd.without_asyncio import import_without_asyncio
import_without_asyncio()
from tacitd.logging_setup import to_file
from tacitd.schedule import Schedule
from loguru import logger
from pathlib import Path
to_file(Path(sys.argv[1]), "INFO")
logger.info("heard")
assert not {"asyncio", "ssl"} & sys.modules.keys(), "loaded"
import asyncio
async def add(): return asyncio.get_running_loop() is not None
print(asyncio.run(add()), Path(sys.argv[1]).read_text().count("heard"))
"""
    assert run_python(program, str(tmp_path / "log")) == "True 1\n"


def test_a_release_that_needs_more_of_asyncio_is_imported_with_it(tmp_path: Path) -> None:
    """No release of a library stops the daemon."""
    package = tmp_path / "greedy"
    package.mkdir()
    (package / "__init__.py").write_text("from greedy import inner\n")
    (package / "inner.py").write_text("import asyncio\nqueue = asyncio.Queue\n")
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from tacitd.without_asyncio import import_without_asyncio
import_without_asyncio(["greedy"])
assert not {"greedy", "greedy.inner", "asyncio"} & sys.modules.keys()
from greedy.inner import queue
print(queue.__name__)
"""
    assert run_python(program, str(tmp_path)) == "Queue\n"
