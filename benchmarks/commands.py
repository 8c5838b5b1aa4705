"""How soon commands answer: whole processes against a start of Python, in turns within one run.

    python benchmarks/commands.py [--runs 20] [--only learned --only why]

A project has learned lines, a lesson and a transcript. What a person calls to look at something is run beside a daemon, without one and
beside a stopped one (SIGSTOP). Each row is a command with the time that is asked of it, as a multiple of `python3 -c pass` with the same
interpreter, and the multiples reached in CPU time and in elapsed time. The fastest runs are compared, because other work on the machine
only adds time. A row that misses one of both ends with `MORE`, and the exit code is 1 then.
tests/scenario/test_scenario_command_times.py compares the CPU time in every test run.

The programs run as `python3 -c "from … import main; main()"`, which is what the scripts of `uv` and of new versions of `pip` do.
The scripts of `pip` before 25.2 import `re` besides.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support_daemon import Daemon  # noqa: E402
from tacitd.errors import UNAVAILABLE  # noqa: E402

TACITD = [sys.executable, "-c", "from tacitd_handlers.entry_point import main; main()"]
LESSON = [sys.executable, "-c", "from tacitd_handlers.lessons.cli import main; main()"]
PLAIN = "python3 -c pass"
ASKED = 8
"""What is asked of a command, but of `context`."""
BESIDE: dict[Where, str] = {"daemon": "", "copy": ", no daemon", "stopped": ", a stopped daemon"}
LOOKING = (
    "--help",
    "context",
    "learned",
    "why Prefers",
    "history",
    "learner due",
    "spend",
    "review",
    "log",
    "status",
)
"""The commands that a person calls to look at something."""
LINES = 30
"""Lines that the project's LEARNED.md has."""


Where = Literal["daemon", "empty", "copy", "stopped"]
"""With the state directory of the daemon; with an empty one and another home; with a copy of it, for which no daemon runs; beside the
daemon, which is stopped meanwhile (SIGSTOP)."""
WAIT = 300.0
"""Milliseconds for which `status` may wait for a daemon that does not answer."""


@dataclass(frozen=True, slots=True)
class CommandCase:
    """A command and the multiple of a start of Python that is asked of it."""

    name: str
    argv: Sequence[str]
    asked: float
    where: Where = "daemon"
    waits: float = 0.0
    """Milliseconds that it may take besides."""


@dataclass(slots=True)
class Timings:
    """The milliseconds of each run of a command."""

    elapsed: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def list_cases(daemon: Daemon) -> list[CommandCase]:
    """The commands, beginning with those that are called most often. The first is that with which the others are compared."""
    return [
        CommandCase(PLAIN, [sys.executable, "-c", "pass"], 1),
        CommandCase("tacitd statusline", [*TACITD, "statusline"], 3),
        CommandCase("lesson load", [*LESSON, "load"], ASKED),
        CommandCase("lesson load, no lessons", [*LESSON, "load"], ASKED, "empty"),
        CommandCase("tacitd prompts", [*TACITD, "prompts", str(daemon.transcript("s1"))], ASKED),
        *(
            CommandCase(
                f"tacitd {name}{how}",
                [*TACITD, *name.split()],
                9 if name == "context" else ASKED,
                where,
                WAIT if (name, where) == ("status", "stopped") else 0.0,
            )
            for name in LOOKING
            for where, how in BESIDE.items()
        ),
    ]


def learn_lines(daemon: Daemon) -> None:
    """Start the daemon, type prompts until the project has its lines, and add a lesson."""
    daemon.start()
    for number in range(LINES):
        daemon.type_("s1", f"Prefers tool{number} for job{number} in this project.")
    daemon.synthesize()
    text = "WHEN a test hangs -> DO print the stacks -> BECAUSE the log has none"
    subprocess.run(
        [*LESSON, "add", text], env=daemon.environ, cwd=daemon.project, check=True, capture_output=True
    )


def time_process(argv: Sequence[str], environ: Mapping[str, str], cwd: Path) -> tuple[float, float]:
    """The milliseconds of one run, and of its CPU time."""
    began = time.perf_counter()
    process = subprocess.Popen(
        argv, env=environ, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, ended, used = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - began
    # It is reaped, and `subprocess` must not wait for it.
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode not in (0, UNAVAILABLE):
        raise SystemExit(f"{' '.join(argv)} ended with {process.returncode}")
    return elapsed * 1000, (used.ru_utime + used.ru_stime) * 1000


@contextmanager
def stop_daemon(daemon: Daemon) -> Iterator[None]:
    """The daemon does not run meanwhile."""
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def measure_cases(cases: Sequence[CommandCase], daemon: Daemon, runs: int) -> dict[str, Timings]:
    """The times of all cases by name. The first round is not counted: it writes caches."""
    copied, other = daemon.root / "copied-state", daemon.root / "other"
    if not copied.exists():
        shutil.copytree(daemon.state, copied, ignore=shutil.ignore_patterns("socket", "*.sock", "lock"))
    other.mkdir(exist_ok=True)
    environs: dict[Where, dict[str, str]] = {
        "daemon": daemon.environ,
        "stopped": daemon.environ,
        "empty": daemon.environ | {"HOME": str(other), "TACITD_STATE_DIR": str(daemon.root / "other-state")},
        "copy": daemon.environ | {"TACITD_STATE_DIR": str(copied)},
    }
    found = {one.name: Timings() for one in cases}
    for turn in range(runs + 1):
        for one in cases:
            with stop_daemon(daemon) if one.where == "stopped" else nullcontext():
                elapsed, cpu = time_process(one.argv, environs[one.where], daemon.project)
            if turn:
                found[one.name].elapsed.append(elapsed)
                found[one.name].cpu.append(cpu)
    return found


def print_table(cases: Sequence[CommandCase], found: Mapping[str, Timings]) -> bool:
    """Print a row for each command. Return whether none takes more than is asked."""
    print(f"{'':<36} {'ms':>7}  {'asked':>5}  {'CPU':>7}  {'elapsed':>7}")
    are_reached = True
    for one in cases:
        cpu, elapsed = compare_cpu(found, one), compare_elapsed(found, one)
        is_reached = max(cpu, elapsed) <= one.asked
        are_reached = are_reached and is_reached
        took, mark = min(found[one.name].elapsed), "" if is_reached else "  MORE"
        print(f"{one.name:<36} {took:7.1f}  {one.asked:5g}  {cpu:7.1f}  {elapsed:7.1f}{mark}")
    return are_reached


def list_slow(cases: Sequence[CommandCase], found: Mapping[str, Timings], headroom: float = 1.0) -> list[str]:
    """The commands that take more CPU time than `headroom` times what is asked, with the multiple reached."""
    ratios = ((one, compare_cpu(found, one)) for one in cases)
    return [f"{one.name}: {ratio:.1f}" for one, ratio in ratios if ratio > one.asked * headroom]


def compare_cpu(found: Mapping[str, Timings], case: CommandCase) -> float:
    """The CPU time of a command's fastest run as a multiple of Python's start."""
    return min(found[case.name].cpu) / min(found[PLAIN].cpu)


def compare_elapsed(found: Mapping[str, Timings], case: CommandCase) -> float:
    """The elapsed time of a command's fastest run, without what it may wait, as a multiple of Python's start."""
    return (min(found[case.name].elapsed) - case.waits) / min(found[PLAIN].elapsed)


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0 if no command takes more than is asked, otherwise 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", action="append", help="commands whose row contains this")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        daemon = Daemon(Path(folder) / "d")
        stack.callback(daemon.finish)
        learn_lines(daemon)
        cases = [
            one
            for one in list_cases(daemon)
            if not options.only or one.name == PLAIN or any(part in one.name for part in options.only)
        ]
        found = measure_cases(cases, daemon, options.runs)
    return 0 if print_table(cases, found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
