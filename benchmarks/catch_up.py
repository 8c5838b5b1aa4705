"""What catching up costs: the daemon is stopped, transcripts grow, and it is continued. All handlers, real files.

    python benchmarks/catch_up.py [--appends 60000] [--files 600] [--projects 200] [--typed-every 100]

One append in `--typed-every` is a prompt. Prints the CPU seconds of the daemon until everything is handled beside those of
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
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from daemon_figures import AskedRow, print_rows, read_cpu, read_memory  # noqa: E402
from reader import Corpus  # noqa: E402
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
LONGEST = 2000
"""Bytes of the longest line that is appended."""


def make_appends(
    projects: Sequence[Path], count: int, files: int, typed_every: int
) -> list[tuple[str, bytes]]:
    """What is appended to which session, in order. Session n works in the n-th project, over and over. One in `typed_every` is a prompt."""
    corpus = Corpus(old_client=True)
    corpus.cwd, corpus.typed_every = "/the/project", count
    short = (raw for raw in corpus.lines(1 << 40) if len(raw) <= LONGEST)
    lines = list(islice(short, 5000))
    made = []
    for number in range(count):
        # A typed line goes to another session each time.
        which = (number if number % typed_every != typed_every - 1 else number // typed_every) % files
        session, project = f"s{which}", str(projects[which % len(projects)])
        if number % typed_every == typed_every - 1:
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


def measure_reading(
    place: Path, count: int, files: int, projects: int, typed_every: int
) -> Iterator[AskedRow]:
    """Read the same into the store in this process, with a plugin that observes nothing, and with all that are installed."""
    bench = WorkBench(place / "alone", threads=True)
    (place / "all").mkdir()
    environ = {"HOME": str(place / "all"), "TACITD_STATE_DIR": str(place / "all" / "state")}
    folding = App(
        Paths.from_env(environ), environ, model=lambda *_: ScriptedModel(), watcher_for=SilentWatcher
    )
    folding.open()
    for app, what in ((bench.app, "reading alone"), (folding, "reading and folding")):
        app.engine.runner.hold()
        roots = [bench.project(f"app{number}") for number in range(projects)]
        appends = make_appends(roots, count, files, typed_every)
        grown = dict[str, list[bytes]]()
        for session, raw in appends:
            grown.setdefault(session, []).append(raw)
        folder = app.paths.config_dir / "projects" / "-app"
        folder.mkdir(parents=True)
        for session, lines in grown.items():
            (folder / f"{session}.jsonl").write_bytes(b"".join(lines))
        bare, begin = min(time_json(appends) for _ in range(3)), time.process_time()
        app.engine.read_all()
        while app.engine.reader.has_unread:
            app.engine.reader.read_pass()
        busy = time.process_time() - begin
        yield AskedRow(f"CPU of {what}, of json.loads on each line", READING, busy / bare)
    bench.kill()
    folding.close()


def measure(
    place: Path, count: int, files: int, projects: int, typed_every: int
) -> tuple[list[AskedRow], str]:
    """Stop, append, continue."""
    daemon = Daemon(place)
    roots = [daemon.new_project(f"app{number}") for number in range(projects)]
    paths = {f"s{number}": daemon.begin(f"s{number}", roots[number % projects]) for number in range(files)}
    daemon.start(LIMIT)
    assert daemon.process is not None
    pid = daemon.process.pid
    daemon.sync()
    appends = make_appends(roots, count, files, typed_every)
    before = read_cpu(pid)
    daemon.process.send_signal(signal.SIGSTOP)
    for session, raw in appends:
        with paths[session].open("ab", buffering=0) as out:
            out.write(raw)
    begin = time.perf_counter()
    daemon.process.send_signal(signal.SIGCONT)
    assert daemon.call("sync", timeout=LIMIT)["done"]
    wall, busy = time.perf_counter() - begin, read_cpu(pid) - before
    _, peak = read_memory(pid)
    typed = {f"Prefers {number}" for number in range(count) if number % typed_every == typed_every - 1}
    lost = len(typed - set(daemon.put_to_model()))
    daemon.stop()
    bare = min(time_json(appends) for _ in range(3))
    size = sum(len(raw) for _, raw in appends) / 1e6
    said = (
        f"{count} appends over {files} files, {size:.0f} MB, {len(typed)} of them prompts: {wall:.1f} s, {busy:.1f} s of CPU, at most "
        f"{peak:.0f} MB; json.loads on each line {bare:.2f} s"
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
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        sizes = options.appends, options.files, options.projects, options.typed_every
        rows, said = measure(Path(folder) / "daemon", *sizes)
        rows += measure_reading(Path(folder), *sizes)
    print(said)
    return 0 if print_rows(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
