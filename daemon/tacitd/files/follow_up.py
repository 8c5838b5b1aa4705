"""The thread that checks swapped-out files again.

Only the waiting belongs here: late_writes.py decides when a file is checked. The thread sleeps while there is nothing to do.
"""

from __future__ import annotations

import threading

from loguru import logger

from tacitd.errors import TacitdError
from tacitd.files.busy_files import AGAIN
from tacitd.files.late_writes import LateWrites


class FollowUp:
    """One thread, from `start` to `stop`. Without `start`, a caller of `run_once` does the same work."""

    def __init__(self, second: LateWrites, wake: threading.Event | None = None) -> None:
        """`wake`: what `second` sets when it has more to do; without it the thread finds that only when something else is due."""
        self._late_writes = second
        self._stopping = False
        self._wake = wake or threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread. Raises RuntimeError if no thread can be created."""
        self._thread = threading.Thread(target=self._run, name="follow-up", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after its current work, and wait for it."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run_once(self) -> float | None:
        """Do what is due. Returns the seconds until there may be more work; None if nothing is left. Raises OSError, TacitdError."""
        self._late_writes.check_due()
        return self._late_writes.next_in()

    def _run(self) -> None:
        pause: float | None = 0.0
        while not self._stopping:
            self._wake.wait(pause)
            self._wake.clear()
            try:
                pause = self.run_once()
            except (OSError, TacitdError) as error:
                logger.warning("files that were swapped out cannot be checked now: {}", error)
                pause = AGAIN
            if pause is not None:
                # Due work that cannot be done yet must not make this loop spin.
                pause = max(0.05, pause)
