"""What a running daemon takes: CPU seconds, memory, the share of a core while idle. Linux only: it reads /proc."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

SETTLING = 10.0
"""Seconds after a start in which the daemon still checks the projects and computes its first status."""
MINUTE = 60.0
"""Seconds for which idling is measured: all files are compared once in that time."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A row of a table: what is measured, the most that is asked, and what was reached."""

    name: str
    asked: float
    reached: float

    @property
    def is_kept(self) -> bool:
        """Whether it is reached."""
        return self.reached <= self.asked


def read_cpu(pid: int) -> float:
    """CPU seconds of a process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def read_children_cpu(pid: int) -> float:
    """CPU seconds of the children that it has waited for: the client, git."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICKS


def read_memory(pid: int) -> tuple[float, float]:
    """The resident memory of a process now, and the highest so far, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024


def measure_idle(pid: int, seconds: float) -> tuple[float, float]:
    """The CPU seconds that a daemon takes for the rest of its start, in `SETTLING` seconds, and then the share of a core while
    it is idle for so many seconds, in percent."""
    begun = read_cpu(pid)
    time.sleep(SETTLING)
    before, begin = read_cpu(pid), time.perf_counter()
    time.sleep(seconds)
    return before - begun, 100 * (read_cpu(pid) - before) / (time.perf_counter() - begin)


def print_rows(rows: list[AskedRow]) -> bool:
    """Print what is asked beside what is reached; return whether all are reached."""
    if not rows:
        return True
    print(f"{'':<52}{'asked':>9}{'reached':>9}")
    for row in rows:
        print(
            f"{row.name:<52}{row.asked:9.2f}{row.reached:9.2f}{'' if row.is_kept else '  missed'}", flush=True
        )
    return all(row.is_kept for row in rows)
