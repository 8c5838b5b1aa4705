"""Run a blocking call in a thread, so that Ctrl-C in the terminal can end it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from threading import Event
from typing import TypeVar

T = TypeVar("T")
LAST_WAIT = 15.0
"""Seconds that a cancelled call has to end its child."""


def run_cancellable(work: Callable[[Event], T]) -> T | None:
    """Run the work; return its result, or None if Ctrl-C ended it. Raises what it raises.

    Any other exception in the waiting thread (a signal that ends the program) ends the call first, so that no child of
    the model outlives the terminal.
    """
    cancel = Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(cancel))
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="tutor-work", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except KeyboardInterrupt:
        cancel.set()
        thread.join(LAST_WAIT)
        return None
    except BaseException:
        cancel.set()
        thread.join(LAST_WAIT)
        raise
    if errors:
        raise errors[0]
    return results[0]
