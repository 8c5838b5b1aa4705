"""Runs each row of the reliability requirements in full, and prints row, asked, reached.

    python scripts/soak.py [--row 1 --row 14] [--results FILE] [--write]

The rows are the tests and benchmarks of the repository with the figures of a full run; there is no second implementation. The
result of each row is stored, so that rows can be run one at a time; without `--row` those run that have no result yet. `--write`
makes docs/reliability.md of what is stored. Everything together takes hours.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
SCENARIO, DAEMON, HANDLERS = "tests/scenario/test_scenario_", "tests/daemon/", "tests/handlers/"
NOT_RUN = "not run"
LATE = "it did not end within"
GRACE = 15.0
"""Seconds in which what is asked to end ends, and its daemons with it."""


@dataclass(frozen=True, slots=True)
class SoakRow:
    """A requirement, and what is run for it."""

    number: str
    condition: str
    asked: str
    tests: tuple[str, ...] = ()
    """Files, or node ids, or directories with `-k` and an expression."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The figures of a full run."""
    seeds: tuple[int, ...] = ()
    """The tests run once with each of these as TACITD_SEED."""
    benchmarks: tuple[tuple[str, ...], ...] = ()
    """Benchmarks that print what is asked beside what is reached, each with its arguments."""
    least_faults: int = 0
    """How many faults of a disk the tests must inject."""
    minutes: int = 90
    """Each run of its tests, and each benchmark, is ended after so long."""


@dataclass(frozen=True, slots=True)
class SoakResult:
    """What a row reached."""

    reached: str
    kept: bool
    minutes: float
    machine: str


FULL = {"TACITD_EXAMPLES": "1"}
COUNTED = FULL | {"TACITD_COUNT_FAULTS": "1"}
ROWS = (
    SoakRow("1", "kills at random points", "2,000 kills over 5 seeds: 0 lost, 0 repeated, 0 torn lines", (f"{SCENARIO}kills.py",), {"TACITD_KILLS": "400"}, (1, 2, 3, 4, 5)),
    SoakRow("2", "a crash before and after each commit of the store, and before every write, sync, rename and unlink, also in each story of a person", "0 violations", ("tests/stories", f"{DAEMON}files", f"{DAEMON}work", f"{DAEMON}test_store_kills.py", f"{DAEMON}test_store_faults.py"), COUNTED | {"TACITD_WAYS": "1", "TACITD_DISK_FAULTS": "0"}),
    SoakRow("3", "ENOSPC, EDQUOT, EIO, EROFS, short writes, failed fsync at every step, also in each story of a person", "1,000 injections: 0 lost, 0 repeated", ("tests/stories", f"{DAEMON}files", f"{DAEMON}test_store_faults.py", f"{HANDLERS}lessons/test_lessons_crash.py"), COUNTED | {"TACITD_WAYS": "2", "TACITD_CRASHES": "0"}, least_faults=1000),
    SoakRow("4", "disk full for a minute", "no crash loop, under 1 % CPU, reported, nothing lost", (f"{SCENARIO}full_disk.py", f"{DAEMON}test_engine_faults.py"), {"TACITD_FULL_DISK_SECONDS": "60"}),
    SoakRow("5", "60,000 appends over 600 files of 200 projects with 600 prompts while stopped", "0 lost; reading and folding within 2 times a JSON pass, all tasks within 6 times", benchmarks=(("catch_up.py",),)),
    SoakRow("6", "10,000 and 20,000 files in 5,000 directories", "ready within 0.5 s (1 s), caught up from positions within 2 s, under 55 MB (60 MB), idle under 0.3 %", benchmarks=(("memory.py", "--only", "files"),)),
    SoakRow("7", "watch limit reached, watcher thread dead, file system without events", "no change unnoticed for longer than 4 s; one line in `status`", (f"{SCENARIO}watch_limit.py", f"{DAEMON}sources/test_watch.py")),
    SoakRow("8", "root deleted, created again, moved; permission removed and restored", "resumes within 60 s, 0 lost", (f"{DAEMON}sources/test_follow.py", f"{DAEMON}sources/test_watch.py", f"{DAEMON}sources/test_follow_random.py"), FULL),
    SoakRow("9", "malformed input, fuzzed lines", "1,000,000 fuzzed lines: 0 crashes; every complete record recovered, none invented, memory bounded", (f"{DAEMON}sources", f"{DAEMON}test_engine_unterminated.py", f"{SCENARIO}bad_files.py"), {"TACITD_EXAMPLES": "10", "TACITD_FUZZED_LINES": "1000000"}),
    SoakRow("10", "latency from append to handler", "p50 under 5 ms, p99 under 50 ms; under 2 s if file events are lost", benchmarks=(("latency.py",),)),
    SoakRow("11", "an editor saves while tacitd rewrites", "10,000 edits, 0 lost", (f"{SCENARIO}editors.py",), {"TACITD_EDITS": "10000"}),
    SoakRow("12", "clock jumps", "each job at most once in its interval, and at least once within it and 60 s; decay never raises a confidence", (f"{SCENARIO}clock.py", f"{DAEMON}test_schedule.py", f"{HANDLERS}profile/test_profile_decay.py"), FULL),
    SoakRow("13", "100 simultaneous starts", "exactly one process remains", (f"{SCENARIO}life.py", "-k", "start"), {"TACITD_TEST_STARTS": "100"}),
    SoakRow("14", "SIGTERM", "within 2 s when idle, 15 s with a model call in flight and at any moment of a synthesis; no orphan process", (f"{SCENARIO}life.py", f"{SCENARIO}floods.py::test_sigterm_in_the_middle_of_a_long_synthesis"), {"TACITD_WAITING_FACTS": "2000", "TACITD_STOPS": "5"}),
    SoakRow("15", "a hung model that ignores SIGTERM and prints 100 MB; a wedged loop", "its process group is ended at the deadline; restarted by systemd", (f"{SCENARIO}model_faults.py", f"{SCENARIO}systemd.py")),
    SoakRow("16", "cost", "paid for at most twice; the cap is kept; a loop of own sessions is stopped", (f"{DAEMON}model", f"{SCENARIO}model_faults.py", f"{SCENARIO}sessions.py", f"{DAEMON}test_engine_growth.py"), FULL),
    SoakRow("17", "socket abuse", "1,000 connections, 100 MB request, garbage: reading continues (lag under 50 ms), at most 10 MB more, another uid is refused", (f"{SCENARIO}life.py", f"{DAEMON}control"), FULL, benchmarks=(("memory.py", "--only", "requests"), ("latency.py", "--only", "misused"))),
    SoakRow("18", "a year of use", "start 1 s, under 60 MB, idle under 0.3 %; memory grows by less than 1 MB a day, the number of descriptors is constant", benchmarks=(("year.py",),)),
    SoakRow("19", "hostile model answers", "nothing outside the project, nothing of it in a session; no line says what was not typed", (f"{SCENARIO}bad_answers.py", f"{SCENARIO}cloned.py", f"{SCENARIO}model_faults.py", "tests/stories/test_stories_attack.py", f"{HANDLERS}shared/test_shared_words.py", f"{DAEMON}text/test_sanitize.py", f"{HANDLERS}learning/test_learning_answers.py")),
    SoakRow("20", "uninstall", "no file of tacitd left, no file of a person changed", (f"{SCENARIO}uninstall.py",)),
    SoakRow("20a", "the store: deleted, replaced, garbled, on a read-only, full or network file system; two daemons; a command that stops in a write", "nothing silently lost, no choice of a person forgotten", (f"{DAEMON}test_store_damage.py", f"{DAEMON}test_store_faults.py", f"{DAEMON}test_store.py", f"{SCENARIO}lost_store.py", f"{SCENARIO}two_daemons.py"), FULL),
    SoakRow("20b", "a project on a mount that stalls; a disk on which each fsync takes 3 s", "`status` answers within 1 s, and a prompt of another project is handled", (f"{SCENARIO}stalled.py",)),
    SoakRow("21", "a transcript that grows by 50 MB a second, floods of useless lines and files, a slow disk", "0 lost, memory bounded", (f"{SCENARIO}floods.py", "-k", "not sigterm"), {"TACITD_FLOOD_SECONDS": "20", "TACITD_UNKNOWN_LINES": "100000", "TACITD_EMPTY_FILES": "5000", "TACITD_SYNC_SECONDS": "0.5"}),
)  # fmt: skip
"""1 to 20 are the requirements; 21 is bad input."""


def run_row(row: SoakRow) -> SoakResult:
    """Run the tests and the benchmarks of a row."""
    begin, said, kept = time.monotonic(), list[str](), True
    if row.tests:
        for seed in row.seeds or (None,):
            more = {} if seed is None else {"TACITD_SEED": str(seed)}
            passed, what = _run_tests(row, os.environ | dict(row.environ) | more)
            said.append(what if seed is None else f"seed {seed}: {what}")
            kept = kept and passed
    for name, *arguments in row.benchmarks:
        passed, output = _run_program(row, [str(ROOT / "benchmarks" / name), *arguments], os.environ)
        said += _benchmark_rows(output) or output.strip().splitlines()[-1:]
        kept = kept and passed
    return SoakResult("; ".join(said), kept, (time.monotonic() - begin) / 60, describe_machine())


def _run_tests(row: SoakRow, environ: Mapping[str, str]) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["-m", "pytest", "-q", "-n", "2", "--timeout=0", f"--junitxml={report}", *row.tests]
        _, output = _run_program(row, command, environ)
        sys.stderr.write(output)
        suite = ElementTree.parse(report).getroot().find("testsuite") if report.exists() else None
    if suite is None:
        return False, output.strip().splitlines()[-1]
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    bad = count["failures"] + count["errors"]
    passed = count["tests"] - bad - count["skipped"]
    said = [f"{passed} {'test' if passed == 1 else 'tests'} passed"]
    said += [f"{bad} failed"] * bool(bad) + [f"{count['skipped']} skipped"] * bool(count["skipped"])
    found = [(one.get("name"), one.get("value", "")) for one in suite.iter("property")]
    crashes, faults = _count_all(found, "crash", "crashes"), _count_all(found, "fault", "faults")
    said += [f"{crashes:,} crashes"] * bool(crashes) + [f"{faults:,} failures of a disk"] * bool(faults)
    said += [value for name, value in found if name == "reached"]
    return not bad and passed > 0 and faults >= row.least_faults, ", ".join(said)


def _count_all(found: Sequence[tuple[str | None, str]], one: str, several: str) -> int:
    """How many properties are named `one`, and what those named `several` add up to."""
    return sum(1 if name == one else int(value) for name, value in found if name in (one, several))


def _run_program(row: SoakRow, arguments: Sequence[str], environ: Mapping[str, str]) -> tuple[bool, str]:
    """Run Python with these arguments; return whether it ended with 0, and what it printed. If it takes too long, it is ended with the
    daemons that it started. It prints into a file: whoever reads a pipe waits for what it left behind, too."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=dict(environ),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        late = ""
        try:
            process.wait(row.minutes * 60)
        except subprocess.TimeoutExpired:
            late = f"\n{LATE} {row.minutes} minutes\n"
        finally:
            if process.poll() is None:
                for number in (signal.SIGTERM, signal.SIGKILL):
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
                    time.sleep(GRACE)
        output.seek(0)
        return process.wait() == 0, output.read() + late


def _benchmark_rows(output: str) -> list[str]:
    """The lines of a benchmark with figures, in one line each; not the sizes of files. And that it did not end."""
    lines = (one for one in output.splitlines() if re.search(rf"\d\.\d|{LATE}", one))
    return [re.sub(r"\s+", " ", one.strip()) for one in lines if not re.search(r"\.(jsonl|bin)\b", one)]


def describe_machine() -> str:
    """The processor, how many of them, the kernel and Python."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kind = found[1].strip() if found else platform.processor()
    return f"{cores} cores of {kind}, {platform.system()}, Python {platform.python_version()}"


def format_page(results: Mapping[str, SoakResult]) -> str:
    """docs/reliability.md."""
    machines = sorted({one.machine for one in results.values()})
    lines = [
        "# Reliability",
        "",
        "What is promised, and whether the last full run kept it. `python scripts/soak.py --row N` runs row N and prints what it reached;",
        "`make soak` runs all of them, for hours. CI runs the same tests with smaller figures.",
        "",
        f"The last run of each row: {'; '.join(machines) or 'none'}. [performance.md](performance.md) has the measured figures.",
        "",
        "| # | condition | promised | last run |",
        "|---|---|---|---|",
    ]
    for row in ROWS:
        found = results.get(row.number)
        minutes = 0 if found is None else max(1, round(found.minutes))
        mark = NOT_RUN if found is None else f"{'kept' if found.kept else 'missed'}, {minutes} min"
        lines.append(f"| {row.number} | {row.condition} | {row.asked} | {mark} |")
    return "\n".join(lines) + "\n"


def load_results(path: Path) -> dict[str, SoakResult]:
    """The stored results, by row."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    return {number: SoakResult(**one) for number, one in stored.items()}


def main(argv: list[str]) -> int:
    """Run rows, store and print what they reached; 1 if one of them missed what is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--row", action="append", help="only this row; may be repeated")
    parser.add_argument("--results", type=Path, default=ROOT / "soak-results.json")
    parser.add_argument(
        "--write", action="store_true", help="make docs/reliability.md, and run no row that was not named"
    )
    options = parser.parse_args(argv)
    results = load_results(options.results)
    wanted = options.row or (
        [] if options.write else [row.number for row in ROWS if row.number not in results]
    )
    for row in ROWS:
        if row.number in wanted:
            results[row.number] = run_row(row)
            stored = {number: asdict(one) for number, one in results.items()}
            options.results.write_text(json.dumps(stored, indent=1) + "\n")
            one = results[row.number]
            kept = "kept  " if one.kept else "MISSED"
            sys.stdout.write(f"{row.number:>3} {kept} asked: {row.asked}; reached: {one.reached}\n")
            sys.stdout.flush()
    if options.write:
        PAGE.write_text(format_page(results))
    return 0 if all(results[number].kept for number in wanted) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
