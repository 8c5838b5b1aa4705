"""Start, resume, discard and grade sessions from the command line.

Exit codes: 0 the session is over or saved, 75 it waits for the model.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tacitd.cli.common import echo_message
from tacitd.errors import OK, PARKED, TacitdError, UsageError
from tacitd.model.port import NoAnswer
from tacitd_handlers.tutor.agent_calls import FailedStep, ModelAccess, run_grading
from tacitd_handlers.tutor.conversation import HELP, lead_conversation
from tacitd_handlers.tutor.graph_files import GraphFile, find_node, list_graphs
from tacitd_handlers.tutor.knowledge_graph import GraphNode
from tacitd_handlers.tutor.mastery import MasteryBook, measure_node, select_objectives, suggest_nodes
from tacitd_handlers.tutor.screen import Screen
from tacitd_handlers.tutor.session_log import TutorSession, TutorStore
from tacitd_handlers.tutor.session_model import (
    Closed,
    Ended,
    GradingFailed,
    ReplayedSession,
    SessionPlan,
    Step,
    TestMix,
)
from tacitd_handlers.tutor.settings import TutorSettings

NEXT = 3
"""Next nodes that the closing names."""
HOUR = 3600.0
"""Seconds between tries to grade a test again that are not asked for: each is up to two calls of the accurate tier."""
_SIGNALS = (signal.SIGHUP, signal.SIGTERM)


def start_session(store: TutorStore, name: str, root: Path) -> int:
    """Start a session on a node and lead it. Raises UsageError if there is no such node, or one on it is open."""
    file, node = find_node(list_graphs(store.directory, root), name)
    for one in store.tend_sessions():
        plan = one.state.plan
        if one.state.is_open and (plan.graph, plan.node_id) == (file.key, node.id):
            raise UsageError(
                f"the session {plan.session} on {plan.title} is open",
                "`tacitd tutor resume` continues it, `tacitd tutor end --discard` closes it",
            )
    access, screen = ModelAccess(os.environ, file.project), Screen()
    plan = plan_session(file, node, store.read_mastery(), access.settings, store.clock.now())
    skipped = len(node.objectives) - len(plan.objectives)
    if skipped:
        screen.show_note(f"{skipped} objectives are mastered already and left out.")
    screen.show_note(
        f"{plan.title}: {len(plan.objectives)} objectives, about half an hour. The tutor may spend "
        f"${access.usd_per_day:.2f} a day."
    )
    screen.show_note(HELP)
    with store.start_session(plan) as session:
        return _lead(store, session, access, screen)


def plan_session(
    file: GraphFile, node: GraphNode, book: MasteryBook, settings: TutorSettings, now: float
) -> SessionPlan:
    """The plan of a session on a node; its id is made when it starts. `now`: seconds since 1970, UTC."""
    graph, key = file.graph, file.key
    mix = TestMix(settings.test_mcq, settings.test_short, settings.test_paraphrase)
    following = [one for one in graph.list_followers(node.id) if not measure_node(book, key, one).is_mastered]
    following += [one.node for one in suggest_nodes(book, key, graph, now) if one.node.id != node.id]
    return SessionPlan(
        session="",
        graph=key,
        project=file.project,
        node_id=node.id,
        title=node.title,
        objectives=select_objectives(book, key, node),
        prerequisites=graph.list_prerequisites(node),
        references=node.references,
        level=graph.level,
        next_nodes=tuple(dict.fromkeys(one.title for one in following))[:NEXT],
        mix=mix if mix.mcq + mix.short + mix.paraphrase else TestMix(),
    )


def resume_session(store: TutorStore, id: str | None, *, is_ending: bool = False) -> int:
    """Continue a session at its pending question; `is_ending`: with its test. Raises UsageError, UnavailableError."""
    with store.open_session(id or _choose_session(store)) as session:
        plan, state = session.state.plan, session.state
        if not state.is_open:
            what = f"the session {plan.session} is over ({state.outcome})"
            raise UsageError(what, "`tacitd tutor history` shows its scores")
        screen = Screen()
        if session.found.bad:
            screen.show_note(f"{session.found.bad} damaged records of the session are skipped.")
        screen.show_note(f"Continuing: {plan.title}")
        if is_ending:
            session.record_event(Ended())
        return _lead(store, session, ModelAccess(os.environ, plan.project), screen)


def discard_session(store: TutorStore, id: str | None) -> int:
    """Close a session without a test. Raises UsageError, UnavailableError."""
    with store.open_session(id or _choose_session(store)) as session:
        if session.state.step is Step.GRADE:
            what = "the test of this session is handed in and waits for its grade"
            raise UsageError(what, "`tacitd tutor grade`")
        session.record_event(Closed("discarded"))
    echo_message("closed without a test; mastery is unchanged")
    return OK


def grade_sessions(store: TutorStore, id: str | None) -> int:
    """Grade the tests without scores; return 75 if one still has none. Raises UnavailableError."""
    waiting = [one for one in store.tend_sessions() if one.state.needs_grading]
    chosen = [one for one in waiting if id in (None, one.state.plan.session)]
    if not chosen:
        echo_message("no test waits for its grade")
    are_graded = [_grade(store, one) for one in chosen]
    return OK if all(are_graded) else PARKED


def list_graded(store: TutorStore) -> list[ReplayedSession]:
    """All sessions. Tests that have no scores are graded first, if that did not fail in the last hour (SPEC T-21)."""
    now, sessions = store.clock.now(), store.tend_sessions()
    due = [one for one in sessions if one.state.needs_grading]
    due = [one for one in due if not one.state.grading_tries or now - one.last >= HOUR]
    for one in due:
        try:
            _grade(store, one)
        except TacitdError as error:  # it is open in a terminal, or the store cannot be used
            echo_message(f"{one.state.plan.title}: not graded: {error.what}")
    return store.tend_sessions() if due else sessions


def _grade(store: TutorStore, found: ReplayedSession) -> bool:
    """Ask for the grade of one test, and print what came of it; return whether it has scores now."""
    plan = found.state.plan
    with store.open_session(plan.session) as session:
        if not session.state.needs_grading:
            return True  # another process has graded it since the sessions were listed
        access = ModelAccess(os.environ, plan.project)
        outcome = run_grading(session.state, access)
        if isinstance(outcome, NoAnswer):
            hint = f" (hint: {outcome.hint})" if outcome.hint else ""
            echo_message(f"{plan.title}: not graded: {outcome.reason}{hint}")
            return False
        if isinstance(outcome, FailedStep):
            session.record_event(GradingFailed(outcome.fault))
            access.settle()
            echo_message(f"{plan.title}: the grader's answer could not be used: {outcome.fault}")
            return False
        store.record_scores(session.record_event(outcome), store.clock.now())
        access.settle()
    for one in plan.objectives:
        if one.id in outcome.scores:
            echo_message(f"{outcome.scores[one.id]:.2f}  {one.text}")
    return True


def _lead(store: TutorStore, session: TutorSession, ask: ModelAccess, screen: Screen) -> int:
    """Lead a session in a terminal; return the exit code. A signal that ends the terminal leaves the session saved."""
    try:
        with _ended_by_signals():
            waits = lead_conversation(session, ask, screen)
            ask.settle()
    finally:
        store.record_scores(session.state, store.clock.now())
    if waits is not None:
        screen.show_note(f"The model does not answer: {waits.reason}")
        if waits.hint:
            screen.show_note(f"hint: {waits.hint}")
    if session.state.is_open:
        screen.show_note("The session is saved: `tacitd tutor resume` continues here.")
    return PARKED if waits is not None else OK


def _choose_session(store: TutorStore) -> str:
    """The id of the open session that was used last. Raises UsageError if there is none."""
    open_sessions = [one for one in store.tend_sessions() if one.state.is_open]
    if not open_sessions:
        hint = "`tacitd tutor start NODE` starts one; `tacitd tutor map` lists the nodes"
        raise UsageError("no session is open", hint)
    return max(open_sessions, key=lambda one: one.last).state.plan.session


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """While this is entered, a closed terminal (SIGHUP) or SIGTERM ends the program with `SystemExit`, and so a call of the model."""

    def leave(number: int, frame: FrameType | None) -> None:
        # A closed terminal may send two of them. The second must not interrupt what the first ends.
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    handler: Callable[[int, FrameType | None], None] = leave
    old = {one: signal.signal(one, handler) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)
