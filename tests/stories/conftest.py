"""Stories of persons: each begins a world, and its final files are compared with the recorded ones.

`pytest --record tests/stories` records them. Then a story is run again with crashes (support_crash_runs.py) at three durable steps:
`pytest --crashes 9 --crash-seed 7 tests/stories` does so at nine others, `--crash-at 17` at one, and `--disk-faults 2` and `--fail-at 17`
with a disk that fails at the step. With `--ways 1` at each way to a step besides.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support_crash_plan import CRASHES, CrashPlan, FaultPlan
from support_crash_runs import check_crashes
from support_crashes import STEPS
from support_recording import Recording, compare_files, record_files
from support_world import Begin, make_world
from tacitd.testing import World

HERE = Path(__file__).parent
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
    """After a story that passed, compare its final files with the recorded ones; then run it with crashes."""
    STEPS.reset()
    STEPS.has_ways = bool(_option(pyfuncitem.config, "--ways"))
    with STEPS.everywhere():
        passed = yield
    world = pyfuncitem.stash.get(WORLD, None)
    if world is None:
        return passed
    recording = Recording(pyfuncitem.path.stem.removeprefix("test_stories_"))
    files = record_files(world)
    config = pyfuncitem.config
    if _option(config, "--record"):
        recording.write(pyfuncitem.name, files)
    recorded = recording.read().get(pyfuncitem.name, {})
    differences = compare_files(recorded, files)
    assert not differences, f"--record records other final files:\n{differences}"
    ways, seed = _option(config, "--ways"), int(_option(config, "--crash-seed"))
    crashes = CrashPlan(_option(config, "--crashes"), ways, seed, _option(config, "--crash-at"))
    faults = FaultPlan(_option(config, "--disk-faults"), ways, seed, _option(config, "--fail-at"))
    names = [*pyfuncitem._fixtureinfo.argnames]
    given = {name: pyfuncitem.funcargs[name] for name in names if name != "begin"}
    name, tmp = pyfuncitem.originalname, world.home.parent
    steps, ways_to = tuple(STEPS.trail), tuple(STEPS.ways)
    for kind, plan in (("crash", crashes), ("fault", faults)):
        chosen = plan.choose_steps(pyfuncitem.nodeid, steps, ways_to)
        made = check_crashes(chosen, pyfuncitem.path, name, given, tmp, recorded)
        pyfuncitem.user_properties += [
            (kind, f"{one.steps}: {one.why or 'the same files'}") for one in made if one.steps
        ]
    return passed


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A story with many crashes takes hours."""
    if (
        _option(config, "--ways")
        or max(_option(config, "--crashes"), _option(config, "--disk-faults")) > CRASHES
    ):
        for item in items:
            if item.path.parent == HERE:
                item.add_marker(pytest.mark.timeout(0))
