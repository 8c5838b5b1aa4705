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
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.contract import Cause, Done, FileChange, Task
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import NoProject
from tacitd.files.atomic import FileSnapshot
from tacitd.files.editors import Editors
from tacitd.files.formats import Bullets, bullet
from tacitd.files.shared_files import SharedFiles
from tacitd.store import Store


class Rushing(Editors):
    """Waits for no editor."""

    def check_at_rest(self, target: Path, seen: FileSnapshot | None) -> None:
        pass

    def check_marks(self, target: Path) -> None:
        pass


def main(state: Path, waiting: str) -> None:
    clock = SystemClock()
    editors = Editors(clock) if waiting == "waits" else Rushing(clock)
    state.mkdir(mode=0o700, exist_ok=True)
    store = Store.open(state, clock)
    files = SharedFiles(store, clock, editors=editors)
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
        made = FileChange(path, format, lambda now, edits: {leaf: line}, Cause(line, "prompt"))
        task, done = (
            Task(zlib.crc32(line.encode()), "command", "", NoProject("", "none"), None),
            Done(files=(made,)),
        )
        files.read("test", task, done)
        with store.write() as tx:
            files.plan(tx, "test", task, done)
        files.settle(path)
        files.swap("test", task)

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
            editors.check_old_files()

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
            while quiet < 14:  # a person writes into an old file for at most three seconds
                waits = later.copy()
                later.clear()
                for path, line in waits:
                    try:
                        change(path, line)
                    except (FileBusyError, FileRefusedError):
                        later.append((path, line))
                quiet = 0 if later else quiet + 1
                time.sleep(0.25)
            say({"copies": {str(path): str(target) for path, target in editors.list_copies()}})
    ended.set()
    checker.join()
    editors.close()
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
