"""The bench for handlers: what a test of another package sees."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tacitd.clock import SystemClock
from tacitd.contract import Done, Later, Outcome, Rows, Task, Tools
from tacitd.errors import ConfigError
from tacitd.handler import Notice
from tacitd.plugin import GatherRule, PluginSpec, TimedJob
from tacitd.session_context.context_request import ContextRequest
from tacitd.testing import DAY, FakeClock, HandlerBench


def run(task: Task, tools: Tools) -> Outcome:
    """Stores words as activities."""
    if "fail" in [prompt.text for prompt in task.prompts]:
        return Later("it cannot be done", "do it otherwise")
    if task.kind == "job":
        return Done(notices=[Notice("learned", f"job {task.key}")])
    return Done(notices=[Notice("learned", prompt.text) for prompt in task.prompts])


def gather(settings: Mapping[str, Any]) -> GatherRule:
    """A person is let type for five minutes."""
    return GatherRule(quiet=300.0)


def section(request: ContextRequest) -> str:
    """Its section of `context`."""
    return f"In {request.cwd.name}"[: request.budget]


def report(rows: Rows, now: float) -> Mapping[str, Any]:
    """Its part of `status`."""
    ((number,),) = rows("SELECT count(*) FROM activity WHERE did = 'learned'")
    return {"made": number, "lines": [f"{number} made"]}


PLUGIN = PluginSpec(
    "gathering",
    run=f"{__name__}:run",
    gather=f"{__name__}:gather",
    jobs=(TimedJob("tidy", math.inf),),
    session_text=f"{__name__}:section",
    status=f"{__name__}:report",
)


def test_words_go_through_the_real_engine(tmp_path: Path) -> None:
    """Typed, gathered, done; `sync` makes it due at once; a restart has the rows."""
    clock, made = FakeClock(), "SELECT at, text FROM activity WHERE did = 'learned' ORDER BY number"
    with HandlerBench(tmp_path, PLUGIN, clock=clock) as bench:
        bench.type("one", "two")
        before = clock.now()
        bench.settle()
        assert bench.rows(made) == [] and clock.now() == before + 2
        assert bench.sync() == []
        bench.answer("done")
        bench.run_job("tidy")
        at = before + 2
        assert bench.rows(made) == [(at, "one"), (at, "two"), (at, "job tidy")]
        for kill in (False, True):
            bench.restart(kill=kill)
            assert bench.status["made"] == 3 and bench.status_lines == ["3 made"]
        assert bench.context() == "In project" and bench.context(4, bench.home) == "In h"
        with pytest.raises(ValueError, match="no job"):
            bench.run_job("nothing")


def test_parked_work_and_what_is_wrong_are_seen(tmp_path: Path) -> None:
    """The reasons of parked work; a plugin that cannot run; a wrong setting."""
    with HandlerBench(tmp_path, PLUGIN) as bench:
        bench.type("fail", cwd=bench.make_project("other"))
        bench.settle()
        assert bench.sync() == ["it cannot be done"] and bench.degraded == []
    with pytest.raises(RuntimeError, match="no `run`"):
        HandlerBench(tmp_path / "b", PluginSpec("broken", jobs=PLUGIN.jobs))
    with pytest.raises(ConfigError):
        HandlerBench(tmp_path / "c", PLUGIN, settings={"TACITD_SESSION__IDLE": "soon"})


# --- The clocks of the tests and their dates.


def test_the_option_sets_each_clock(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """`pytest --days-ahead N`: the process's clock is N days ahead of the kernel's, FakeClock N days behind it."""
    ahead = float(pytestconfig.getoption("--days-ahead") or 0) * DAY
    kernel = _kernel_time(tmp_path)
    assert time.time() - kernel == pytest.approx(ahead, abs=120)
    assert SystemClock().now() - kernel == pytest.approx(ahead, abs=120)
    assert FakeClock().now() - kernel == pytest.approx(-ahead, abs=1.5 * DAY)


def test_a_fake_clock_moves_only_when_it_is_moved() -> None:
    """`advance` moves both clocks, `jump` the wall clock only."""
    clock = FakeClock()
    start = clock.now(), clock.monotonic()
    clock.advance(5)
    assert (clock.now() - start[0], clock.monotonic() - start[1]) == (5, 5)
    clock.jump(-60)
    assert (clock.now() - start[0], clock.monotonic() - start[1]) == (-55, 5)
    assert FakeClock(wall=1e9).now() == 1e9 and FakeClock().now() == start[0]


def _kernel_time(directory: Path) -> float:
    """The current time, as the kernel writes it into the time of a file: no library can move that."""
    path = directory / "now"
    path.touch()
    return os.stat(path).st_mtime
