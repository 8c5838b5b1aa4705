"""More than a client writes: files that grow fast, thousands of lines or files of no use, a slow disk, an end in the middle.

The figures are those of a short run; the variables raise them to those that are asked for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support_daemon import PROGRAM, Daemon, MakeDaemon, append, line, prompt_record, until
from support_moved_clock import MOVED
from support_waiting import PATIENCE

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory"),
]
SECONDS = float(os.environ.get("TACITD_FLOOD_SECONDS", "1"))
"""How long a transcript grows by 50 MB a second. Asked: 20."""
UNKNOWN = int(os.environ.get("TACITD_UNKNOWN_LINES", "20000"))
"""Lines of an unknown type. Asked: 100,000."""
EMPTY = int(os.environ.get("TACITD_EMPTY_FILES", "300"))
"""Empty transcripts. Asked: 5,000."""
FACTS = int(os.environ.get("TACITD_WAITING_FACTS", "60"))
"""Facts that wait when the daemon is told to end. Asked: 2,000."""
LONG = PATIENCE + FACTS / 2
"""Seconds for the extraction or the synthesis of so many facts, which starts a process for each ten prompts, on a busy machine."""
SYNC = os.environ.get("TACITD_SYNC_SECONDS", "0.03")
"""Seconds that a sync of the slow disk takes. Asked: 0.5."""
MEGABYTE = 1 << 20
SPEED = 50 * MEGABYTE
SLOW = """
import os, sys, threading
seconds, *program = sys.argv[1:]
def make_slow(sync):
    def slow(fd):
        threading.Event().wait(float(seconds))
        sync(fd)
    return slow
os.fsync, os.fdatasync = make_slow(os.fsync), make_slow(os.fdatasync)
sys.argv = ["tacitd", *program[3:]]
from tacitd_handlers.entry_point import main
main()
"""


def _peak(daemon: Daemon) -> float:
    """The highest memory so far, in MB."""
    assert daemon.process is not None
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return next(int(one.split()[1]) / 1024 for one in lines if one.startswith("VmHWM"))


def _tool_result(session: str, cwd: str, size: int) -> bytes:
    block = {"tool_use_id": "t", "type": "tool_result", "content": "x" * size}
    message = {"role": "user", "content": [block]}
    return line(
        {
            "type": "user",
            "sessionId": session,
            "cwd": cwd,
            "message": message,
            "toolUseResult": {"stdout": "x"},
        }
    )


def test_a_transcript_that_grows_by_50_mb_a_second(
    make: MakeDaemon, record_property: Callable[[str, object], None]
) -> None:
    """Bad input: each prompt in it, and one of another session at the same time, is handled; memory stays bounded."""
    daemon = make(EXTRACTION__SETTLE="0s")
    daemon.start()
    path, raw = daemon.begin("flood"), _tool_result("flood", str(daemon.project), 8000)
    block = raw * (MEGABYTE // len(raw))
    begin, written, asked = time.monotonic(), 0, []
    while written < SPEED * SECONDS:
        if written % (20 * len(block)) == 0:
            for session in ("flood", "calm"):
                asked.append(f"Prefers {session}-{written}")
                daemon.type_(session, asked[-1])
        append(path, block)
        written += len(block)
        ahead = written / SPEED - (time.monotonic() - begin)
        threading.Event().wait(max(0.0, ahead))
    seconds = time.monotonic() - begin
    daemon.sync()
    assert Counter(daemon.put_to_model()) == Counter(asked)
    record_property(
        "reached",
        f"{written / seconds / MEGABYTE:.0f} MB/s for {seconds:.0f} s, at most {_peak(daemon):.0f} MB",
    )
    assert _peak(daemon) < 160


def test_thousands_of_lines_of_an_unknown_type(make: MakeDaemon) -> None:
    """Bad input: they are counted and stop nothing."""
    daemon = make()
    daemon.start()
    path = daemon.begin("s1")
    raw = b'{"type":"never-heard-of","sessionId":"s1","text":{"a":[1,2,3]}}\n'
    append(path, raw * UNKNOWN)
    daemon.type_("s1", "Prefers amber-1")
    daemon.sync()
    assert daemon.put_to_model() == ["Prefers amber-1"]
    assert daemon.status()["watching"]["lines"]["unknown type: never-heard-of"] == UNKNOWN


def test_thousands_of_empty_transcripts(make: MakeDaemon) -> None:
    """Bad input: they appear while it runs; the one that is used later is read, also after a restart."""
    daemon = make()
    daemon.start()
    folder = daemon.transcript("x").parent
    for number in range(EMPTY):
        (folder / f"empty-{number}.jsonl").touch()
    daemon.sync()
    daemon.type_("empty-7", "Prefers amber-1")
    daemon.sync()
    daemon.restart()
    daemon.type_("empty-8", "Prefers amber-2")
    daemon.sync()
    assert daemon.put_to_model() == ["Prefers amber-1", "Prefers amber-2"]
    assert daemon.status()["watching"]["transcripts"] == EMPTY


def test_a_state_directory_on_a_slow_disk(make: MakeDaemon) -> None:
    """Bad input: each sync takes long. Prompts of several sessions are handled once and become lines, `status`
    answers meanwhile."""
    daemon = make(EXTRACTION__SETTLE="0s")
    daemon.before = [sys.executable, "-c", SLOW, SYNC]
    daemon.start()
    asked = [f"Prefers amber-{number}" for number in range(4)]
    for number, words in enumerate(asked):
        daemon.type_(f"s{number}", words)
    assert daemon.status()["state"]
    daemon.synthesize()
    assert Counter(daemon.put_to_model()) == Counter(asked)
    assert Counter(daemon.learned) == Counter(asked)


def test_the_clock_jumps_in_the_middle_of_a_catch_up(make: MakeDaemon) -> None:
    """RELIABILITY rows 5 and 12 at once: two hours ahead, and back; each prompt is handled once."""
    daemon = make(EXTRACTION__SETTLE="0s")
    fifo = daemon.root / "clock"
    os.mkfifo(fifo)
    daemon.before = [sys.executable, "-c", MOVED, str(fifo), str(time.time())]
    paths = {f"s{number}": daemon.begin(f"s{number}") for number in range(20)}
    daemon.start()
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    asked = []
    for session, path in paths.items():
        append(path, _tool_result(session, str(daemon.project), 200) * 200)
        asked.append(f"Prefers {session}")
        append(path, line(prompt_record(session, asked[-1], str(daemon.project))))
    daemon.process.send_signal(signal.SIGCONT)
    fifo.write_text(f"{time.time() + 7200}\n")
    until(lambda: bool(daemon.put_to_model()), PATIENCE, daemon.said)
    fifo.write_text(f"{time.time()}\n")
    daemon.sync()
    assert Counter(daemon.put_to_model()) == Counter(asked)


def test_sigterm_in_the_middle_of_a_long_synthesis(
    make: MakeDaemon, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY row 14: it ends within 15 s when none, some and half of the waiting facts are lines, and each next start goes on
    with the others, none twice."""
    daemon = make(EXTRACTION__SETTLE="0s")
    daemon.start()
    asked = [f"Prefers amber-{number}" for number in range(FACTS)]
    for number, words in enumerate(asked):
        daemon.type_(f"s{number % 5}", words)
    daemon.sync(LONG)
    took, seen = list[float](), list[int]()
    for lines in (0, 1, FACTS // 2):
        daemon.call("due", job="synthesize", project=str(daemon.project))
        until(lambda least=lines: len(daemon.learned) >= least, LONG, daemon.said)  # type: ignore[misc]
        took.append(daemon.stop())
        seen.append(len(daemon.learned))
        daemon.start()
    record_property("reached", f"{max(took):.1f} s with {', '.join(map(str, seen))} of {FACTS} lines")
    assert max(took) < 15
    daemon.synthesize(timeout=LONG)
    assert Counter(daemon.learned) == Counter(asked)


assert PROGRAM[0] == sys.executable, "the scripts above take three words of the program"


@pytest.mark.parametrize(
    "command", [("status",), ("status", "--json"), ("learned",), ("why", "amber"), ("context",)]
)
def test_a_hung_daemon_delays_no_command_that_only_reads(make: MakeDaemon, command: tuple[str, ...]) -> None:
    """A daemon that is stopped (SIGSTOP): the answer is there two seconds after that of one that runs, at the latest, and `status`
    names what hangs."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    assert daemon.process is not None

    def run() -> tuple[float, subprocess.CompletedProcess[str]]:
        began = time.monotonic()
        said = daemon.cli(*command, cwd=daemon.project)
        return time.monotonic() - began, said

    usual = max(run()[0] for _ in range(2))
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        took, said = run()
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert took < usual + 2.0
    if command[0] == "status":
        assert (
            said.returncode == 69
            and "did not answer" in said.stderr
            and str(daemon.process.pid) in said.stderr
        )
        assert "tacitd 0.1.0" in said.stdout or '"version"' in said.stdout
    else:
        assert said.returncode == 0 and "amber-1" in said.stdout, said.stderr
