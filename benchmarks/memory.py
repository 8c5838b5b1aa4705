"""How much memory the daemon takes, with many transcripts, a large one, and large requests: the real daemon, all handlers.

    python benchmarks/memory.py [--size 1GB] [--idle 20]

Prints what is asked beside what is reached, and ends with 1 if something is missed. For a transcript of 1 GB it takes about two
minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from corpus import Corpus, parse_size  # noqa: E402
from daemon_figures import MINUTE, AskedRow, measure_idle, print_rows, read_cpu, read_memory  # noqa: E402
from support_daemon import Daemon, line, prompt_record  # noqa: E402
from tacitd.control.protocol import MAX_LINE  # noqa: E402

START_LIMIT = 300.0
FOLDERS = 5000
GROWN_EVERY = 10
"""One of so many transcripts grew while the daemon was stopped."""
ASKED_WITH = {10_000: (0.5, 1, 0.5, 1, 0.2, 55, 0.3, 2), 20_000: (1, 2, 1, 2, 0.4, 60, 0.3, 2)}
"""What is asked with so many transcripts, in the order of `measure_files`."""
KEPT = 20.0
"""MB that a daemon which has handled a large transcript may keep more than a fresh one."""
GROWTH = 12.0
"""MB that reading 450 MB of answers may take more than reading a prompt."""
TYPED_EVERY = 5000
"""One of so many prompts stays in the large transcript, because each costs a call of the stand-in."""


_LINE = json.dumps({"type": "summary", "summary": "s", "leafUuid": "u"}).encode() + b"\n"


def write_small_files(daemon: Daemon, files: int, folders: int) -> None:
    """Transcripts with a line each, in so many folders."""
    for number in range(files):
        folder = daemon.projects / f"-p{number % folders}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{number}.jsonl"
        path.write_bytes(_LINE)
        # A person's transcripts are of many months. Those of the last hour are compared more often.
        at = time.time() - 7200 - number * 3600
        os.utime(path, (at, at))


def measure_files(daemon: Daemon, idle_seconds: float) -> list[tuple[str, float]]:
    """With the transcripts of this daemon: seconds and CPU seconds of the first start and of a later
    one, memory in MB, percent of a core, and seconds from when it answers until what was appended before is handled."""
    first, first_cpu = _time_start(daemon)
    daemon.stop()
    later, later_cpu = _time_start(daemon)
    pid = _pid(daemon)
    daemon.sync()
    settling, idle = measure_idle(pid, idle_seconds)
    memory, _ = read_memory(pid)
    daemon.stop()
    for path in sorted(daemon.projects.glob("*/*.jsonl"))[::GROWN_EVERY]:
        with path.open("ab") as out:
            out.write(_LINE)
    _time_start(daemon)
    ready = time.perf_counter()
    daemon.sync()
    caught_up = time.perf_counter() - ready
    daemon.stop()
    return [
        ("first start, s", first),
        ("first start, CPU s", first_cpu),
        ("later start, s", later),
        ("later start, CPU s", later_cpu),
        ("later start, CPU s of the 10 s after it", settling),
        ("MB", memory),
        ("idle, % of a core", idle),
        (f"one of {GROWN_EVERY} grew: caught up after the start, s", caught_up),
    ]


def _time_start(daemon: Daemon) -> tuple[float, float]:
    # Some systems drop unused files from the kernel's cache within minutes, and to read them again is the drive's time.
    for path in daemon.projects.glob("*/*.jsonl"):
        path.read_bytes()
    begin = time.perf_counter()
    daemon.start(START_LIMIT)
    return time.perf_counter() - begin, read_cpu(_pid(daemon))


def _pid(daemon: Daemon) -> int:
    assert daemon.process is not None
    return daemon.process.pid


def write_large_file(daemon: Daemon, path: Path, size: int) -> None:
    """A transcript of about `size` bytes in which little is typed."""
    corpus = Corpus(old_client=True)
    corpus.cwd = str(daemon.project)
    corpus.typed_every = TYPED_EVERY
    corpus.write(path, size)


def measure_large(place: Path, size: int) -> list[tuple[str, float]]:
    """A transcript of this size appears: the highest memory and that after it was handled in MB, and CPU seconds."""
    daemon = Daemon(place)
    daemon.start()
    pid = _pid(daemon)
    fresh, _ = read_memory(pid)
    before = read_cpu(pid)
    made = daemon.root / "large.jsonl"
    write_large_file(daemon, made, size)
    folder = daemon.projects / "-large"
    folder.mkdir()
    made.rename(folder / made.name)
    assert daemon.call("sync", timeout=START_LIMIT)["done"]
    memory, peak = read_memory(pid)
    spent = read_cpu(pid) - before
    daemon.stop()
    return [("fresh, MB", fresh), ("at most, MB", peak), ("afterwards, MB", memory), ("CPU s", spent)]


def measure_growth(place: Path, size: int) -> float:
    """A transcript whose session is live grows by so many bytes of answers: by how many MB the memory grew, at most."""
    daemon = Daemon(place)
    path = daemon.begin("s1")
    daemon.start()
    daemon.type_("s1", "Prefers pnpm")
    daemon.sync()
    _, before = read_memory(_pid(daemon))
    message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "word " * 4000}]}
    answer = line(prompt_record("s1", "", str(daemon.project), type="assistant", message=message))
    with path.open("ab") as out:
        for _ in range(0, size, len(answer) * 50):
            out.write(answer * 50)
    assert daemon.call("sync", timeout=START_LIMIT)["done"]
    _, peak = read_memory(_pid(daemon))
    daemon.stop()
    return peak - before


def measure_requests(place: Path) -> list[AskedRow]:
    """By how many MB what is wrong on the socket makes the memory grow, at most: RELIABILITY row 17."""
    daemon = Daemon(place)
    daemon.start()
    daemon.sync()
    pid = _pid(daemon)
    before, _ = read_memory(pid)
    call = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s}}\n'
    most = MAX_LINE - len(call)
    kinds = {
        "a request of 100 MB": [b"x" * 100_000_000],
        "20 of the longest requests at once": [call % (b'"%s"' % (b"y" * most))] * 20,
        "a request with as many lists as it can have": [call % (b"[%s0]" % (b"[]," * (most // 3)))],
        "1,000 connections with unfinished requests": [b"x" * 100_000] * 1000,
    }
    rows = list[AskedRow]()
    for name, sent in kinds.items():
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the highest memory so far is forgotten
        with ExitStack() as held, ThreadPoolExecutor(20) as pool:
            list(pool.map(partial(_send, held, daemon.socket), sent))
        rows.append(AskedRow(f"{name}: at most, MB", 10, read_memory(pid)[1] - before))
    daemon.stop()
    return rows


def _send(held: ExitStack, path: Path, data: bytes) -> None:
    """Send a request, and get its answer if it is a whole one. The connection stays open."""
    caller = held.enter_context(socket.socket(socket.AF_UNIX))
    with suppress(OSError):
        caller.settimeout(20.0)
        caller.connect(str(path))
        caller.sendall(data)
        if data.endswith(b"\n"):
            caller.recv(1 << 16)


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 if everything asked is reached, otherwise 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="1GB", help="of the large transcript")
    parser.add_argument("--idle", type=float, default=MINUTE, metavar="SECONDS")
    parser.add_argument("--only", choices=("files", "large", "growth", "requests"))
    options = parser.parse_args(argv)
    rows: list[AskedRow] = []
    with tempfile.TemporaryDirectory() as folder:
        places = iter(Path(folder) / str(number) for number in range(9))

        def place() -> Path:
            made = next(places)
            made.mkdir()
            return made

        if options.only in (None, "files"):
            daemons = {files: Daemon(place()) for files in ASKED_WITH}
            for files, daemon in daemons.items():
                write_small_files(daemon, files, FOLDERS)
            for files, asked in ASKED_WITH.items():
                found = measure_files(daemons[files], options.idle)
                rows += [
                    AskedRow(f"{files} files: {name}", most, reached)
                    for (name, reached), most in zip(found, asked, strict=True)
                ]
        if options.only in (None, "large"):
            found = measure_large(place(), parse_size(options.size))
            print(
                f"a transcript of {options.size}: "
                + ", ".join(f"{name} {reached:.1f}" for name, reached in found)
            )
            (_, before), (_, most), (_, after), _ = found
            rows.append(AskedRow(f"a transcript of {options.size}: at most, MB", 100, most))
            rows.append(
                AskedRow(f"a transcript of {options.size}: kept afterwards, MB", KEPT, after - before)
            )
        if options.only in (None, "growth"):
            rows.append(
                AskedRow("450 MB of answers: added at most, MB", GROWTH, measure_growth(place(), 450 * 10**6))
            )
        if options.only in (None, "requests"):
            rows += measure_requests(place())
    return 0 if print_rows(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
