"""A session with a scripted model: what happens when something fails (SPEC T-12, T-17, T-21)."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from support_tutor import CLIENT_ANSWERS, make_plan, make_store
from tacitd.model.port import Answer, NoAnswer
from tacitd_handlers.tutor.agents import AgentRequest
from tacitd_handlers.tutor.conversation import Screen, lead_conversation
from tacitd_handlers.tutor.session_model import SessionState, Step


class ScriptedScreen(Screen):
    """A `Screen` that answers by a list and keeps what was shown. After the last answer it leaves."""

    def __init__(self, answers: Sequence[str | None]) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    def show_text(self, text: str) -> None:
        """Keep the tutor's text."""
        self.shown += text.splitlines()

    def show_note(self, text: str) -> None:
        """Keep the line."""
        self.shown.append(text)

    def read_answer(self, prompt: str) -> str | None:
        """The next answer."""
        self.shown += prompt.splitlines()
        said = self._answers.pop(0) if self._answers else None
        self.shown.append(f"> {said or 'leave'}")
        return said

    def show_working(self) -> None:
        """Show nothing."""


def answer_agent(request: AgentRequest) -> Answer:
    """A plausible answer of the agent. The right choice is B; the test has two questions."""
    if request.agent == "grader":
        return Answer('{"objective_scores": [{"id": "o1", "score": 0.9}]}')
    return Answer(next(reply for words, reply in CLIENT_ANSWERS.items() if words in request.prompt))


class End(NamedTuple):
    """The state in which a conversation ended, and why the model could not be asked."""

    state: SessionState
    waits: NoAnswer | None


Reply = Callable[[AgentRequest], Answer | NoAnswer]


def lead(box: Path, answers: list[str | None], reply: Reply = answer_agent) -> tuple[End, ScriptedScreen]:
    screen = ScriptedScreen(answers)
    with make_store(box).start_session(make_plan(1, prerequisites=0)) as session:
        waits = lead_conversation(session, reply, screen)
        return End(session.state, waits), screen


def failing(agent: str, outcome: Answer | NoAnswer | None, times: int = 1000) -> Reply:
    """The script, but the first `times` calls of one agent have this outcome. None: Ctrl-C."""
    left = [times]

    def reply(request: AgentRequest) -> Answer | NoAnswer:
        if request.agent == agent and left[0]:
            left[0] -= 1
            if outcome is None:
                raise KeyboardInterrupt
            return outcome
        return answer_agent(request)

    return reply


WHOLE: list[str | None] = ["a probe", "b", "b", "so"]
"""The answers of a session on one objective: probe, micro-quiz, test."""


def test_one_bad_answer_is_retried_with_its_fault(tmp_path: Path) -> None:
    """SPEC T-12, T-17: one retry with the error named."""
    prompts: list[str] = []

    def reply(request: AgentRequest) -> Answer | NoAnswer:
        if request.agent == "grader":
            prompts.append(request.prompt)
            if len(prompts) == 1:
                return Answer('{"objective_scores": [{"id": "o1", "score": 1.2}]}')
        return answer_agent(request)

    end, _ = lead(tmp_path, list(WHOLE), reply)
    assert end.state.scores == {"o1": 0.9} and "less than or equal to 1" in prompts[1]


def test_talk_instead_of_a_judgement_asks_the_question_again(tmp_path: Path) -> None:
    """SPEC T-12: plain text is shown and does not advance the session; /skip does."""
    reply = failing("micro_quiz", Answer('{"questions": [{"q": "Free?", "type": "free", "answer": "x"}]}'))

    def talk(request: AgentRequest) -> Answer | NoAnswer:
        return Answer("Hm, let us talk.") if "micro_quiz:" in request.prompt else reply(request)

    end, screen = lead(tmp_path, ["a probe", "an answer", "another", "/skip", "b", "so"], talk)
    assert screen.shown.count("Hm, let us talk.") == 2 and screen.shown.count("Free?") == 3
    assert end.state.scores == {"o1": 0.9}


def test_questions_that_cannot_be_made_are_skipped_or_tried_again(tmp_path: Path) -> None:
    """SPEC T-12: the learner chooses; Enter tries again."""
    end, screen = lead(tmp_path, ["a probe", "", "/skip", "b", "so"], failing("micro_quiz", Answer("no")))
    assert end.state.scores == {"o1": 0.9}
    assert sum("could not be used" in line for line in screen.shown) == 2


def test_odd_answers_of_a_learner(tmp_path: Path) -> None:
    """1 MB is cut, an empty line and a wrong letter are asked again, references are shown on request (SPEC T-22)."""
    end, screen = lead(tmp_path, ["x" * 1_000_000, "/refs", "", "z", "b", "\x00", "b", "so"])
    assert end.state.scores == {"o1": 0.9}
    assert "- book: A book (shelf 3)" in screen.shown
    assert any("letter, A to B" in line for line in screen.shown)
    assert any("first 4000" in line for line in screen.shown)


def test_a_cancelled_call_can_be_tried_again(tmp_path: Path) -> None:
    """Ctrl-C ends a call of the model and nothing more."""
    reply = failing("micro_quiz", None, times=1)
    end, screen = lead(tmp_path, ["a probe", "", "b", "b", "so"], reply)
    assert end.state.scores == {"o1": 0.9} and any("was cancelled" in line for line in screen.shown)


@pytest.mark.parametrize("said", ["/skip", "/end"])
def test_a_cancelled_grading_is_not_paid_for_again(said: str, tmp_path: Path) -> None:
    """SPEC T-21: neither command has an effect during grading, so both leave; the saved test is graded later."""
    reply = failing("grader", None, times=1)
    end, screen = lead(tmp_path, [*WHOLE, said], reply)
    assert end.state.step is Step.GRADE and not end.waits
    assert any("/end saves, and it is graded later" in line for line in screen.shown)


def test_one_line_is_one_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe: answers, an empty line, the end of the input; no escape sequences are shown."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"yes\n /END \n\n{'x' * 50_000}"))
    screen = Screen()
    said = [screen.read_answer("Why?") for _ in range(5)]
    assert said == ["yes", "/END", "", "x" * 50_000, None]
    screen.show_text("\x1b[31mred")
    assert "\x1b" not in capsys.readouterr().out


def test_a_line_that_is_not_text_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC T-21: what cannot be read saves and leaves, and never ends in a traceback."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), "utf-8"))
    assert Screen().read_answer("Why?") is None
