"""Lead a session from the command line: choose the terminal, start or resume, and report how it ended.

Exit codes: 0 the session is over or saved, 75 it waits for the model.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType

from tacitd.cli.common import echo_message
from tacitd.clock import SystemClock
from tacitd.errors import OK, PARKED, UsageError
from tacitd.model.port import NoAnswer
from tacitd_handlers.tutor.agent_calls import AskAgent, FailedStep, run_grading
from tacitd_handlers.tutor.conversation import HELP, ConversationEnd, TutorScreen, lead_conversation
from tacitd_handlers.tutor.graph_library import find_node, list_graphs
from tacitd_handlers.tutor.handler import refresh_overview
from tacitd_handlers.tutor.model_access import system_access
from tacitd_handlers.tutor.plain_screen import PlainScreen
from tacitd_handlers.tutor.session_model import Closed, Ended, GradingFailed, Step
from tacitd_handlers.tutor.session_planning import describe_change, plan_session
from tacitd_handlers.tutor.session_records import ReplayedSession
from tacitd_handlers.tutor.store import TutorSession, TutorStore
from tacitd_handlers.tutor.tutor_paths import find_tutor_paths


def open_tutor_store() -> TutorStore:
    """The store for this process's environment."""
    return TutorStore(find_tutor_paths(os.environ), SystemClock())


def make_screen(plain: bool) -> TutorScreen:
    """The screen: with a line editor if standard input and output are a terminal and `plain` was not asked for."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return PlainScreen(sys.stdin, is_terminal=is_terminal and not plain)


def start_session(name: str, root: Path, *, is_new: bool, plain: bool) -> int:
    """Start a session on a node and lead it. Raises UsageError if there is no such node, or one on it is open."""
    store = open_tutor_store()
    found = find_node(list_graphs(store.paths, root), name)
    for one in [] if is_new else _list_open(store):
        plan = one.state.plan
        if (plan.graph, plan.node_id) == (found.file.key, found.node.id):
            raise UsageError(
                f"the session {plan.session} on {plan.title} is open",
                "`tacitd tutor resume` continues it, `tacitd tutor end --discard` closes it, `--new` starts another",
            )
    access = system_access(found.file.project)
    plan = plan_session(
        found.graph,
        found.file.key,
        found.node,
        store.read_mastery(),
        access.settings,
        project=found.file.project,
        now=store.clock.now(),
    )
    screen = make_screen(plain)
    skipped = len(found.node.objectives) - len(plan.objectives)
    if skipped:
        screen.show_note(f"{skipped} objectives are mastered already and left out.")
    screen.show_note(
        f"{plan.title}: {len(plan.objectives)} objectives, about half an hour. The tutor may spend "
        f"${access.usd_per_day:.2f} a day."
    )
    screen.show_note(HELP)
    with store.start_session(plan) as session:
        return lead_session(store, session, access, screen)


def resume_session(id: str | None, *, plain: bool, is_ending: bool = False) -> int:
    """Continue a session at its pending question; `is_ending`: with its test. Raises UsageError, UnavailableError."""
    store = open_tutor_store()
    chosen = id or _choose_session(store)
    with store.open_session(chosen) as session:
        state = session.state
        if not state.is_open:
            raise UsageError(
                f"the session {chosen} is over ({state.outcome})", "`tacitd tutor history` shows its scores"
            )
        screen = make_screen(plain)
        graphs = list_graphs(store.paths, Path(state.plan.project) if state.plan.project else None)
        known = next((one.parsed.graph for one in graphs if one.key == state.plan.graph), None)
        change = describe_change(state.plan, known)
        if change:
            screen.show_note(change)
        if session.found.bad:
            screen.show_note(f"{session.found.bad} damaged records of the session are skipped.")
        screen.show_note(f"Continuing: {state.plan.title}")
        if is_ending:
            session.record_event(Ended())
        return lead_session(store, session, system_access(state.plan.project), screen)


def lead_session(store: TutorStore, session: TutorSession, ask: AskAgent, screen: TutorScreen) -> int:
    """Lead a session in a terminal; return the exit code. A signal that ends the terminal leaves the session saved."""
    try:
        with _ended_by_signals():
            end = lead_conversation(session, ask, screen)
    finally:
        store.record_scores(session.state, store.clock.now())
        refresh_overview(store)
    _report_end(session, end, screen)
    return PARKED if end.waits else OK


def _report_end(session: TutorSession, end: ConversationEnd, screen: TutorScreen) -> None:
    state = end.state
    if end.waits:
        screen.show_note(f"The model does not answer: {end.waits}")
        if end.hint:
            screen.show_note(f"hint: {end.hint}")
    if state.is_open:
        screen.show_note("The session is saved: `tacitd tutor resume` continues here.")


def discard_session(id: str | None) -> int:
    """Close a session without a test. Raises UsageError, UnavailableError."""
    store = open_tutor_store()
    with store.open_session(id or _choose_session(store)) as session:
        if session.state.step is Step.GRADE:
            raise UsageError(
                "the test of this session is handed in and waits for its grade", "`tacitd tutor grade`"
            )
        session.record_event(Closed("discarded"))
    refresh_overview(store)
    echo_message("closed without a test; mastery is unchanged")
    return OK


def grade_sessions(id: str | None) -> int:
    """Grade tests without scores; return 75 if one still has none."""
    store, code = open_tutor_store(), OK
    waiting = [one for one in store.list_sessions() if one.state.needs_grading]
    if id is not None:
        waiting = [one for one in waiting if one.state.plan.session == id]
    if not waiting:
        echo_message("no test waits for its grade")
        return OK
    for found in waiting:
        plan = found.state.plan
        with store.open_session(plan.session) as session:
            if not session.state.needs_grading:
                continue  # the daemon has graded it since the sessions were listed
            outcome = run_grading(session.state, system_access(plan.project), Event())
            if isinstance(outcome, NoAnswer):
                echo_message(
                    f"{plan.title}: {outcome.reason}{f' (hint: {outcome.hint})' if outcome.hint else ''}"
                )
                code = PARKED
                continue
            if isinstance(outcome, FailedStep):
                session.record_event(GradingFailed(outcome.fault))
                echo_message(f"{plan.title}: the grader's answer could not be used: {outcome.fault}")
                code = PARKED
                continue
            state = session.record_event(outcome)
            store.record_scores(state, store.clock.now())
        for one in plan.objectives:
            if one.id in outcome.scores:
                echo_message(f"{outcome.scores[one.id]:.2f}  {one.text}")
    refresh_overview(store)
    return code


def _list_open(store: TutorStore) -> list[ReplayedSession]:
    return [one for one in store.list_sessions() if one.state.is_open]


def _choose_session(store: TutorStore) -> str:
    """The id of the open session that was used last. Raises UsageError if there is none."""
    open_sessions = _list_open(store)
    if not open_sessions:
        raise UsageError(
            "no session is open", "`tacitd tutor start NODE` starts one; `tacitd tutor map` lists the nodes"
        )
    return max(open_sessions, key=lambda one: one.last).state.plan.session


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """While this is entered, a closed terminal (SIGHUP) or SIGTERM ends the program in an orderly way."""

    def leave(number: int, frame: FrameType | None) -> None:
        # A closed terminal may send two of them. The second must not interrupt what the first ends: a call of the model.
        for one in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    handler: Callable[[int, FrameType | None], None] = leave
    old = {one: signal.signal(one, handler) for one in (signal.SIGHUP, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)
