"""Functions that other threads queue for the engine's thread."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from support_waiting import PATIENCE, until
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
