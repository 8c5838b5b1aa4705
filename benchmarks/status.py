"""How long `status` takes, in the engine's thread and for a caller on the socket, with many transcripts.

    python benchmarks/status.py [--files 20000] [--calls 200]

All installed plugins are loaded, no model is called, and everything is handled. The limit is 5 ms at the median
(RELIABILITY: "answered in constant time"); the row with 1 % of the files shows whether the time depends on their number.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from loguru import logger

from tacitd.app import App
from tacitd.control.client import call_daemon
from tacitd.control.server import Server
from tacitd.methods import build_methods
from tacitd.model.port import Answer, ModelRequest, NoAnswer, Why
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins, find_plugins
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths

LIMIT = 5.0
"""Milliseconds."""
SHARE = 100
"""The small row has this part of the files."""


class NoModel:
    """A model that is not installed."""

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Refuse."""
        return NoAnswer(Why.ABSENT, "there is no model in this benchmark")


def make_files(home: Path, count: int) -> None:
    """Transcripts without a prompt, twenty in each project folder."""
    line = b'{"type":"summary","summary":"s","leafUuid":"u"}\n'
    for number in range(count):
        path = home / "projects" / f"-p{number // 20}" / f"{number}.jsonl"
        if number % 20 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(line)


def measure(home: Path, calls: int, plugins: tuple[PluginSpec, ...]) -> tuple[float, float, float]:
    """Median milliseconds of the engine's thread and of a caller, and the caller's slowest call but the first."""
    places = Paths(home, home, home / "state", home / "none.toml", home / "s" / "s")
    app = App(
        places,
        {},
        found=FoundPlugins(plugins),
        model=lambda config, budget: NoModel(),
        watcher_for=SilentWatcher,
    )
    with app:
        app.listen(Server(places.socket, build_methods(app)))
        loop = threading.Thread(target=app.run)
        loop.start()
        try:
            app.engine.sync()
            while app.engine.inbox.call(lambda: app.engine.reader.has_unread):
                time.sleep(0.1)
            return _measure_running(app, places.socket, calls)
        finally:
            app.request_stop()
            loop.join()


def _measure_running(app: App, socket: Path, calls: int) -> tuple[float, float, float]:
    call_daemon(socket, "status")
    inside = _time_calls(calls, lambda: app.engine.inbox.call(lambda: app.read_status()))
    outside = _time_calls(calls, lambda: call_daemon(socket, "status"))
    return inside[calls // 2], outside[calls // 2], outside[-1]


def _time_calls(calls: int, work: Callable[[], object]) -> list[float]:
    found = []
    for _ in range(calls):
        begin = time.perf_counter()
        work()
        found.append((time.perf_counter() - begin) * 1000)
    return sorted(found)


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 if the limit is kept, otherwise 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args(argv)
    logger.remove()
    ours = find_plugins().plugins
    rows = [
        ("all handled, a hundredth", options.files // SHARE, ours),
        ("all handled", options.files, ours),
    ]
    kept = True
    print(f"{'':<26} {'files':>6}  {'engine p50':>10}  {'caller p50':>10}  {'worst':>9}   asked")
    for name, count, plugins in rows:
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder), count)
            inside, outside, worst = measure(Path(folder), options.calls, plugins)
        kept = kept and outside < LIMIT
        print(
            f"{name:<26} {count:>6}  {inside:>7.2f} ms  {outside:>7.2f} ms  {worst:>6.1f} ms   caller p50 under {LIMIT:g} ms"
        )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
