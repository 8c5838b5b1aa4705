"""How soon an agent has its lessons, and whether many writers at once keep the log whole: real processes, real files.

    python benchmarks/lessons.py [--lessons 500] [--runs 40] [--writers 10] [--each 200] [--by-program]

Prints the median time of `lesson load` as a whole process on a log of so many lessons, beside that of
`python3 -c pass` with the same interpreter and of `grep` over the same file, in turns within one run; then what became of
the log into which so many processes added at once (`--by-program`: each lesson by a `lesson add` of its own). The bar:
`lesson load` within eight times `python3 -c pass`; every id once, no gap, no torn line.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = [sys.executable, "-c", "from tacitd_handlers.lessons.cli import main; main()"]
WRITER = """
import os, sys
from tacitd_handlers.lessons import lesson_actions
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.lesson_log import LessonLog
store = LessonLog.from_environ(os.environ)
for n in range(int(sys.argv[2])):
    lesson_actions.add_lesson(store, Pattern(f"case {sys.argv[1]}-{n}", "do", "read it", "it differs"), "global", "ai")
"""
BY_PROGRAM = """
import subprocess, sys
for n in range(int(sys.argv[2])):
    text = f"WHEN case {sys.argv[1]}-{n} -> DO read it -> BECAUSE it differs"
    subprocess.run([sys.executable, "-c", sys.argv[3], "add", text], check=True, stderr=subprocess.DEVNULL)
"""


def environment(home: Path) -> dict[str, str]:
    """A home of its own."""
    return {"HOME": str(home), "PATH": os.environ["PATH"], "TACITD_STATE_DIR": str(home / "state")}


def write_lessons(home: Path, count: int) -> Path:
    """A log with so many lessons, half of them global; return its path."""
    path = home / ".claude" / "lessons" / "lessons.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        for n in range(1, count + 1):
            record: dict[str, str] = {"id": f"{n:03d}", "scope": "global" if n % 2 else f"tool{n % 40}"}
            record |= {
                "from": "ai",
                "status": "active",
                "created": "2024-02-10",
                "when": f"editing module {n} of the service",
            }
            record |= {"action": "do" if n % 3 else "dont", "do": f"read section {n} of the notes first"}
            record["because"] = f"the layout of part {n} differs from what one expects"
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
    return path


def medians(commands: dict[str, list[str]], env: dict[str, str], runs: int) -> dict[str, float]:
    """Milliseconds of each command as a whole process: the commands take turns, so that all see the same machine."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
            times[name].append((time.perf_counter() - begin) * 1000)
    return {name: sorted(each)[len(each) // 2] for name, each in times.items()}


def loading(count: int, runs: int) -> bool:
    """Measure and print; whether the bar is kept."""
    with tempfile.TemporaryDirectory() as folder:
        env = environment(Path(folder))
        log = write_lessons(Path(folder), count)
        found = medians(
            {
                "python3 -c pass": [sys.executable, "-c", "pass"],
                "grep": ["grep", '"scope":"global"', str(log)],
                "lesson load": [*PROGRAM, "load"],
                "lesson load --lines 0": [*PROGRAM, "load", "--lines", "0"],
                "lesson load --scope=tool4": [*PROGRAM, "load", "--scope=tool4"],
            },
            env,
            runs,
        )
        size = log.stat().st_size
    bare, grep, load = found["python3 -c pass"], found["grep"], found["lesson load"]
    print(f"{count} lessons, {size / 1e6:.1f} MB; medians of {runs} whole processes")
    for name, each in found.items():
        print(
            f"  {name:<28}{each:8.1f} ms   {each / bare:5.2f} x python3 -c pass   {each / grep:6.1f} x grep"
        )
    return load <= 8 * bare


def writing(writers: int, each: int, *, by_program: bool) -> bool:
    """Let them write at once, print what the log holds; whether it is whole."""
    code = [BY_PROGRAM, PROGRAM[-1]] if by_program else [WRITER, ""]
    with tempfile.TemporaryDirectory() as folder:
        env = environment(Path(folder))
        begin = time.perf_counter()
        running = [
            subprocess.Popen([sys.executable, "-c", code[0], str(n), str(each), code[1]], env=env)
            for n in range(writers)
        ]
        failed = sum(process.wait() != 0 for process in running)
        seconds = time.perf_counter() - begin
        lines = (Path(folder) / ".claude" / "lessons" / "lessons.jsonl").read_bytes().split(b"\n")
    whole = [line for line in lines if line.startswith(b"{") and line.endswith(b"}")]
    ids = [int(json.loads(line)["id"]) for line in whole]
    torn = len([line for line in lines if line]) - len(whole)
    wanted = list(range(1, writers * each + 1))
    print(
        f"{writers} processes adding {each} each{' (lesson add)' if by_program else ''}: {len(set(ids))} distinct ids, "
        f"{len(set(wanted) - set(ids))} gaps, {torn} torn lines, {failed} failed, in order: {ids == wanted}; {seconds:.1f} s"
    )
    return ids == wanted and not torn and not failed


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 where the bar is kept, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lessons", type=int, default=500)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--writers", type=int, default=10)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--by-program", action="store_true")
    options = parser.parse_args(argv)
    quick = loading(options.lessons, options.runs)
    return 0 if writing(options.writers, options.each, by_program=options.by_program) and quick else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
