"""Lead a session: ask the model or the learner for what the policy waits for, and record every transition.

The commands call the model in their own process, within the one budget of the store. A request is made once, and once more with the
fault of its answer (SPEC T-12, T-17). What comes next is decided by `session_policy`. Each event is durable before anything that follows from it is shown, so that
the terminal can be closed at any moment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

import click
from msgspec.structs import replace

from tacitd.config.settings import load_config
from tacitd.contract import Part
from tacitd.errors import TacitdError
from tacitd.model.budget import Budget
from tacitd.model.port import Answer, ModelRequest, NoAnswer
from tacitd.model_factory import open_model
from tacitd.state.paths import Paths
from tacitd.text.hashes import sha256
from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.tutor.agents import (
    AGENTS,
    LONGEST_ANSWER,
    AgentRequest,
    UnusableAnswer,
    build_request,
    clean_text,
    parse_agent_answer,
)
from tacitd_handlers.tutor.session_log import (
    TutorSession,
    describe_event,
    describe_pending,
    format_progress,
    format_results,
)
from tacitd_handlers.tutor.session_model import (
    MODEL_STEPS,
    QUESTION_STEPS,
    Answered,
    Ended,
    GradingFailed,
    NotJudged,
    SessionEvent,
    SessionState,
    Skipped,
    Spoke,
    Step,
)
from tacitd_handlers.tutor.session_policy import BACK, LETTERS, find_choice, find_known_verdict

AskAgent = Callable[[AgentRequest], Answer | NoAnswer]
"""Asks the model and blocks. Raises KeyboardInterrupt if Ctrl-C ended the call, and TacitdError if there is no store."""
PURPOSE = "tutor"
"""The plugin and the purpose of all calls of the tutor."""


class ModelAccess:
    """An `AskAgent` for a terminal. `project`: the root that a call is counted for, "" for none."""

    def __init__(self, environ: Mapping[str, str], project: str = "") -> None:
        """Read the settings. Raises ConfigError."""
        self._paths = Paths.from_env(environ)
        self._environ = environ
        self._project = project
        self._config = load_config(self._paths.config_file, environ, broken=True)
        self.usd_per_day = self._config.budget.usd_per_day / 2
        """What the tutor may spend in a day, in US dollars."""
        self._answered: list[int] = []

    def __call__(self, request: AgentRequest) -> Answer | NoAnswer:
        """Ask. An answer that was paid for is kept with its prompt until the next call or `settle`: if a kill comes before what it
        means is recorded, asking the same again returns it without a call."""
        digest = sha256(request.prompt.encode(errors="replace")).hexdigest()
        part = Part("work", 0, f"{request.agent} {digest}", request.prompt)
        tier, _, system = AGENTS[request.agent]
        asked = ModelRequest(
            request.prompt,
            tier,
            system=system,
            purpose=PURPOSE,
            usd_per_day=self.usd_per_day,
            project=self._project,
            plugin=PURPOSE,
            about=(part,),
        )
        with open_model(self._paths, self._environ, self._config) as (model, budget):
            self._settle(budget)
            answer: Answer | NoAnswer | None = budget.find_answer(PURPOSE, PURPOSE, asked.about)
            if answer is None:
                budget.allow_again(asked.about)  # a person asks again on purpose
                answer = model.ask(asked)
            self._answered = [int(answer.call)] if isinstance(answer, Answer) and answer.call else []
            return answer

    def settle(self) -> None:
        """Forget the last answer, which is recorded or was of no use. If the store cannot be written, it stays."""
        if self._answered:
            with (
                suppress(TacitdError, OSError),
                open_model(self._paths, self._environ, self._config) as (_, budget),
            ):
                self._settle(budget)

    def _settle(self, budget: Budget) -> None:
        if self._answered:
            budget.settle(self._answered, used=True)
        self._answered = []


def run_model_step(state: SessionState, ask: AskAgent) -> SessionEvent | UnusableAnswer | NoAnswer:
    """Ask for what the step waits for, a second time with the fault of the first answer if it cannot be used (SPEC T-12)."""
    request = build_request(state)
    outcome = ask(request)
    if isinstance(outcome, NoAnswer):
        return outcome
    parsed = parse_agent_answer(state, outcome.text)
    if not isinstance(parsed, UnusableAnswer):
        return parsed
    outcome = ask(request.with_error(parsed.fault))
    return outcome if isinstance(outcome, NoAnswer) else parse_agent_answer(state, outcome.text)


def run_grading(state: SessionState, ask: AskAgent) -> SessionEvent | UnusableAnswer | NoAnswer:
    """The same for the grader, at any step after the test was handed in."""
    return run_model_step(replace(state, step=Step.GRADE), ask)


# --- the conversation

HELP = "/end: end with the test   /skip: skip this   /refs: references   Ctrl-D: save and leave"


class Screen:
    """Shows Markdown and reads answers; it knows nothing about sessions."""

    def __init__(self) -> None:
        """Use standard input and output. On a terminal the arrow keys recall earlier answers, which are in memory only."""
        self._is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if self._is_terminal and os.environ.get("TERM") != "dumb":
            with suppress(ImportError):  # some builds of Python have no line editor
                import readline  # noqa: F401  `input` uses it from then on

    def show_text(self, text: str) -> None:
        """Show Markdown of the tutor."""
        click.echo(f"{sanitize_text(text)}\n")

    def show_note(self, text: str) -> None:
        """Show a line that is not the tutor's: progress, a saved session, an error."""
        click.echo(sanitize_text(text))

    def read_answer(self, prompt: str) -> str | None:
        """Ask the learner; return one line. None: the terminal is closed, Ctrl-D, or the end of the input."""
        if prompt:
            click.echo(sanitize_text(prompt))
        while True:
            try:
                said = input("> ").strip()
            except KeyboardInterrupt:
                self.show_note("\nCtrl-D saves and leaves; /end ends the session with its test.")
                continue
            except (EOFError, OSError, ValueError):
                return None
            if not self._is_terminal:
                click.echo()
            return said

    def show_working(self) -> None:
        """Say on a terminal that the model is called."""
        if self._is_terminal:
            self.show_note("thinking (Ctrl-C cancels)")


def lead_conversation(session: TutorSession, ask: AskAgent, screen: Screen) -> NoAnswer | None:
    """Lead the session until it is over or the learner leaves, or return why the model cannot be asked. Everything is saved.

    Raises OSError or FileRefusedError if a transition cannot be saved, and TacitdError if there is no store for the budget.
    """
    leader = _Leader(session, ask, screen)
    while session.state.is_open and not leader.has_left:
        if session.state.step not in MODEL_STEPS:
            leader.ask_learner()
        elif (refused := leader.run_model()) is not None:
            return refused
    return None


class _Leader:
    def __init__(self, session: TutorSession, ask: AskAgent, screen: Screen) -> None:
        self._session = session
        self._ask = ask
        self._screen = screen
        self._progress = ""
        self.has_left = False

    def run_model(self) -> NoAnswer | None:
        """One step of the model; returns why it cannot be asked now."""
        state = self._session.state
        known = find_known_verdict(state)
        if known is not None:
            self._record(known)
            return None
        if state.step is Step.CLOSE and state.scores is None:
            self._close(state)  # nothing was graded, so there is nothing that the model knows better
            return None
        self._screen.show_working()
        try:
            outcome = run_model_step(state, self._ask)
        except KeyboardInterrupt:
            self._offer_again("The call was cancelled.")
            return None
        match outcome:
            case NoAnswer():
                return outcome
            case UnusableAnswer(
                fault, text
            ):  # twice: the plain-text way, which does not advance the session (SPEC T-12)
                if state.step is Step.CLOSE:
                    self._close(state)
                elif state.step is Step.GRADE:
                    self._record(GradingFailed(fault))
                    self._screen.show_note(
                        "The test is saved without a grade. `tacitd tutor grade` tries again."
                    )
                elif state.step in BACK:
                    self._record(NotJudged(text or fault))
                    self._screen.show_note(
                        "That was not a judgement, so the question is asked again. /skip goes on."
                    )
                else:
                    self._offer_again(f"The model's answer could not be used ({fault}).")
            case _:
                self._record(outcome)
        return None

    def _close(self, state: SessionState) -> None:
        """The greeting without the model."""
        following = f"Next: {'; '.join(state.plan.next_nodes)}." if state.plan.next_nodes else ""
        self._record(Spoke("\n".join([*format_results(state), following])))

    def _offer_again(self, why: str) -> None:
        """Anything but a command tries again. A test that was handed in can only wait: going on would repeat the cancelled call."""
        is_grading = self._session.state.step is Step.GRADE
        others = (
            "/end saves, and it is graded later" if is_grading else "/skip goes on, /end ends the session"
        )
        self._screen.show_note(f"{why} Press Enter to try again; {others}.")
        said = self._screen.read_answer("")
        self._obey(None if is_grading and said else said)

    def _obey(self, said: str | None) -> bool:
        """Do what can be done at every step; return whether it was that."""
        match said and said.lower():
            case None:
                self.has_left = True
            case "/end":
                self._record(Ended())
            case "/skip":
                self._record(Skipped())
            case _:
                return False
        return True

    def ask_learner(self) -> None:
        """One question to the learner."""
        state = self._session.state
        progress = format_progress(state)
        if progress != self._progress:
            self._progress = progress
            self._screen.show_note(progress)
        said = self._screen.read_answer(describe_pending(state))
        if self._obey(said) or said is None:
            return
        text = clean_text(said, LONGEST_ANSWER)
        if said.lower() == "/refs":
            self._screen.show_text(format_references(state))
        elif not text or said.lower() == "/help":
            self._screen.show_note(HELP)
        elif (
            state.step in QUESTION_STEPS
            and state.question.choices
            and find_choice(state.question, text) is None
        ):
            last = LETTERS[len(state.question.choices) - 1]
            self._screen.show_note(f"Answer with a letter, A to {last}; /skip leaves it out.")
        else:
            if len(said) > LONGEST_ANSWER:
                self._screen.show_note(f"Only the first {LONGEST_ANSWER} characters of the answer are used.")
            self._record(Answered(text))

    def _record(self, event: SessionEvent) -> None:
        before = self._session.state
        after = self._session.record_event(event)
        if text := describe_event(event, before, after):
            self._screen.show_text(text)


def format_references(state: SessionState) -> str:
    """The references of the node, on request (SPEC T-22)."""
    lines = [f"- {one.id}: {one.title} ({one.where})" for one in state.plan.references]
    return "\n".join(lines) or "This node has no references."
