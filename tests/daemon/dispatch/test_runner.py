"""Answers of the model that were paid for."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

from support_engine import Scene
from support_paid import Asking, paid
from tacitd.dispatch.runner import GRACE, HandlerRunner
from tacitd.dispatch.workers import Work
from tacitd.events import Event
from tacitd.handler import Done, Later, Outcome
from tacitd.model.claude import STOP_GRACE
from tacitd.model.process import GRACE as CHILD_GRACE


def test_an_answer_lost_in_a_crash_is_paid_for_once_more(tmp_path: Path) -> None:
    """RELIABILITY 16: killed twice between the answer and its commit; a third call is not made."""
    scene = Scene(tmp_path, Asking(), model=paid)
    scene.type("s", "one")
    for _ in range(2):
        scene.dispatcher.runner._closed = True  # as after `stop`: nothing is committed
        scene.settle()
        assert len(scene.handler.events) == 1 and scene.handler.commits == []
        scene.restart(Asking())
    scene.settle()
    assert scene.handler.events == [] and scene.app.budget.get_spending(scene.clock.now()).calls_total == 2
    assert [letter["reason"] for letter in scene.dispatcher.outcomes.dead_letters.read()] == ["begun twice"]


def test_a_good_answer_that_could_not_be_used_counts(tmp_path: Path) -> None:
    """RELIABILITY 16: the answers were good, and a full disk prevented their use. After two restarts there is no
    third call."""

    def answer(event: Event) -> Outcome:
        raise OSError(errno.ENOSPC, "No space left on device")

    scene = Scene(tmp_path, Asking(answer), model=paid)
    scene.type("s", "one")
    for _ in range(3):
        scene.settle(0)
        scene.restart(Asking(answer))
    scene.settle(1e6)
    assert scene.app.budget.get_spending(scene.clock.now()).calls_total == 2
    assert [letter["reason"] for letter in scene.dispatcher.outcomes.dead_letters.read()] == ["begun twice"]


def test_discarded_answers_are_asked_for_again_after_restarts(tmp_path: Path) -> None:
    """DESIGN "Model": an answer that cannot be parsed is kept and retried, so no prompt is given up for it."""
    useless = Later("no use", blame="work")
    answers: list[Outcome | Exception] = [useless, ValueError("no use"), useless, Done()]

    def answer(event: Event) -> Outcome:
        said = answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    scene = Scene(tmp_path, Asking(answer), model=paid)
    scene.type("s", "one")
    while answers:
        left = len(answers)
        scene.settle(1e6)
        assert len(answers) < left
        scene.restart(Asking(answer))
    assert scene.app.budget.get_spending(scene.clock.now()).calls_total == 4
    assert list(scene.dispatcher.outcomes.dead_letters.read()) == []


def test_old_calls_become_one_total(tmp_path: Path) -> None:
    """docs/files.md: the budget's log keeps each call for two months; a start folds older ones."""
    scene = Scene(tmp_path, Asking(), model=paid)
    scene.type("s", "one")
    scene.settle()
    before = scene.app.budget.get_spending(scene.clock.now()).calls_total
    scene.clock.advance(90 * 86400.0)
    scene.type("t", "two")
    scene.settle()
    scene.restart(Asking())
    records = list(scene.app.budget._log.read())
    assert before == 1 and [r["state"] for r in records] == ["total", "begun", "ended"]
    assert scene.app.budget.get_spending(scene.clock.now()).calls_total == 2


def test_all_workers_have_one_time_to_end() -> None:
    """RELIABILITY 14: several busy handlers do not add up to more than a service manager waits for."""
    given: list[float] = []

    class Busy:
        def submit(self, work: Work) -> None:
            pass

        def stop(self, grace: float) -> bool:
            given.append(grace)
            threading.Event().wait(0.05)
            return False

    runner = HandlerRunner(
        {}, lambda work: None, route_messages=lambda consumer, commit: None, mark_discarded=lambda call: None
    )
    runner._pools |= {name: Busy() for name in "abc"}
    runner.stop(10.0)
    assert len(given) == 3 and given[0] - given[2] >= 0.1
    given.clear()
    runner.stop(0.01)
    assert given[1:] == [0.0, 0.0], "the time is over"


def test_a_stop_waits_longer_than_a_call_and_shorter_than_it_may_take() -> None:
    """RELIABILITY 14: 15 s for the whole stop, of which a loaded machine needs up to 4 s besides the waiting."""
    assert STOP_GRACE + CHILD_GRACE < GRACE <= 11.0
