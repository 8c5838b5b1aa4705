"""Times of the learner's commands with a ledger of two years, as multiples of `python -c pass`.

    python benchmarks/learner.py [--rows 2000] [--times 11]

The commands are processes of their own, as a session or a skill starts them, in a home of their own. The best time of
each is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from tacitd_handlers.learner.ledger_file import HEADER, VERDICTS, LedgerRow, format_row

PATTERNS = [f"pattern_{n}" for n in range(20)]
START = datetime(2024, 1, 1, 9, 0)


def make_rows(count: int) -> list[LedgerRow]:
    """Years of practice: 20 patterns, 400 problems, 60 gaps, up to two gaps in every third session."""
    dice = random.Random(5)
    made = []
    for n in range(count):
        at = START + timedelta(hours=8 * n)
        mode, pattern = dice.choice(("recall", "learning")), n % len(PATTERNS)
        gaps = [f"edge:{pattern}_{dice.randrange(3)}" for _ in range(2)] if n % 3 == 0 else []
        made.append(
            LedgerRow(
                at.strftime("%Y-%m-%dT%H:%M"),
                f"session-{n}",
                f"problem-{dice.randrange(400)}",
                PATTERNS[pattern],
                mode,
                dice.choice(VERDICTS[mode]),
                "; ".join(dict.fromkeys(gaps)) or "none",
                (at + timedelta(days=dice.choice((1, 3, 7, 14)))).strftime("%Y-%m-%d"),
            )
        )
    return made


def measure(command: Sequence[str], environ: dict[str, str]) -> float:
    """The seconds of one run."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=11)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, ".claude", "leetcode-teacher-ledger.md")
        ledger.parent.mkdir()
        lines = "".join(f"{format_row(row)}\n" for row in make_rows(options.rows))
        ledger.write_bytes(HEADER + lines.encode())
        environ = {"HOME": folder, "PATH": os.environ["PATH"]}
        tacitd = [os.fspath(Path(sys.executable).with_name("tacitd")), "learner"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "learner due": [*tacitd, "due"],
            "learner context": [*tacitd, "context", "--session-id", "bench"],
            "learner record": [*tacitd, "record", "--pattern", PATTERNS[0], "--mode", "recall"],
        }
        more = ["--verdict", "pass", "--gaps", "edge:0_1", "--problem"]
        print(f"first record with {options.rows} rows: ", end="")
        print(f"{measure([*commands['learner record'], *more, 'first'], environ) * 1000:.0f} ms")
        times: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(options.times):  # in turn, so that all meet the same noise
            for name, command in commands.items():
                extra = [*more, f"problem-{number}"] if name == "learner record" else []
                times[name].append(measure([*command, *extra], environ))
    least = min(times["python -c pass"])
    for name, taken in times.items():
        print(f"{name:<18}{min(taken) * 1000:8.1f} ms{min(taken) / least:8.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
