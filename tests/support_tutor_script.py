"""A scripted model and learner, with which the tests lead whole sessions of the tutor."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tacitd_handlers.tutor.agent_prompts import AgentRequest, load_prompt
from tacitd_handlers.tutor.conversation import LearnerCommand, Screen

_OBJECTIVE_ID = re.compile(r"^  - ([\w.-]+): ", re.MULTILINE)


def answer_by_script(request: AgentRequest) -> str:
    """A plausible answer of the agent, in its form. The right choice is always the first one."""
    match request.agent:
        case "prereq_builder" | "micro_quiz":
            return _questions([("mcq", "")])
        case "final_test":
            ids = _OBJECTIVE_ID.findall(request.prompt)
            return _questions([("short" if at % 2 else "mcq", id) for at, id in enumerate(ids)])
        case "grader":
            ids = _OBJECTIVE_ID.findall(request.prompt)
            scores = [{"id": id, "score": 0.9 if at % 2 == 0 else 0.6} for at, id in enumerate(ids)]
            return json.dumps({"objective_scores": scores})
        case "tutor":
            return _speak(request.prompt)


def _questions(wanted: Sequence[tuple[str, str]]) -> str:
    made = []
    for number, (kind, id) in enumerate(wanted, 1):
        one: dict[str, object] = {
            "q": f"Scripted question {number}: which statement is right?",
            "type": kind,
            "answer": "A",
        }
        one |= (
            {"choices": ["It names a commit", "It copies files", "It deletes a branch"]}
            if kind == "mcq"
            else {}
        )
        made.append(one | ({"objective_ids": [id]} if id else {}))
    return json.dumps({"questions": made})


def _speak(prompt: str) -> str:
    task = next(name for name, body in load_prompt("tutor")[1].items() if body in prompt)
    if task.startswith("judge"):
        reply = {"eval": "Incorrect", "feedback": "A reference holds an id.", "next": "Next objective"}
        return json.dumps(reply | ({"eval": "Partially-Correct"} if task == "judge probe" else {}))
    return {
        "introduce": "This node is about names for commits.",
        "summarize": "Objects are files whose id follows from their content.",
        "probe": "What do you think is stored when you create a branch?",
        "explain": "A branch is a **file** that holds the id of a commit. A new commit moves it.",
        "explain again": "Think of a bookmark: it moves, and the book stays as it is.",
        "close": "You know what a branch is. The weakest objective is the second one.",
    }[task]


class ScriptedScreen(Screen):
    """A `Screen` that answers by a list and keeps what was shown. After the last answer it leaves."""

    def __init__(self, answers: Sequence[str | LearnerCommand]) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    def show_text(self, text: str) -> None:
        """Keep the tutor's text."""
        self.shown += text.splitlines()

    def show_note(self, text: str) -> None:
        """Keep the line."""
        self.shown.append(text)

    def read_answer(self, prompt: str) -> str | LearnerCommand:
        """The next answer."""
        self.shown += prompt.splitlines()
        said = self._answers.pop(0) if self._answers else LearnerCommand.LEAVE
        self.shown.append(f"> {said.value if isinstance(said, LearnerCommand) else said}")
        return said

    def show_working(self, what: str) -> None:
        """Show nothing."""
