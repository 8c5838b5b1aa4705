"""The tutor in a real terminal, beside a real daemon, with the stand-in for claude (SPEC T-08 to T-24)."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support_calls import list_calls
from support_daemon import PROGRAM, Daemon, MakeDaemon
from support_terminal import Terminal
from support_tutor import client_rules, write_course
from support_waiting import is_gone, until

pytestmark = pytest.mark.scenario
GOLDEN = Path(__file__).parents[1] / "fixtures" / "tutor" / "terminal.txt"


@contextmanager
def terminal(daemon: Daemon, *arguments: str) -> Iterator[Terminal]:
    """The tutor in a terminal, in the project."""
    made = Terminal([*PROGRAM, "tutor", *arguments], daemon.environ, daemon.project)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def daemon(make: MakeDaemon) -> Daemon:
    made = make(client_rules(), BUDGET__CALLS_PER_MINUTE="1000")
    write_course(made.project)
    return made


def lead_whole(shown: Terminal) -> None:
    """Type the answers of a whole session."""
    shown.say("quiz", "quiz on them?")
    shown.say("b", "Which is right?")
    shown.say("nothing", "What do you know?")
    shown.say("b", "Which is right?")
    shown.say("still nothing", "What do you know?")
    shown.say("a", "Which is right?")
    shown.say("b", "[final test 1/2]")
    shown.say("so", "Say it shortly.")
    shown.wait_for("Strength: the first thing.")


def story(shown: str) -> list[str]:
    """What a person sees, in order: no spinner, no redrawn input, no times and no amounts."""
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    kept = [
        re.sub(r"\$\d+\.\d+", "$…", line)
        for line in lines
        if line and not re.search(r"Ctrl-C cancels|^[>⠀-⣿]", line)
    ]
    return [line for at, line in enumerate(kept) if at == 0 or line != kept[at - 1]]


@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_whole_session_in_a_terminal(daemon: Daemon, has_daemon: bool) -> None:
    """Seed 002: the golden transcript, once beside a daemon, once without one; the calls are in the one budget."""
    if has_daemon:
        daemon.start()
    with terminal(daemon, "start", "two") as shown:
        lead_whole(shown)
        assert shown.wait_end() == 0
        assert story(shown.shown) == GOLDEN.read_text(encoding="utf-8").splitlines()
    calls = list_calls(daemon.state)
    assert len(calls) == len(daemon.claude.calls())
    assert {(one["plugin"], one["purpose"], one["outcome"]) for one in calls} == {
        ("tutor", "tutor", "answered")
    }
    rows = json.loads(daemon.cli("tutor", "history", "--json").stdout)
    assert [(row["outcome"], row["mean"]) for row in rows] == [("finished", 0.75)]
    assert "[x] two" in daemon.cli("tutor", "map", "--project", str(daemon.project)).stdout


ROUTE = (
    ("quiz", "quiz on them?"),
    ("b", "Which is right?"),
    ("nothing", "What do you know?"),
    ("a", "Which is right?"),
    ("still nothing", "What do you know?"),
    ("a", "Which is right?"),
    ("no", "extra explanation before you go on?"),
    ("b", "[final test 1/2]"),
    ("so", "Say it shortly."),
)
"""Answers, each with the question that it answers, of a session with two failures."""


def test_a_kill_at_each_question_asks_it_again(daemon: Daemon) -> None:
    """SPEC T-24: kill -9 of the terminal while each question is pending; `resume` asks the same one."""
    command = ["start", "two"]
    for answer, question in ROUTE:
        with terminal(daemon, *command) as shown:
            shown.wait_for(question)
            shown.wait_for("\n>")
            shown.close(signal.SIGKILL)
        command = ["resume"]
        with terminal(daemon, *command) as again:
            again.say(answer, question)
            wait_for_answer(daemon, answer)
    with terminal(daemon, "resume") as last:
        last.wait_for("Strength: the first thing.")
        assert last.wait_end() == 0


def wait_for_answer(daemon: Daemon, answer: str) -> None:
    """Wait until the session's last answer is this one."""

    def is_logged() -> bool:
        texts = re.findall(r'"event":"Answered","text":"([^"]*)"', log_text(daemon))
        return bool(texts) and texts[-1] == answer

    until(is_logged, f"{answer} is in the log")


def log_text(daemon: Daemon) -> str:
    """The log of the only session."""
    (log,) = (daemon.home / ".local/share/tacitd/tutor/sessions").glob("*.jsonl")
    return log.read_text()


CALLS = (
    *("Rule 1, without", "You create prerequisite checks", "one short Socratic question"),
    *("Judge the learner's answer", "explain the pieces", "You create micro-quizzes"),
    *("end-of-session test", "rigorous grader", "closing greeting"),
)
"""Words of the prompts of a session, in its order."""


def test_a_kill_during_each_call_of_the_model_repeats_the_step(daemon: Daemon) -> None:
    """SPEC T-24: killed while it waits for the model; `resume` makes the step that was not saved."""
    command = ["start", "two"]
    answers = {question: answer for answer, question in ROUTE}
    for hung in CALLS:
        daemon.claude.rules([{"match": re.escape(hung), "fault": "hang"}, *client_rules()])
        daemon.claude.program.with_name("claude.hung").unlink(missing_ok=True)
        with terminal(daemon, *command) as shown:
            lead_until_hang(daemon, shown, answers)
            shown.close(signal.SIGKILL)
        command = ["resume"]
    daemon.claude.rules(client_rules())
    with terminal(daemon, *command) as last:
        last.wait_for("Strength: the first thing.")
        assert last.wait_end() == 0


def lead_until_hang(daemon: Daemon, shown: Terminal, answers: dict[str, str]) -> None:
    """Answer whatever is asked until the client hangs."""

    def step() -> bool:
        shown._read()
        text = shown.shown[shown._seen :]
        for question, answer in answers.items():
            if question in text and "\n>" in text[text.index(question) :]:
                shown.say(answer, question)
                return False
        return daemon.claude.hangs()

    until(step, f"the client hangs: {shown.shown[-500:]}")


def test_a_closed_terminal_leaves_no_child_and_saves(daemon: Daemon) -> None:
    """SPEC T-21: SIGHUP during a call without a daemon ends the client too; nothing is graded."""
    daemon.claude.rules([{"match": "Rule 1, without", "fault": "hang"}, *client_rules()])
    with terminal(daemon, "start", "two") as shown:
        until(daemon.claude.hangs, "the client hangs")
        child = daemon.claude.calls()[-1]["pid"]
        assert shown.close(signal.SIGHUP) == 128 + signal.SIGHUP
        until(lambda: is_gone(child), "the client has ended")
    assert "Scored" not in log_text(daemon)


def test_ctrl_c_cancels_a_call_beside_a_daemon(daemon: Daemon) -> None:
    """Ctrl-C ends the call and not the session; Enter tries again."""
    daemon.claude.rules([{"match": "Rule 1, without", "fault": "hang", "times": 1}, *client_rules()])
    daemon.start()
    with terminal(daemon, "start", "two") as shown:
        until(daemon.claude.hangs, "the client hangs")
        shown.process.send_signal(signal.SIGINT)  # what the terminal makes of Ctrl-C while nothing is read
        shown.say("", "Press Enter to try again")
        shown.wait_for("quiz on them?")
        shown.wait_for("\n>")
        shown.press("\x04")
        shown.wait_for("The session is saved")
        assert shown.wait_end() == 0
    assert (list_calls(daemon.state)[0]["outcome"], list_calls(daemon.state)[0]["reason"]) == (
        "stopped",
        "cancelled",
    )
