"""Lines that are to be appended to files: planned with the task's commit, appended once after it, and finished by a later
process if this one ends before. Also which process planned something, and whether it still runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from loguru import logger

from tacitd.contract import Database, NewLine, Tx
from tacitd.errors import FileRefusedError
from tacitd.files.append_text import append_missing
from tacitd.files.disk import Disk


def plan_lines(tx: Tx, lines: Sequence[NewLine], process: str) -> None:
    """Store lines that are to be appended."""
    tx.executemany(
        "INSERT INTO line_plan(path, line, process) VALUES(?, ?, ?)",
        [(str(line.path), line.text, process) for line in lines],
    )


def finish_lines(store: Database, process: str, disk: Disk, on_step: Callable[[str], None]) -> None:
    """Append what was planned by this process, or by one that is gone. What cannot be appended now stays planned. For one thread."""
    by_path = dict[str, list[tuple[int, str]]]()
    for number, path, line, planner in store.rows(
        "SELECT number, path, line, process FROM line_plan ORDER BY number"
    ):
        if planner == process or not is_alive(planner):
            by_path.setdefault(path, []).append((number, line))
    for path, lines in by_path.items():
        try:
            append_missing(Path(path), [line for _, line in lines], disk)
        except (FileRefusedError, OSError) as error:
            logger.warning("{} cannot be written now: {}", path, error)
            continue
        on_step("appended")
        with store.write() as tx:
            tx.executemany("DELETE FROM line_plan WHERE number = ?", [(number,) for number, _ in lines])


def name_process() -> str:
    """This process, as plans name it."""
    return f"{os.getpid()} {start_of(os.getpid())}"


def is_alive(process: str) -> bool:
    """Whether a process that planned a change still runs."""
    pid, _, start = process.partition(" ")
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        pass
    return start_of(int(pid)) == start


def start_of(pid: int) -> str:
    """When a process began, in the system's ticks; "" where that is not known. A pid is used again, its start is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
