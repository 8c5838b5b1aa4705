"""What other threads want done in the engine's thread."""

from __future__ import annotations

import threading
from typing import NoReturn

import pytest

from support_waiting import PATIENCE, until
from tacitd.dispatch.inbox import Inbox
from tacitd.errors import UnavailableError


def _inbox() -> Inbox:
    return Inbox(threading.Event())


def _call(inbox: Inbox, answers: list[object]) -> threading.Thread:
    def ask() -> None:
        try:
            answers.append(inbox.call(lambda: 42, PATIENCE))
        except UnavailableError as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: inbox, "nothing was asked")
    return thread


def test_a_call_is_run_by_who_runs_the_inbox() -> None:
    """DESIGN "Control": one thread owns everything; others ask it."""
    inbox = _inbox()
    answers: list[object] = []
    thread = _call(inbox, answers)
    inbox.run_pending()
    thread.join(PATIENCE)
    assert answers == [42]


def test_what_is_raised_is_raised_where_it_was_asked() -> None:
    """An error of one call is not the engine's."""
    inbox = _inbox()

    def broken() -> NoReturn:
        raise ValueError("oops")

    caught: list[object] = []

    def ask() -> None:
        try:
            inbox.call(broken, PATIENCE)
        except ValueError as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: inbox, "nothing was asked")
    inbox.run_pending()
    thread.join(PATIENCE)
    assert len(caught) == 1


def test_a_call_that_nobody_waits_for_is_not_run() -> None:
    """`tacitd scan` that was given up must not spend money a minute later."""
    inbox, ran = _inbox(), []
    with pytest.raises(TimeoutError):
        inbox.call(lambda: ran.append(1), 0.001)
    inbox.run_pending()
    assert ran == []


def test_nobody_waits_when_it_is_closed() -> None:
    """DESIGN "Control": while the engine ends, and after."""
    inbox = _inbox()
    answers: list[object] = []
    thread = _call(inbox, answers)
    inbox.call_soon(lambda: answers.append("never"))
    inbox.close()
    thread.join(PATIENCE)
    assert len(answers) == 1 and isinstance(answers[0], UnavailableError)
    with pytest.raises(UnavailableError):
        inbox.call(lambda: 1, PATIENCE)
    inbox.call_soon(lambda: answers.append("never"))
    inbox.run_pending()
    assert len(answers) == 1
