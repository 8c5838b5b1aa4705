"""Stories of persons: each begins a world, and its final files are compared with the recorded ones.

`pytest --record tests/stories -n 0` records them.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support_recording import Recording, compare_files, record_files
from support_world import Begin, make_world
from tacitd.testing import World

WORLD = pytest.StashKey[World]()


@pytest.fixture
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Begin:
    """Begins the world of this story. A story has one."""

    def make(*arguments: Any, **named: Any) -> World:
        assert WORLD not in request.node.stash
        made = request.node.stash[WORLD] = make_world(tmp_path, *arguments, **named)
        return made

    return make


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After a story that passed, compare its final files with the recorded ones."""
    passed = yield
    world = pyfuncitem.stash.get(WORLD, None)
    if world is not None:
        recording = Recording(pyfuncitem.path.stem.removeprefix("test_stories_"))
        files = record_files(world)
        if pyfuncitem.config.getoption("--record"):
            recording.write(pyfuncitem.name, files)
        differences = compare_files(recording.read().get(pyfuncitem.name, {}), files)
        assert not differences, f"--record records other final files:\n{differences}"
    return passed
