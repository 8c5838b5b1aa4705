"""For every test: a person's own memory is never touched, whatever handler runs in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


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
