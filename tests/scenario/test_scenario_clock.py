"""A real daemon whose wall clock is set from 2006 to now, back, and forward again."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from support_daemon import Daemon, MakeDaemon
from support_moved_clock import MOVED
from tacitd.store import open_readonly

pytestmark = pytest.mark.scenario

JOBS = (
    "continuity.sessions",
    "profile.changelog",
    "profile.fade",
)
"""The jobs whose runs are in their handler's log: those with an interval of an hour or more."""
YEAR_2006 = 1_136_073_600.0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells CPU and memory")
def test_a_clock_set_20_years_ahead_costs_one_run_of_each_job(make: MakeDaemon) -> None:
    """RELIABILITY row 12, on a real daemon with all jobs of the shipped handlers. A list of the runs that the job of a
    minute missed since 2006 would take 392 MB."""
    daemon = make()
    fifo = daemon.root / "clock"
    os.mkfifo(fifo)
    daemon.before = [sys.executable, "-c", MOVED, str(fifo), str(YEAR_2006)]
    daemon.start()
    _wait_for_runs(daemon, dict.fromkeys(JOBS, 1))
    memory, cpu = _memory(daemon), _cpu(daemon)

    _set_clock(fifo, time.time())
    _wait_for_runs(daemon, dict.fromkeys(JOBS, 2))
    _set_clock(fifo, YEAR_2006)
    _turn(daemon)
    _set_clock(fifo, time.time())
    _turn(daemon)

    assert _runs(daemon) == dict.fromkeys(JOBS, 2), (
        "one run for the jump, and none for the jumps over the same time"
    )
    assert _memory(daemon) - memory < 10 << 20
    assert _cpu(daemon) - cpu < 2.0
    daemon.stop()


def _set_clock(fifo: Path, to: float) -> None:
    fifo.write_text(f"{to}\n")


def _turn(daemon: Daemon) -> None:
    """Return when the engine has read the clock and handled the due jobs."""
    for _ in range(2):
        daemon.sync()


def _wait_for_runs(daemon: Daemon, wanted: dict[str, int]) -> None:
    daemon.wait_until(lambda _: daemon.sync() == [] and _runs(daemon) >= Counter(wanted), f"{wanted}")


def _runs(daemon: Daemon) -> Counter[str]:
    """The number of runs of each job."""
    store = open_readonly(daemon.state)
    if store is None:
        return Counter()
    with store:
        rows = store.rows("SELECT plugin || '.' || name, runs FROM job WHERE plugin <> 'engine'")
    return Counter({name: runs for name, runs in rows if name in JOBS})


def _memory(daemon: Daemon) -> int:
    """The largest resident set so far, in bytes."""
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def _cpu(daemon: Daemon) -> float:
    """Seconds of CPU so far."""
    assert daemon.process is not None
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
