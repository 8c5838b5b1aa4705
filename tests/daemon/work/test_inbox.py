"""Functions that other threads queue for the engine's thread."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from support_waiting import PATIENCE, until
from tacitd.errors import UnavailableError
from tacitd.work.inbox import Inbox


def _inbox() -> Inbox:
    return Inbox(threading.Event())


def test_an_exception_is_raised_in_the_calling_thread() -> None:
    """The error of a call does not stop the engine."""
    inbox = _inbox()
    with ThreadPoolExecutor() as pool:
        asked: Future[object] = pool.submit(inbox.call, lambda: [][0], PATIENCE)
        until(lambda: inbox, "nothing was asked")
        inbox.run_pending()
        assert isinstance(asked.exception(), IndexError)


def test_a_call_whose_caller_gave_up_is_not_run() -> None:
    """A `tacitd scan` that timed out must not spend money a minute later."""
    inbox, ran = _inbox(), []
    with pytest.raises(TimeoutError):
        inbox.call(lambda: ran.append(1), 0.001)
    inbox.run_pending()
    assert ran == []


def test_no_caller_waits_for_a_closed_inbox() -> None:
    """DESIGN "Control": one that waits while the engine stops, and one that comes afterwards."""
    inbox = _inbox()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(inbox.call, lambda: 42, PATIENCE)
        until(lambda: inbox, "nothing was asked")
        inbox.close()
        with pytest.raises(UnavailableError):
            waiting.result(PATIENCE)
    with pytest.raises(UnavailableError):
        inbox.call(lambda: 1, PATIENCE)
