"""The tutor in the daemon: retries grading, expires sessions that nobody continues, keeps the overview, makes the calls.

It handles no transcripts. Sessions are led by the command line; a terminal asks for the model through `tutor.ask`, so that
the budget's log has one writer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from threading import Event as Flag
from typing import Any

from tacitd.errors import LogDamagedError, UnavailableError, UsageError, describe_failure
from tacitd.events import Due, Event
from tacitd.handler import BaseHandler, Degradation, Done, Later, Notice, Outcome, Tools
from tacitd.model.port import Answer, NoAnswer
from tacitd_handlers.tutor.agent_prompts import AGENTS, AgentRequest
from tacitd_handlers.tutor.mastery import compute_mean
from tacitd_handlers.tutor.overview import build_overview, list_retests
from tacitd_handlers.tutor.session_model import Closed, GradingFailed
from tacitd_handlers.tutor.session_policy import can_be_closed
from tacitd_handlers.tutor.session_records import ReplayedSession
from tacitd_handlers.tutor.store import TutorStore, read_overview
from tacitd_handlers.tutor.tutor_paths import find_tutor_paths

GRADE, EXPIRE = "grade", "expire"
EXPIRED_AFTER = 30 * 86400.0
"""Seconds without an event after which a session that waits for the learner is over (SPEC T-24)."""
IMPLAUSIBLE = 400 * 86400.0
"""Seconds after which the clock is doubted: nothing expires because a machine started in another year."""
TRIES = 8
"""Failures of grading after which only a person tries again, because the accurate tier is dear."""
HOUR = 3600.0
DAMAGED, GRADING = "tutor.damaged", "tutor.grading"


class TutorHandler(BaseHandler):
    """Seed 002 as a handler of the daemon."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._paths = find_tutor_paths(os.environ if environ is None else environ)
        self._calls: dict[str, Flag] = {}
        self._lock = threading.Lock()
        self._looked_at = 0.0

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Run the two jobs; ignore other events."""
        if not isinstance(event, Due) or event.job not in (GRADE, EXPIRE):
            return Done()
        self._looked_at = tools.clock.now()
        store = TutorStore(self._paths, tools.clock)
        try:
            if not self._paths.sessions.exists():
                return Done()
            outcome = self._retry_grading(store, tools) if event.job == GRADE else self._expire(store)
            refresh_overview(store)
        except (OSError, LogDamagedError) as error:
            what, hint = describe_failure(error)
            return Later(f"the tutor's files cannot be written: {what}", hint)
        self._report(store, tools)
        return outcome

    def _retry_grading(self, store: TutorStore, tools: Tools) -> Outcome:
        """Grade what was handed in and has no scores (SPEC T-17). A session that is open in a terminal is left to it."""
        now, parked = tools.clock.now(), None
        for found in store.list_sessions():
            if found.state.scores is not None:
                store.record_scores(found.state, found.last)  # a crash may have come between the two records
            elif is_grading_due(found, now) and parked is None:
                parked = self._grade(store, found, tools)
        return parked or Done()

    def _grade(self, store: TutorStore, found: ReplayedSession, tools: Tools) -> Later | None:
        # Here and below: the daemon of a person without sessions needs neither PyYAML nor the models of the answers.
        from tacitd_handlers.tutor.agent_calls import FailedStep, make_model_request, run_grading

        plan = found.state.plan
        settings = tools.settings["tutor"]

        def ask(request: AgentRequest, cancel: Flag) -> Answer | NoAnswer:
            return tools.model.ask(make_model_request(request, settings, plan.project, None))

        try:
            with store.open_session(plan.session) as session:
                if not session.state.needs_grading:
                    return None
                outcome = run_grading(session.state, ask, Flag())
                if isinstance(outcome, NoAnswer):
                    return Later(f"grading waits: {outcome.reason}", outcome.hint, outcome.retry_at)
                if isinstance(outcome, FailedStep):
                    session.record_event(GradingFailed(outcome.fault))
                    return None
                state = session.record_event(outcome)
                store.record_scores(state, tools.clock.now())
        except (UnavailableError, UsageError):
            return None  # a terminal has it, or it was removed meanwhile
        mean = compute_mean(list(outcome.scores.values()))
        tools.announce(Notice("graded", f"{plan.title}: {mean:.2f}", f"tutor session {plan.session}"))
        return None

    def _expire(self, store: TutorStore) -> Outcome:
        """Close sessions that nobody continued for thirty days (SPEC T-24)."""
        now = store.clock.now()
        for found in store.list_sessions():
            if can_be_closed(found.state) and EXPIRED_AFTER <= now - found.last <= IMPLAUSIBLE:
                try:
                    with store.open_session(found.state.plan.session) as session:
                        if can_be_closed(session.state):
                            session.record_event(Closed("expired"))
                except (UnavailableError, UsageError):
                    continue
        return Done()

    def _report(self, store: TutorStore, tools: Tools) -> None:
        stuck = [
            one
            for one in store.list_sessions()
            if one.state.needs_grading and one.state.grading_tries >= TRIES
        ]
        store.read_mastery()
        if store.bad:
            what = f"{store.bad} records in {self._paths.directory} cannot be read"
            tools.degrade(Degradation(DAMAGED, what, "they are skipped; correct or remove them"))
        else:
            tools.clear(DAMAGED)
        if stuck:
            what = f"{len(stuck)} tests could not be graded {TRIES} times: {stuck[0].state.ungraded}"
            tools.degrade(Degradation(GRADING, what, "`tacitd tutor grade` tries again"))
        else:
            tools.clear(GRADING)

    def status(self) -> Mapping[str, Any]:
        """Counts, open sessions, retests and faults of graph files, from the overview."""
        overview = read_overview(self._paths.overview)
        nodes = overview.get("nodes", [])
        retests = list_retests(overview, self._looked_at) if self._looked_at else []
        return {
            "sessions": overview.get("sessions", 0),
            "open": overview.get("open", []),
            "ungraded": len(overview.get("ungraded", [])),
            "nodes": len(nodes),
            "mastered": sum(bool(row.get("mastered")) for row in nodes),
            "retests": [row["title"] for row in retests],
            "faults": overview.get("faults", []),
        }

    def begin_call(self, ticket: str) -> Flag:
        """The flag that cancels the call with this ticket. Thread-safe."""
        with self._lock:
            return self._calls.setdefault(ticket, Flag())

    def end_call(self, ticket: str) -> None:
        """Forget a call. Thread-safe."""
        with self._lock:
            self._calls.pop(ticket, None)

    def cancel_call(self, ticket: str) -> bool:
        """End a running call; return whether there is one. Thread-safe."""
        with self._lock:
            flag = self._calls.get(ticket)
        if flag is not None:
            flag.set()
        return flag is not None


def is_grading_due(found: ReplayedSession, now: float) -> bool:
    """Whether grading is tried now: after an hour, two, four, at most a day; after `TRIES` failures only by a person."""
    state = found.state
    if not state.needs_grading or state.grading_tries >= TRIES:
        return False
    return not state.grading_tries or now - found.last >= min(
        24 * HOUR, HOUR * 2 ** (state.grading_tries - 1)
    )


def refresh_overview(store: TutorStore) -> None:
    """Write the overview from the sessions, the scores and the graphs that they belong to. Raises OSError."""
    from tacitd_handlers.tutor.graph_library import list_graphs

    sessions = store.list_sessions()
    bad = store.bad
    book = store.read_mastery()
    roots = {one.state.plan.project for one in sessions} - {""}
    graphs = list_graphs(store.paths, None)
    for root in sorted(roots):
        if Path(root).is_dir():
            graphs += [file for file in list_graphs(store.paths, Path(root)) if file.project]
    faults = [f"{bad} records of sessions cannot be read"] if bad else []
    store.write_overview(build_overview(sessions, book, graphs, faults))


def ask_agent(handler: TutorHandler, tools: Tools, params: Mapping[str, Any]) -> dict[str, Any]:
    """The socket's method `tutor.ask`: a call that a person waits for. Raises UsageError for an unknown agent."""
    from tacitd_handlers.tutor.agent_calls import make_model_request
    from tacitd_handlers.tutor.model_access import encode_outcome

    agent, ticket = params["agent"], str(params["ticket"])
    if agent not in AGENTS:
        raise UsageError(f"there is no agent {agent!r}")
    request = AgentRequest(agent, str(params["prompt"]))
    flag = handler.begin_call(ticket)
    try:
        made = make_model_request(request, tools.settings["tutor"], str(params.get("project", "")), flag)
        return encode_outcome(tools.model.ask(made))
    finally:
        handler.end_call(ticket)


def cancel_agent(handler: TutorHandler, tools: Tools, params: Mapping[str, Any]) -> dict[str, bool]:
    """The socket's method `tutor.cancel`: end the call with this ticket."""
    return {"cancelled": handler.cancel_call(str(params["ticket"]))}
