"""For every test: a person's own memory is never touched, whatever handler runs in this process, and signals mean
what they mean to a program that is started from a terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

for _one in (signal.SIGINT, signal.SIGHUP):
    # Why: a shell without job control has its background jobs ignore SIGINT, `nohup` SIGHUP, and children inherit that.
    if signal.getsignal(_one) is signal.SIG_IGN:
        signal.signal(_one, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _own_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Profile and sessions of tests that name no other place."""
    before = os.environ.get("USER_MEMORY_DIR")
    os.environ["USER_MEMORY_DIR"] = str(tmp_path_factory.mktemp("user-memory"))
    yield
    if before is None:
        del os.environ["USER_MEMORY_DIR"]
    else:
        os.environ["USER_MEMORY_DIR"] = before
