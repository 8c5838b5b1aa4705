"""For every test: a person's own memory is never touched, no disk is waited for, whatever runs in this process, and
signals mean what they mean to a program that is started from a terminal."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest

for _one in (signal.SIGINT, signal.SIGHUP):
    # Why: a shell without job control has its background jobs ignore SIGINT, `nohup` SIGHUP, and children inherit that.
    if signal.getsignal(_one) is signal.SIG_IGN:
        signal.signal(_one, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was imported by now stays: the collector need not look through it at every turn, a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _own_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Profile and sessions of tests that name no other place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USER_MEMORY_DIR", str(tmp_path_factory.mktemp("user-memory")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_syncs() -> Iterator[None]:
    """No test pulls a plug: that syncs are asked for, and when, is seen at the seam (`support_disk`)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        patch.setattr(os, "fdatasync", lambda fd: None)
        yield
