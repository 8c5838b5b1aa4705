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
    cancel, ended = Event(), Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(cancel))
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
            errors.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="tutor-work", daemon=True)
    # Not `Thread.join`: until Python 3.13, an exception in it marks a thread that still runs as ended.
    try:
        thread.start()
        while not ended.wait(0.1):
            pass
    except KeyboardInterrupt:
        cancel.set()
        ended.wait(LAST_WAIT)
        return None
    except BaseException:
        cancel.set()
        ended.wait(LAST_WAIT)
        raise
    if errors:
        raise errors[0]
    return results[0]
