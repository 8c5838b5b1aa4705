"""The adapter with a client that is absent, broken, slow or hung (CLAUDE_CODE 3.4, RELIABILITY 14 and 15)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from support_model import House, why
from support_waiting import PATIENCE
from tacitd.model.environment import describe_missing
from tacitd.model.port import Answer, ModelRequest, NoAnswer, Why
from tacitd.model.process import FinishedProcess

pytestmark = pytest.mark.scenario


def test_a_client_that_cannot_be_started(house: House) -> None:
    """A broken installation costs nothing and raises nothing."""
    house.stand_in.program.write_text("#!/nowhere/node\n")
    assert why(house.model().ask(ModelRequest("a", "fast"))) is Why.ABSENT
    assert house.calls()[0]["usd"] == 0.0


def test_a_client_that_is_too_old_is_refused_before_a_call(house: House) -> None:
    """SPEC S-63: `--help` is probed before the first call, `doctor` gives the same reason, and an update ends it."""
    house.stand_in.rules([{"reply": "fine"}], unknown=["--tools", "--settings"])
    model = house.model()
    refused = model.ask(ModelRequest("a", "fast"))
    assert isinstance(refused, NoAnswer) and refused.why is Why.TOO_OLD
    assert refused.detail == describe_missing(["--tools", "--settings"]) and "2.0.76" in refused.hint
    assert house.stand_in.calls() == [] and house.calls() == [] and house.pauses == []
    house.stand_in.rules([{"reply": "fine"}])
    assert isinstance(model.ask(ModelRequest("a", "fast")), Answer)


@pytest.mark.parametrize(
    "fault", [{"returncode": 1}, {"timed_out": True}, {"stopped": True}, {"capped": True}]
)
def test_help_that_is_not_whole_is_no_verdict(house: House, fault: dict[str, Any]) -> None:
    """SPEC S-63: half of the help lacks options that the client has, so the call is made."""
    house.stand_in.rules([{"reply": "fine"}])
    model = house.model()
    real = model._runner

    def runner(argv: list[str], **options: Any) -> Any:
        if argv[1:] == ["--help"]:
            return replace(FinishedProcess(0, b"  -p, --print\n  --model <model>\n", b""), **fault)
        return real(argv, **options)

    model._runner = runner
    assert isinstance(model.ask(ModelRequest("a", "fast")), Answer)


def test_a_client_is_asked_for_its_options_once_for_each_of_its_versions(house: House) -> None:
    """SPEC S-63: what the program lacks cannot change while its file does not."""
    house.stand_in.rules([{"reply": "fine"}])
    asked: list[list[str]] = []
    model = house.model()
    real = model._runner

    def runner(argv: list[str], **options: Any) -> Any:
        asked.append(argv[1:])
        return real(argv, **options)

    model._runner = runner
    for _ in range(3):
        assert isinstance(model.ask(ModelRequest("a", "fast")), Answer)
    house.stand_in.program.write_text(house.stand_in.program.read_text() + "# an update\n")
    assert isinstance(model.ask(ModelRequest("a", "fast")), Answer)
    assert asked.count(["--help"]) == 2 and asked[0] == ["--help"]


def test_overload_is_tried_again(house: House) -> None:
    """CLAUDE_CODE 3.4: tacitd's own retries, two further tries with pauses, each of them counted."""
    house.stand_in.rules(
        [{"fault": "overloaded", "times": 1}, {"fault": "unreachable", "times": 1}, {"reply": "at last"}]
    )
    outcome = house.model().ask(ModelRequest("a", "fast"))
    assert isinstance(outcome, Answer) and outcome.text == "at last"
    assert house.pauses == [2.0, 8.0] and len(house.calls()) == 3
    house.stand_in.rules([{"fault": "overloaded"}])
    assert why(house.model().ask(ModelRequest("a", "fast"))) is Why.OVERLOADED
    assert len(house.stand_in.calls()) == 6


def test_a_stop_interrupts_the_pause(house: House) -> None:
    """RELIABILITY 14: no new try while the daemon stops."""
    house.stand_in.rules([{"fault": "overloaded"}])
    model = house.model()
    model._pause = lambda seconds: True
    assert why(model.ask(ModelRequest("a", "fast"))) is Why.OVERLOADED and len(house.stand_in.calls()) == 1


def test_at_most_two_at_a_time(house: House) -> None:
    """S-64: two children at once; the other calls wait and are answered."""
    model = house.model()
    most: list[int] = []
    real, both = model._runner, threading.Barrier(2, timeout=PATIENCE)

    def runner(argv: list[str], **more: Any) -> Any:
        if argv[1:] == ["--help"]:
            return real(argv, **more)
        both.wait()
        most.append(model.running_count)
        both.wait()
        return real(argv, **more)

    model._runner = runner
    answers = in_threads(lambda n: model.ask(ModelRequest(f"p{n}", "fast")), 6)
    assert all(isinstance(one, Answer) for one in answers) and len(answers) == 6
    assert most == [2] * 6 and model.running_count == 0


def in_threads(work: Callable[[int], Any], count: int) -> Sequence[Any]:
    """The result of each of some threads at once."""
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append(work(n))) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return results


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("exit1", Why.BAD_ANSWER),
        ("half", Why.BAD_ANSWER),
        ("flood", Why.BAD_ANSWER),
        ("logged-out", Why.LOGGED_OUT),
        ("usage-limit", Why.LIMIT),
        ("usage-limit-text", Why.LIMIT),
    ],
)
def test_faults_are_told_apart(house: House, fault: str, expected: Why) -> None:
    """CLAUDE_CODE 3.4: each has its reason, and is tried once only (ANCHORS P7: no retries that use up the quota)."""
    house.stand_in.rules([{"fault": fault, "resets_at": 4_000_000_000}])
    outcome = house.model().ask(ModelRequest("a", "fast"))
    assert why(outcome) is expected and len(house.stand_in.calls()) == 1 and house.pauses == []
    assert house.calls()[0]["reason"] == str(expected)
    assert (expected is Why.LIMIT) == (isinstance(outcome, NoAnswer) and outcome.retry_at is not None)
