"""tacitd's writer as a process: writes lines into files as commands on stdin ask, with the daemon's guards.

With `rushes` instead of `waits` it does not wait for files that are being edited, so that it writes in the middle of
each save, as the daemon does after its longest wait.

    put PATH LINE      put a line under `## Facts`, after printing {"begun": LINE}
    settle             print one JSON line when all lines are written and all swapped-out files were checked
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.contract import Cause, FileChange
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.busy_files import BusyFiles
from tacitd.files.formats import Bullets, bullet
from tacitd.files.late_writes import LateWrites
from tacitd.files.replaced import EditGuards
from tacitd.files.shared_files import SharedFiles
from tacitd.store import Store


def main(state: Path, waiting: str) -> None:
    clock = SystemClock()
    second = LateWrites(clock)
    guards = EditGuards(second, BusyFiles(clock) if waiting == "waits" else None)
    state.mkdir(mode=0o700, exist_ok=True)
    store = Store.open(state, clock)
    files = SharedFiles(store, clock, guards=guards)
    format = Bullets("Learned")
    later: list[tuple[Path, str]] = []
    ended = threading.Event()
    mutex = threading.Lock()

    def say(what: dict[str, object]) -> None:
        with mutex:
            sys.stdout.write(json.dumps(what) + "\n")
            sys.stdout.flush()

    def change(path: Path, line: str) -> None:
        leaf = bullet("Facts", line)
        files.change_now(
            "test", [FileChange(path, format, lambda now, edits: {leaf: line}, Cause(line, "prompt"))]
        )

    def put(path: Path, line: str) -> None:
        say({"begun": line})
        for _ in range(20):
            try:
                change(path, line)
                return
            except (FileBusyError, FileRefusedError):
                time.sleep(0.25)
        later.append((path, line))

    def check_swapped() -> None:
        while not ended.wait(0.05):
            second.check_due()

    checker = threading.Thread(target=check_swapped, daemon=True)
    checker.start()
    begun: list[Future[None]] = []
    with ThreadPoolExecutor(8) as pool:
        for command in sys.stdin:
            verb, *rest = command.split()
            if verb == "put":
                begun.append(pool.submit(put, Path(rest[0]), rest[1]))
                continue
            for each in begun:
                each.result()
            begun.clear()
            quiet = 0
            while quiet < 6:
                waits = later.copy()
                later.clear()
                for path, line in waits:
                    try:
                        change(path, line)
                    except (FileBusyError, FileRefusedError):
                        later.append((path, line))
                # After its first look a file that nobody wrote into is next looked at in some seconds.
                soon = second.next_in()
                quiet = quiet + 1 if not later and (soon is None or soon > 3.0) else 0
                time.sleep(0.25)
            say({"copies": {str(one.path): str(one.target) for one in second.recovered}})
    ended.set()
    checker.join()
    second.close()
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
