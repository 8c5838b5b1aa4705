"""What very many facts of a project cost until they are lines of LEARNED.md: the real daemon, with the stand-in for Claude Code.

    python benchmarks/synthesis.py

Prints the CPU seconds of the daemon for many facts as a multiple of those for a tenth of them, and for the number between the
seconds until all are lines, beside what is asked. Ends with 1 if
something is missed. It takes half a minute.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from daemon_figures import AskedRow, print_rows, read_cpu  # noqa: E402
from support_daemon import Daemon  # noqa: E402

FEW, BETWEEN, MANY = 500, 1200, 5000
"""How many facts wait."""
TIMES = 12.0
"""How often the CPU time for FEW may be needed for MANY, which are ten times as many."""
SECONDS = 60.0
"""Until BETWEEN are lines."""
LIMIT = 600.0
"""Seconds after which a synthesis counts as hanging."""
EACH = 5
"""Facts of one record: of one session."""


def measure_facts(place: Path, number: int) -> tuple[float, float, int]:
    """For so many waiting facts: CPU seconds and seconds of their synthesis, and how many facts are no line after it."""
    daemon = Daemon(place)
    facts = [f"Prefers left{at} before right{at} with both{at} near end{at}" for at in range(number)]
    records = (
        {"ts": "2026-11-20T10:00:00Z", "facts": facts[at : at + EACH]} for at in range(1, number, EACH)
    )
    daemon.start()
    assert daemon.process is not None
    pid = daemon.process.pid
    daemon.type_("s1", facts[0])
    daemon.sync()
    # The others were found in sessions before; to type them all would measure their extraction.
    with (daemon.project / "tmp" / "learning-raw.jsonl").open("a", encoding="utf-8") as raw:
        raw.writelines(f"{json.dumps(one)}\n" for one in records)
    before, begin = read_cpu(pid), time.perf_counter()
    daemon.synthesize(timeout=LIMIT)
    seconds, busy = time.perf_counter() - begin, read_cpu(pid) - before
    missing = len(set(facts) - set(daemon.learned))
    daemon.stop()
    return busy, seconds, missing


def main() -> int:
    """Measure, print, and return 0 if everything asked is reached, otherwise 1."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in (FEW, BETWEEN, MANY):
            found[number] = busy, seconds, _ = measure_facts(Path(folder) / str(number), number)
            print(f"{number} facts: {busy:.1f} s of CPU, {seconds:.1f} s", flush=True)
    rows = [
        AskedRow(f"CPU, {MANY} facts, of that of {FEW}", TIMES, found[MANY][0] / found[FEW][0]),
        AskedRow(f"seconds until {BETWEEN} facts are lines", SECONDS, found[BETWEEN][1]),
        AskedRow("facts that are no line", 0, sum(missing for _, _, missing in found.values())),
    ]
    return 0 if print_rows(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
