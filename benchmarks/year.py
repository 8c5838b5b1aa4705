"""What a year of use costs: the same measurements on a fresh machine and on one with a year of state.

    python benchmarks/year.py [--days 365] [--more 10]

The state is made by the stores themselves (`simulated_year.py`); the daemon is the real one, with the stand-in for Claude
Code. Prints, for a fresh machine, for the first start after the year and for a later one: seconds, CPU seconds and memory
of a start, the share of a core while idle, the time from a prompt to LEARNED.md, and of `status`. After the year the daemon handles the
sessions of some more days without an end: how its memory and its open files grow. Then the size of each file. For a year it
takes half an hour, and 1 GB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from loguru import logger  # noqa: E402

from daemon_figures import MINUTE, AskedRow, measure_idle, print_rows, read_cpu, read_memory  # noqa: E402
from simulated_year import SimulatedUse  # noqa: E402
from support_daemon import Daemon  # noqa: E402

START_LIMIT = 600.0
"""Seconds after which a start counts as hanging."""
SESSIONS, PROMPTS = 50, 5
"""How many sessions a day has, and each of them prompts."""
FACTS = 5
"""How many facts are timed; the median counts."""
COMMANDS = 25
"""How often `status` is timed: it takes some 20 ms, as much as other work on the machine may add to one of them."""


@dataclass(frozen=True, slots=True)
class YearFigures:
    """What was measured with one state."""

    start: float
    """Seconds until the daemon answers."""
    start_cpu: float
    """CPU seconds until then."""
    rss: float
    """MB, when it is idle."""
    peak: float
    """MB."""
    settling: float
    """CPU seconds in the ten seconds after that."""
    idle: float
    """Percent of one core."""
    fact: float
    """Seconds from the append of a prompt to its line in LEARNED.md."""
    status: float
    """Milliseconds of `tacitd status` as a process."""


def measure_daemon(daemon: Daemon, idle_seconds: float) -> YearFigures:
    """Start the daemon, measure it, and stop it."""
    begin = time.perf_counter()
    daemon.start(START_LIMIT)
    start = time.perf_counter() - begin
    assert daemon.process is not None
    pid = daemon.process.pid
    start_cpu = read_cpu(pid)
    daemon.sync()
    settling, idle = measure_idle(pid, idle_seconds)
    rss, peak = read_memory(pid)
    facts = sorted(_time_fact(daemon) for _ in range(FACTS))
    shown = sorted(_time_status(daemon) for _ in range(COMMANDS))
    daemon.stop()
    return YearFigures(start, start_cpu, rss, peak, settling, idle, facts[FACTS // 2], shown[COMMANDS // 2])


def measure_growth(daemon: Daemon, days: int) -> list[AskedRow]:
    """Start the daemon, let it handle the sessions of one day and then of `days` more, and stop it. Returns by how much its memory
    grew for each of them, and how many descriptors are open more. Both are read when nothing was written for two minutes: an old
    file is kept open for one, and closed by the next look, once a minute."""
    daemon.environ["TACITD_SESSION__IDLE"] = "1s"
    daemon.start(START_LIMIT)
    assert daemon.process is not None
    pid, found = daemon.process.pid, list[tuple[float, int]]()
    for day in range(1 + days):
        _use_for_a_day(daemon, day)
        if day in (0, days):
            measure_idle(pid, 2 * MINUTE)
            found.append((read_memory(pid)[0], len(list(Path(f"/proc/{pid}/fd").iterdir()))))
    daemon.stop()
    (first, before), (last, after) = found
    return [
        AskedRow("memory, MB a day", 1, (last - first) / days),
        AskedRow("open descriptors more", 0, after - before),
    ]


def _use_for_a_day(daemon: Daemon, day: int) -> None:
    project = daemon.home / "work" / f"day-{day}"
    project.mkdir(parents=True)
    for number in range(SESSIONS):
        for prompt in range(PROMPTS):
            # One fact of each session, as in the simulated year.
            words = "thanks, that looks good" if prompt else f"Prefers {day} {number} for the build"
            daemon.type_(f"more-{day}-{number}", words, project)
    daemon.sync(START_LIMIT)
    daemon.cli("resume")  # so many new sessions within an hour wait for a person
    parked = daemon.synthesize(project, START_LIMIT)
    if parked or not (project / "LEARNED.md").exists():
        raise RuntimeError(f"the sessions of a day were not handled: {parked[:1]}")


def _time_fact(daemon: Daemon) -> float:
    # Few digits: one in ten numbers of 14 digits may be a payment card's, and is redacted.
    words = f"Prefers the colour {time.monotonic_ns() // 1000 % 100_000}"
    begin = time.perf_counter()
    daemon.type_(f"fact-{time.monotonic_ns()}", words)
    daemon.sync()
    daemon.call("due", job="synthesize", project=str(daemon.project))
    while words not in daemon.learned:
        if time.perf_counter() - begin > START_LIMIT:
            raise RuntimeError(f"no line was written: {daemon.said()}")
        time.sleep(0.002)
    seconds = time.perf_counter() - begin
    daemon.sync()  # what it does after that belongs to no measurement
    return seconds


def _time_status(daemon: Daemon) -> float:
    begin = time.perf_counter()
    done = daemon.cli("status")
    assert done.stdout, done.stderr
    return 1000 * (time.perf_counter() - begin)


def list_sizes(state: Path) -> list[tuple[str, float]]:
    """Each file of the state directory over 10 KB with its size in MB, the largest first."""
    sizes = {
        path.relative_to(state).as_posix(): path.stat().st_size for path in state.rglob("*") if path.is_file()
    }
    found = sorted(sizes.items(), key=lambda one: -one[1])
    return [(name, size / 1e6) for name, size in found if size > 10_000]


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 if all limits are kept, otherwise 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--idle", type=float, default=MINUTE, metavar="SECONDS")
    parser.add_argument("--more", type=int, default=10, metavar="DAYS", help="0: without this part")
    parser.add_argument("--keep", type=Path, help="an empty directory for the state, which is kept")
    options = parser.parse_args(argv)
    logger.remove()
    with tempfile.TemporaryDirectory() as folder:
        place = options.keep or Path(folder)
        (place / "fresh").mkdir(parents=True)
        fresh = measure_daemon(_make_daemon(place / "fresh"), options.idle)
        (place / "used").mkdir()
        daemon = _make_daemon(place / "used")
        begin = time.perf_counter()
        SimulatedUse(daemon.home, daemon.state, options.days).write()
        made = time.perf_counter() - begin
        sizes = list_sizes(daemon.state)
        first = measure_daemon(daemon, options.idle)
        later = measure_daemon(daemon, options.idle)
        grown = measure_growth(daemon, options.more) if options.more else []
        after = dict(list_sizes(daemon.state))
    print(f"{options.days} days of 50 sessions with five prompts, 15 projects; made in {made:.0f} s")
    rows = [
        ("start, s", fresh.start, first.start, later.start, 1.0),
        ("start, CPU s", fresh.start_cpu, first.start_cpu, later.start_cpu, 2.0),
        ("idle, MB", fresh.rss, first.rss, later.rss, 60.0),
        ("at most, MB", fresh.peak, first.peak, later.peak, None),
        ("the 10 s after, CPU s", fresh.settling, first.settling, later.settling, None),
        ("idle, % of a core", fresh.idle, first.idle, later.idle, 0.3),
        ("one fact, s", fresh.fact, first.fact, later.fact, 1.5 * fresh.fact),
        ("status, ms", fresh.status, first.status, later.status, 1.5 * fresh.status),
    ]
    kept = True
    print(f"{'':<22}  {'fresh':>8}  {'first':>8}  {'later':>8}  {'asked':>8}")
    for name, *values, asked in rows:
        figures = "  ".join(f"{value:8.2f}" for value in values)
        is_kept = asked is None or all(each <= asked for each in values[1:])  # also of the first start
        print(
            f"{name:<22}  {figures}  "
            + ("" if asked is None else f"{asked:8.2f}")
            + ("" if is_kept else "  missed")
        )
        kept = kept and is_kept
    (_, store), *_ = sizes
    kept = print_rows([AskedRow("the store, MB", 80, store), *grown]) and kept
    print(f"\n{'MB':<36}  {'before':>8}  {'after':>8}")
    for name, size in sizes:
        print(f"{name:<36}  {size:8.2f}  {after.get(name, 0.0):8.2f}")
    return 0 if kept else 1


def _make_daemon(place: Path) -> Daemon:
    return Daemon(place, EXTRACTION__SETTLE="0s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
