"""How soon an append is known, and what waiting costs: real files, the real watcher, the real clock.

    python benchmarks/latency.py [--files 2000] [--appends 500] [--idle 60] [--only misused]

Prints what is asked beside what is reached, and ends with 1 if something is missed: the milliseconds from the end of an append
of a typed prompt to the handler that is given it, through the whole engine; the same to the poll that reports the growth; that
with every hint lost; and the CPU of the whole engine in the minute after the appends, in which it compares all these files every 2 s,
in percent of one core (RELIABILITY row 10).
The first of these is measured a second time while another process opens connections to the socket, thousands of them, and sends what
is no request (row 17); `--only misused` measures nothing else.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from loguru import logger

from daemon_figures import AskedRow, print_rows
from tacitd.app import App
from tacitd.clock import SystemClock, utc_millis
from tacitd.contract import Batch, Tx
from tacitd.control.server import Server
from tacitd.methods import build_methods
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins
from tacitd.sources.follow import Follower
from tacitd.sources.registry import make_source
from tacitd.sources.watch import SilentWatcher, WatchdogWatcher
from tacitd.state.paths import Paths

MISUSE = """
import socket, sys
held, count = [], 0
parts = (b"garbage\\n", b'{"method": "nothing"}\\n', b'{"id": 1, "method": "' + b"x" * (1 << 20), b"")
while True:
    one = socket.socket(socket.AF_UNIX)
    one.setblocking(False)
    try:
        one.connect(sys.argv[1])
        one.send(parts[count % len(parts)])
    except OSError:  # the backlog is full, or it was refused
        pass
    held.append(one)
    if len(held) > 300:
        held.pop(0).close()
    count += 1
    if count % 1000 == 0:
        print(count, flush=True)
"""
"""Opens connections without end; 300 of them are open at a time. Prints each thousand."""
LINE = b'{"type":"user","message":{"role":"user","content":"use pnpm here"}}\n'


class Waiting:
    """A follower in a loop as the engine runs it: woken by a hint, or when the next poll is due."""

    def __init__(self, root: Path, *, hints: bool) -> None:
        self.woken = threading.Event()
        watcher = WatchdogWatcher if hints else SilentWatcher
        self.follower = Follower(make_source(root), SystemClock(), watcher, self.woken.set)
        self.follower.start()
        self.follower.poll()

    def until(self, path: Path | None, end: float) -> float | None:
        """Poll until this path is reported, or until `end` (`perf_counter`); return when it was."""
        while time.perf_counter() < end:
            self.woken.wait(max(0.0, min(self.follower.next_in(), end - time.perf_counter())))
            self.woken.clear()
            changes = self.follower.poll()
            if path is not None and path in changes.changed:
                return time.perf_counter()
        return None


def make_files(root: Path, count: int) -> list[Path]:
    """Transcripts, ten in each project folder."""
    paths = [root / "projects" / f"-p{i // 10}" / f"{i}.jsonl" for i in range(count)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(LINE)
    return paths


def latencies(waiting: Waiting, paths: list[Path], count: int, pause: float) -> list[float]:
    """Milliseconds from each append to its report; 10,000 for one that was not reported within 10 s."""
    found: list[float] = []
    for _ in range(count):
        path = random.choice(paths)
        with path.open("ab", buffering=0) as out:
            out.write(LINE)
        begin = time.perf_counter()
        seen = waiting.until(path, begin + 10.0)
        found.append(10_000.0 if seen is None else (seen - begin) * 1000)
        waiting.until(None, time.perf_counter() + random.uniform(0, pause))
    return sorted(found)


class Arrivals:
    """A plugin that notes when each prompt reaches it. The newest one is the plugin's."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.came = threading.Event()
        Arrivals.newest = self

    newest: ClassVar[Arrivals]

    def observe(self, batch: Batch) -> None:
        """Note the time."""
        now = time.perf_counter()
        self.at.update((prompt.uuid, now) for record in batch.records for prompt in record.prompts)
        self.came.set()


def observe(batch: Batch, tx: Tx, settings: Mapping[str, Any]) -> None:
    """The plugin's hook."""
    Arrivals.newest.observe(batch)


def through_the_engine(folder: Path, paths: list[Path], count: int, idle: float) -> tuple[list[float], float]:
    """Milliseconds from each append of a prompt to the handler, and the percent of a core that idling takes."""
    handler = Arrivals()
    places = Paths(folder, folder, folder / "state", folder / "none.toml", folder / "s")
    app = App(places, {}, found=FoundPlugins((PluginSpec("arrivals", observe=f"{__name__}:observe"),)))
    with app:
        loop = threading.Thread(target=app.run)
        loop.start()
        found = [_arrival(handler, random.choice(paths), n) for n in range(count)]
        before, begin = time.process_time(), time.perf_counter()
        time.sleep(idle)
        busy = 100 * (time.process_time() - before) / (time.perf_counter() - begin)
        app.request_stop()
        loop.join()
    return sorted(found), busy


def while_misused(folder: Path, paths: list[Path], count: int) -> list[float]:
    """Milliseconds from each append of a prompt to the handler, from the first thousand misused connections on."""
    handler = Arrivals()
    places = Paths(folder, folder, folder / "state-misused", folder / "none.toml", folder / "misused")
    app = App(places, {}, found=FoundPlugins((PluginSpec("arrivals", observe=f"{__name__}:observe"),)))
    with app:
        app.listen(Server(places.socket, build_methods(app)))
        loop = threading.Thread(target=app.run)
        loop.start()
        command = [sys.executable, "-c", MISUSE, str(places.socket)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as misuse:
            if misuse.stdout is None or not misuse.stdout.readline().startswith("1000"):
                raise RuntimeError("the other process opened no connections")
            found = [_arrival(handler, random.choice(paths), count + n) for n in range(count)]
            misuse.kill()
        app.request_stop()
        loop.join()
    return sorted(found)


def _arrival(handler: Arrivals, path: Path, number: int) -> float:
    time.sleep(random.uniform(0, 0.01))
    uuid = f"u{number}"
    # A directory of its own for each: very many new sessions in one would stop at the growth breaker.
    common = {
        "sessionId": path.stem,
        "cwd": f"/nowhere/{path.stem}",
        "uuid": uuid,
        "timestamp": utc_millis(time.time()),
    }
    record = {"type": "user", "message": {"role": "user", "content": f"use pnpm {number}"}, **common}
    raw = json.dumps(record).encode() + b"\n"
    with path.open("ab", buffering=0) as out:
        out.write(raw)
    begin = time.perf_counter()
    while uuid not in handler.at and time.perf_counter() < begin + 10:
        handler.came.wait(0.01)
        handler.came.clear()
    return (handler.at.get(uuid, begin + 10) - begin) * 1000


def find_quantile(times: list[float], percent: int) -> float:
    """Given sorted times, return the one that so many percent of them do not exceed."""
    return times[min(len(times) - 1, len(times) * percent // 100)]


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 where the bar is kept, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--appends", type=int, default=500)
    parser.add_argument("--idle", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--only", choices=("misused",))
    options = parser.parse_args(argv)
    logger.remove()
    with tempfile.TemporaryDirectory() as folder:
        paths = make_files(Path(folder), options.files)
        misused = while_misused(Path(folder), paths, options.appends)
        rows = [AskedRow("append to handler, a misused socket, p99, ms", 50, find_quantile(misused, 99))]
        if options.only:
            return 0 if print_rows(rows) else 1
        arrived, busy = through_the_engine(Path(folder), paths, options.appends, options.idle)
        waiting = Waiting(Path(folder), hints=True)
        hinted = latencies(waiting, paths, options.appends, 0.01)
        waiting.follower.stop()
        silent = Waiting(Path(folder), hints=False)
        unhinted = latencies(silent, paths, 10, 0.5)
        silent.follower.stop()
    print(f"{options.files} files watched, all of which changed within the hour")
    rows += [
        AskedRow("append to handler, p50, ms", 5, find_quantile(arrived, 50)),
        AskedRow("append to handler, p99, ms", 50, find_quantile(arrived, 99)),
        AskedRow("append to report, p50, ms", 5, find_quantile(hinted, 50)),
        AskedRow("append to report, p99, ms", 50, find_quantile(hinted, 99)),
        AskedRow("the same, all hints lost, worst, ms", 2000, unhinted[-1]),
        AskedRow("all of them compared every 2 s, % of a core", 0.5, busy),
    ]
    return 0 if print_rows(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
