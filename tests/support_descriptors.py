"""The descriptors that a test leaves open.

A daemon has its logs and its lock open as long as it runs, and the kernel closes them when the process ends. In a test
the process continues after the daemon was killed. So descriptors that were opened through tacitd's disk are closed
after the test. The test itself must close what it opened in another way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tacitd.files.disk import Disk
from tacitd.store import Store

MANY = 64
"""Maximum descriptors that are open when a process ends: about 15 belong to pytest and its workers."""


class Descriptors:
    """The descriptors that tacitd's disks have open in this process."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Record what every disk opens and closes while the block runs."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("open_read", "open_append", "open_new"):
                patch.setattr(Disk, name, self._noting(getattr(Disk, name)))
            close = Disk.close

            def closing(disk: Disk, fd: int) -> None:
                self._open.discard(fd)
                close(disk, fd)

            patch.setattr(Disk, "close", closing)
            yield

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Close what was opened in the block and is still open at its end."""
        before, stores = set(self._open), list[Store]()
        with pytest.MonkeyPatch.context() as patch:
            connect = Store._connect

            def connecting(store: Store) -> None:
                stores.append(store)
                connect(store)

            patch.setattr(Store, "_connect", connecting)
            yield
        for store in stores:
            store.close()
        for fd in self._open - before:
            self._open.discard(fd)
            os.close(fd)

    def _noting(self, opening: Callable[..., int]) -> Callable[..., int]:
        def opened(disk: Disk, path: Path, *mode: Any) -> int:
            fd = opening(disk, path, *mode)
            self._open.add(fd)
            return fd

        return opened


def list_open() -> list[str]:
    """The paths, sockets and pipes of this process's open descriptors."""
    names = []
    for name in os.listdir("/dev/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the one of this listing, which is closed by now; or not Linux
            names.append("?")
    return sorted(names)
