"""The fixture of the scenarios: daemons that are stopped and checked at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support_daemon import Daemon, MakeDaemon


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeDaemon]:
    """Make a `Daemon` that is not started yet, so that a test can prepare its files."""
    with ExitStack() as stack:

        def one(*args: Any, **options: Any) -> Daemon:
            daemon = Daemon(tmp_path / f"d{next(numbers)}", *args, **options)
            stack.callback(daemon.finish)
            return daemon

        numbers = count()
        yield one
