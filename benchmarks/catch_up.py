"""What catching up costs: the daemon is stopped, transcripts grow, and it is continued. All handlers, real files.

    python benchmarks/catch_up.py [--appends 60000] [--files 600] [--projects 200] [--typed-every 100] [--old-client]

The lines are those of reader.py's corpus, with the lengths of real sessions. One append in `--typed-every` is a prompt. Prints the CPU seconds of the daemon's own process until everything is handled beside those of
`json.loads` on each of the same lines, in the same run, how many prompts were lost, and the same ratio for reading alone,
with a plugin that observes nothing, and for reading with the folds of all plugins. Ends with 1 if something is missed.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from corpus import Corpus  # noqa: E402
from daemon_figures import AskedRow, print_rows, read_children_cpu, read_cpu, read_memory  # noqa: E402
from support_beginnings import opening  # noqa: E402
from support_daemon import Daemon, line, prompt_record  # noqa: E402
from support_work import WorkBench  # noqa: E402
from tacitd.app import App  # noqa: E402
from tacitd.sources.watch import SilentWatcher  # noqa: E402
from tacitd.state.paths import Paths  # noqa: E402
from tacitd.testing import ScriptedModel  # noqa: E402

LIMIT = 600.0
"""Seconds for everything to be handled."""
RATIO = 6.0
READING = 2.0
"""RELIABILITY row 5: 60,000 appends over 600 files of 200 projects with 600 prompts."""
ALONE = 1.0
"""The same without any fold of a plugin."""


@dataclass(frozen=True, slots=True)
class Flood:
    """What is appended."""

    appends: int
    files: int
    projects: int
    typed_every: int
    old_client: bool


def make_appends(projects: Sequence[Path], flood: Flood) -> list[tuple[str, bytes]]:
    """What is appended to which session, in order. Session n works in the n-th project, over and over."""
    corpus, every = Corpus(flood.old_client), flood.typed_every
    corpus.cwd, corpus.typed_every = "/the/project", flood.appends
    lines = list(islice(corpus.lines(1 << 40), 5000))
    made = []
    for number in range(flood.appends):
        # A typed line goes to another session each time.
        which = (number if number % every != every - 1 else number // every) % flood.files
        session, project = f"s{which}", str(projects[which % len(projects)])
        if number % every == every - 1:
            raw = line(prompt_record(session, f"Prefers {number}", project))
        else:
            raw = lines[number % len(lines)].replace(
                b"1254ce28-513c-40d7-b565-c3ab13440906", session.encode()
            )
            raw = raw.replace(b'"/the/project"', json.dumps(project).encode())
        made.append((session, raw))
    return made


def time_json(appends: list[tuple[str, bytes]]) -> float:
    """CPU seconds of decoding each line."""
    begin = time.process_time()
    for _, raw in appends:
        json.loads(raw)
    return time.process_time() - begin


def measure_reading(place: Path, flood: Flood) -> Iterator[AskedRow]:
    """Read the same into the store in this process, with a plugin that observes nothing, and with all that are installed: the best of
    three, as of `json.loads`."""
    for asked, what in ((ALONE, "reading alone"), (READING, "reading and folding")):
        ratios = list[float]()
        for number in range(3):
            box = place / f"{what} {number}"
            bench = WorkBench(box, threads=True)
            environ = {"HOME": str(box / "all"), "TACITD_STATE_DIR": str(box / "all" / "state")}
            app = bench.app
            if asked == READING:
                (box / "all").mkdir()
                paths = Paths.from_env(environ)
                app = App(paths, environ, model=lambda *_: ScriptedModel(), watcher_for=SilentWatcher)
                app.open()
            app.engine.runner.hold()
            ratios.append(_measure_once(app, bench, flood))
            if app is not bench.app:
                app.close()
            bench.kill()
        yield AskedRow(f"CPU of {what}, of json.loads on each line", asked, min(ratios))


def _measure_once(app: App, bench: WorkBench, flood: Flood) -> float:
    """CPU seconds of reading what was appended to sessions that had begun, of those of `json.loads`."""
    roots = [bench.project(f"app{number}") for number in range(flood.projects)]
    appends = make_appends(roots, flood)
    folder = app.paths.config_dir / "projects" / "-app"
    folder.mkdir(parents=True)
    paths = {session: folder / f"{session}.jsonl" for session in dict(appends)}
    for number, (session, path) in enumerate(paths.items()):
        typed = line(prompt_record(session, "Prefers its sessions begun", str(roots[number % len(roots)])))
        path.write_bytes(opening(session) + typed)
    _read_all(app)
    for session, raw in appends:
        with paths[session].open("ab") as out:
            out.write(raw)
    bare, begin = min(time_json(appends) for _ in range(3)), time.process_time()
    _read_all(app)
    return (time.process_time() - begin) / bare


def _read_all(app: App) -> None:
    app.engine.read_all()
    while app.engine.reader.has_unread:
        app.engine.reader.read_pass()


def measure(place: Path, flood: Flood) -> tuple[list[AskedRow], str]:
    """Stop, append, continue."""
    daemon = Daemon(place)
    roots = [daemon.new_project(f"app{number}") for number in range(flood.projects)]
    sessions = [(f"s{number}", roots[number % flood.projects]) for number in range(flood.files)]
    paths = {session: daemon.begin(session, root) for session, root in sessions}
    daemon.start(LIMIT)
    assert daemon.process is not None
    pid = daemon.process.pid
    daemon.sync()
    appends = make_appends(roots, flood)
    before, children = read_cpu(pid), read_children_cpu(pid)
    daemon.process.send_signal(signal.SIGSTOP)
    for session, raw in appends:
        with paths[session].open("ab", buffering=0) as out:
            out.write(raw)
    begin = time.perf_counter()
    daemon.process.send_signal(signal.SIGCONT)
    assert daemon.call("sync", timeout=LIMIT)["done"]
    wall, busy = time.perf_counter() - begin, read_cpu(pid) - before
    children = read_children_cpu(pid) - children
    _, peak = read_memory(pid)
    every = flood.typed_every
    typed = {f"Prefers {number}" for number in range(flood.appends) if number % every == every - 1}
    lost = len(typed - set(daemon.put_to_model()))
    daemon.stop()
    bare = min(time_json(appends) for _ in range(3))
    size = sum(len(raw) for _, raw in appends) / 1e6
    said = (
        f"{flood.appends} appends over {flood.files} files, {size:.0f} MB, {len(typed)} of them prompts: {wall:.1f} s, {busy:.1f} s of CPU, at most "
        f"{peak:.0f} MB; json.loads on each line {bare:.2f} s. Not counted: {children:.1f} s of the stand-in for the client and of git"
    )
    return [
        AskedRow("CPU, of json.loads on each line", RATIO, busy / bare),
        AskedRow("prompts lost", 0, lost),
    ], said


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 if everything asked is reached, otherwise 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--appends", type=int, default=60_000)
    parser.add_argument("--files", type=int, default=600)
    parser.add_argument("--projects", type=int, default=200)
    parser.add_argument("--typed-every", type=int, default=100)
    parser.add_argument("--old-client", action="store_true", help="lines as clients before 2.1.3 write them")
    flood = Flood(**vars(parser.parse_args(argv)))
    with tempfile.TemporaryDirectory() as folder:
        rows, said = measure(Path(folder) / "daemon", flood)
        rows += measure_reading(Path(folder), flood)
    print(said)
    return 0 if print_rows(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
