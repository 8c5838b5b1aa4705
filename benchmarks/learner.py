"""What a long ledger costs: recording one more session, and reviewing all of them, on real files with real syncs.

    python benchmarks/learner.py [--rows 100000] [--records 30]

Prints the milliseconds of one `record` with ten rows and with many, in this process and warm, and what the very first
look at a long ledger takes (the daemon does that at its start; a command does it where none ran yet). Then the seconds
of a whole `review`, beside `wc -l` over the same file. The bar: record under 50 ms more than with ten
rows, review under 2 s.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from tacitd.clock import SystemClock, local_minutes
from tacitd_handlers.learner.formats.ledger_md import HEADER, LedgerRow, format_row
from tacitd_handlers.learner.formats.profile_md import parse_profile
from tacitd_handlers.learner.learner_paths import resolve_paths
from tacitd_handlers.learner.recording import ReviewPlan, record_problem
from tacitd_handlers.learner.report_input import parse_report
from tacitd_handlers.learner.review import build_review
from tacitd_handlers.learner.review_view import format_review
from tacitd_handlers.learner.rules.ledger_fold import in_order
from tacitd_handlers.learner.rules.session_stamps import SessionStamp
from tacitd_handlers.learner.rules.vocabulary import VERDICTS
from tacitd_handlers.learner.store import LearnerStore

PATTERNS = [f"pattern_{n}" for n in range(20)]
START = datetime(2015, 1, 1, 9, 0)


def rows(count: int) -> list[LedgerRow]:
    """A long life of practice: 20 patterns, 400 problems, 60 gaps, two gaps in every third session."""
    dice = random.Random(5)
    made = []
    for n in range(count):
        at = START + timedelta(minutes=53 * n)
        mode = dice.choice(("recall", "learning"))
        pattern = n % len(PATTERNS)
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


def store(home: Path, count: int) -> LearnerStore:
    """A home with a ledger of so many rows, and nothing else."""
    made = LearnerStore(resolve_paths({"HOME": str(home)}), SystemClock())
    made.places.ledger.parent.mkdir(parents=True)
    made.places.ledger.write_bytes(HEADER + "".join(format_row(row) + "\n" for row in rows(count)).encode())
    return made


def once(at: LearnerStore, number: int) -> float:
    """Record one session more; the milliseconds it took."""
    stamp = (START + timedelta(days=9000, hours=number)).strftime("%Y-%m-%dT%H:%M")
    given = {"problem": f"problem-{number % 400}", "pattern": PATTERNS[number % 20], "mode": "recall"}
    said = parse_report({**given, "verdict": "pass", "gaps": f"edge:{number % 20}_1" if number % 3 else ""})
    begin = time.perf_counter()
    with at.locked():
        record_problem(at, said, SessionStamp(f"bench-{number}", stamp), ReviewPlan())
    return (time.perf_counter() - begin) * 1000


def whole_review(at: LearnerStore) -> float:
    """From the files to the last line of text, in seconds."""
    begin = time.perf_counter()
    found = in_order(at.read_ledger().parse_rows().rows)
    profile = at.read_profile()
    document = build_review(found, parse_profile(profile or b""), local_minutes(time.time()))
    list(format_review(document, bars=True))
    return time.perf_counter() - begin


def wc(path: Path) -> float:
    """`wc -l`, in seconds."""
    begin = time.perf_counter()
    subprocess.run(["wc", "-l", os.fspath(path)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main(argv: list[str]) -> int:
    """Measure, print, and return 0 where the bar is kept, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=30)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        few, many = store(Path(folder, "few"), 10), store(Path(folder, "many"), options.rows)
        first = {at: once(at, 0) for at in (few, many)}
        times: dict[LearnerStore, list[float]] = {few: [], many: []}
        for number in range(1, options.records + 1):  # turn about, so that both meet the same noise
            for at in (few, many):
                times[at].append(once(at, number))
        reviews = min(whole_review(many) for _ in range(3))
        counted = min(wc(many.places.ledger) for _ in range(5))
        size = many.places.ledger.stat().st_size
    more = median(times[many]) - median(times[few])
    print(f"{options.rows} rows, {size / 1e6:.1f} MB")
    for name, at in (("10 rows", few), (f"{options.rows} rows", many)):
        print(f"record, {name:<16} median {median(times[at]):7.1f} ms   worst {max(times[at]):7.1f} ms")
    print(f"{'more':<24} median {more:7.1f} ms   (bar: 50)")
    print(f"first look at a ledger   {first[few]:14.1f} ms   {first[many]:9.1f} ms with {options.rows} rows")
    print(
        f"review                   {reviews:14.2f} s    wc -l {counted * 1000:.1f} ms: {reviews / counted:.0f} times (bar: 2 s)"
    )
    return 0 if more < 50 and reviews < 2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
