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
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.busy_files import BusyFiles
from tacitd.files.follow_up import FollowUp
from tacitd.files.late_writes import LateWrites
from tacitd.files.replaced import EditGuards, edit_file
from tacitd.text.markdown import put_line


def main(root: Path, log: Path, waiting: str) -> None:
    clock = SystemClock()
    unfinished = threading.Event()
    second = LateWrites(clock, on_kept=unfinished.set)
    guards = EditGuards(second, BusyFiles(clock) if waiting == "waits" else None)
    follow_up = FollowUp(second, unfinished)
    follow_up.start()
    refused: list[str] = []

    mutex, writing = threading.Lock(), threading.Lock()

    def say(what: dict[str, object]) -> None:
        with mutex:
            sys.stdout.write(json.dumps(what) + "\n")
            sys.stdout.flush()

    def put(path: Path, line: str) -> None:
        say({"begun": line})
        while True:
            try:
                with writing:  # as the daemon: one change of a file at a time
                    edit_file(path, lambda data: put_line(data, "Facts", line, "Learned"), guards=guards)
                return
            except FileBusyError:
                time.sleep(0.25)
            except FileRefusedError as error:
                refused.append(error.what)
                return

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
                # After its first look a file that nobody wrote into is next looked at in some seconds.
                soon = second.next_in()
                quiet = quiet + 1 if soon is None or soon > 3.0 else 0
                time.sleep(0.25)
            copies = {str(one.path): str(one.target) for one in second.recovered}
            say({"copies": copies, "refused": refused})
    follow_up.stop()
    second.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
