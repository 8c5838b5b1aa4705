"""The thread that comes back to files: looks again at what was swapped out, and finishes transactions that waited.

It sleeps until there is something to come back to. When a file is looked at is decided by second_look.py, and whether a
transaction can be finished by transaction.py; only the waiting is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from loguru import logger

from tacitd.errors import TacitdError
from tacitd.files.busy import AGAIN
from tacitd.files.second_look import SecondLook
from tacitd.files.transaction import History


class FollowUp:
    """One thread, from `start` to `stop`; without it, whoever calls `run_once` does the same."""

    def __init__(self, second: SecondLook, history: History, is_wanted: Callable[[Path], bool]) -> None:
        """`is_wanted`: given the root of a project, whether its files may be written."""
        self._second = second
        self._history = history
        self._is_wanted = is_wanted
        self._stopping = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        second.on_kept = history.on_busy = self._wake.set

    def start(self) -> None:
        """Begin. Raises RuntimeError where no thread can be made."""
        self._thread = threading.Thread(target=self._run, name="follow-up", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, after what is being done now."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run_once(self) -> float | None:
        """Do what is due. Returns the seconds after which there may be more; None: there is nothing to come back to.

        Raises OSError and TacitdError where the history log cannot be read or written.
        """
        self._second.look()
        if self._history.has_busy:
            self._history.recover(self._is_wanted, only_busy=True)
        soon = self._second.next_in()
        if self._history.has_busy:
            return AGAIN if soon is None else min(AGAIN, soon)
        return soon

    def _run(self) -> None:
        pause: float | None = 0.0
        while not self._stopping:
            self._wake.wait(pause)
            self._wake.clear()
            try:
                pause = self.run_once()
            except (OSError, TacitdError) as error:
                logger.warning("files that wait cannot be finished now: {}", error)
                pause = AGAIN
            if pause is not None:
                pause = max(0.05, pause)
