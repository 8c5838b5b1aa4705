"""The tutor's files: the log of each session, its readable copy, and the log of scores. Answer keys are part of the copy only when
the session is over (SPEC T-19).

    sessions/<id>.jsonl
    {"v": 1, "at": 1763792000.5, "event": "started", "plan": {…}}      the first record
    {"v": 1, "at": …, "event": "Answered", "text": "…"}                one record for each transition

`at` is in seconds since 1970, UTC. A session is replayed from its records. A record that does not parse, or does not fit the
state, is counted and has no effect. One process at a time, which holds its lock, writes a session. Every transition is durable
before anything that follows from it is shown (SPEC T-24).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, assert_never

from msgspec import Struct, to_builtins
from msgspec.json import Decoder
from msgspec.structs import replace

from tacitd.clock import Clock, SystemClock, local_minutes
from tacitd.errors import TacitdError, UnavailableError
from tacitd.files.append_file import append_text
from tacitd.files.atomic import replace_file
from tacitd.files.locks import acquire_lock
from tacitd_handlers.shared.model_text import fence_text
from tacitd_handlers.shared.places import read_plain_bytes
from tacitd_handlers.tutor.mastery import SCORES, MasteryBook, compute_mean, find_weakest
from tacitd_handlers.tutor.session_model import (
    TAIL,
    Answered,
    Closed,
    Ended,
    GradingFailed,
    Judged,
    NotJudged,
    Question,
    QuestionsMade,
    ReplayedSession,
    Scored,
    SessionEvent,
    SessionPlan,
    SessionState,
    Skipped,
    Spoke,
    Step,
    TimedEvent,
)
from tacitd_handlers.tutor.session_policy import LETTERS, WrongEventError, advance, format_choice, is_expired

HEADINGS = {
    Step.INTRODUCE: "Introduction",
    Step.SUMMARIZE: "Prerequisites",
    Step.PROBE: "Probe",
    Step.EXPLAIN: "Explanation",
    Step.EXPLAIN_AGAIN: "Extra explanation",
    Step.CLOSE: "Closing",
    Step.BUILD_CHECK: "Questions on the prerequisites",
    Step.BUILD_QUIZ: "Micro-quiz",
    Step.BUILD_TEST: "Final test",
}
"""By step, the heading of what the model made there."""
_ASKED = {Step.CHECK_ANSWER, Step.QUIZ_ANSWER, Step.TEST_ANSWER}
_BEFORE = {Step.INTRODUCE, Step.CHOOSE, Step.SUMMARIZE, Step.BUILD_CHECK, Step.CHECK_ANSWER, Step.JUDGE_CHECK}
"""The steps before the first objective."""
_SESSION_ID = re.compile(r"\d{8}-\d{4}-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[0-9a-f]{4}")


class _Started(Struct, tag_field="event", tag="started"):
    v: Literal[1]
    at: float
    plan: SessionPlan


class _Timed(Struct):
    v: Literal[1]
    at: float


_START, _TIME, _EVENT = Decoder(_Started), Decoder(_Timed), Decoder(SessionEvent)


def encode_start(at: float, plan: SessionPlan) -> dict[str, Any]:
    """The first record of a session."""
    return {"v": 1, "at": at, "event": "started", "plan": to_builtins(plan)}


def encode_event(at: float, event: SessionEvent) -> dict[str, Any]:
    """The record of an event."""
    return {"v": 1, "at": at, **to_builtins(event)}


def replay_session(lines: Iterable[bytes]) -> ReplayedSession | None:
    """The session that these records describe; None if they do not begin with the start of one."""
    found: ReplayedSession | None = None
    for line in lines:
        try:
            if found is None:
                start = _START.decode(line)
                found = ReplayedSession(SessionState(start.plan), start.at, start.at)
            else:
                found = _follow(found, _EVENT.decode(line), _TIME.decode(line).at)
        except (ValueError, RecursionError, WrongEventError):
            if found is None:
                return None
            found = replace(found, bad=found.bad + 1)
    return found


def _follow(found: ReplayedSession, event: SessionEvent, at: float) -> ReplayedSession:
    """The session after one more event. Raises WrongEventError."""
    after = advance(found.state, event)
    return replace(found, state=after, last=at, events=(*found.events, TimedEvent(at, event, found.state)))


class TutorSession:
    """A session that this process writes. Made by `TutorStore`; its lock is held."""

    def __init__(self, path: Path, clock: Clock, found: ReplayedSession) -> None:
        self.found = found
        self._path = path
        self._clock = clock

    @property
    def state(self) -> SessionState:
        return self.found.state

    def record_event(self, event: SessionEvent) -> SessionState:
        """Make a transition; return the new state when it is durable. Raises WrongEventError, OSError, FileRefusedError."""
        now = self._clock.now()
        after = _follow(self.found, event, now)
        _append_record(self._path, encode_event(now, event))
        self.found = after
        return after.state


class TutorStore:
    """All files of the tutor, below its data directory. Its methods raise OSError and FileRefusedError."""

    def __init__(
        self,
        directory: Path,
        clock: Clock | None = None,
        make_token: Callable[[], str] = lambda: secrets.token_hex(2),
    ) -> None:
        self.directory = directory
        self.sessions = Path(directory, "sessions")
        self.mastery = directory / "mastery.jsonl"
        self.clock = clock or SystemClock()
        self.bad = 0
        """Damaged records and logs that `list_sessions` found last."""
        self._make_token = make_token

    def list_sessions(self, newest: int = 0) -> list[ReplayedSession]:
        """Every session, or the newest ones, the oldest first."""
        paths = [path for path in self.sessions.glob("*.jsonl") if _SESSION_ID.fullmatch(path.stem)]
        read = [_read_session(path) for path in sorted(paths)[-newest:]]
        self.bad = sum(1 if one is None else one.bad for one in read)
        return sorted(filter(None, read), key=lambda one: one.started)

    def tend_sessions(self) -> list[ReplayedSession]:
        """Close sessions that nobody continued for thirty days (SPEC T-24), write scores and readable copies that a kill left out,
        and list all.

        A session that is open elsewhere is left to its terminal.
        """
        now, tended, recorded = self.clock.now(), [], self.read_mastery().sessions
        for one in self.list_sessions():
            found, id = one, one.state.plan.session
            if found.state.scores is not None and id not in recorded:
                self.record_scores(found.state, found.last)
            if is_expired(found.state, now - found.last) or _lacks_copy(self._log_path(id)):
                with suppress(UnavailableError), self.open_session(id) as session:
                    if is_expired(session.state, now - session.found.last):
                        session.record_event(Closed("expired"))
                    found = session.found
            tended.append(found)
        return tended

    @contextmanager
    def start_session(self, plan: SessionPlan) -> Iterator[TutorSession]:
        """Write the start of a new session, whose id is made here, and hold its lock."""
        now = self.clock.now()
        stamp = datetime.fromtimestamp(now).strftime("%Y%m%d-%H%M")
        plan = replace(plan, session=f"{stamp}-{plan.node_id}-{self._make_token()}")
        _append_record(self._log_path(plan.session), encode_start(now, plan))
        with self.open_session(plan.session) as session:
            yield session

    @contextmanager
    def open_session(self, id: str) -> Iterator[TutorSession]:
        """Replay a session, hold its lock, and write its readable copy when it is left.

        Raises TacitdError if there is none, UnavailableError if it is open elsewhere.
        """
        path = self._log_path(id)
        if not _SESSION_ID.fullmatch(id) or not path.exists():
            raise no_session(id)
        try:
            lock = acquire_lock(path.with_suffix(".lock"))
        except UnavailableError as error:
            who = error.what.partition(" already")[0]
            hint = "continue there, or close that terminal first"
            raise UnavailableError(f"the session {id} is open in {who}", hint) from None
        try:
            found = _read_session(path)
            if found is None:
                raise no_session(id)
            session = TutorSession(path, self.clock, found)
            try:
                yield session
            finally:
                text = format_session_log(session.found).encode("utf-8", "replace")
                replace_file(path.with_suffix(".md"), text, mode=0o600)
        finally:
            # Removed while it is held, so that no lock files pile up; `acquire_lock` notices a removed file.
            lock.path.unlink(missing_ok=True)
            lock.release()

    def read_mastery(self) -> MasteryBook:
        """All scores. A damaged record is skipped: `tend_sessions` writes it again."""
        book = MasteryBook()
        for line in _read_lines(self.mastery):
            with suppress(ValueError):
                book.fold_record(SCORES.decode(line))
        return book

    def record_scores(self, state: SessionState, at: float) -> None:
        """Add a session's scores to the log of mastery, once.

        A crash between the session's record and this one is repaired by `tend_sessions`.
        """
        plan = state.plan
        if state.scores is not None and plan.session not in self.read_mastery().sessions:
            record = {"at": at, "session": plan.session, "graph": plan.graph, "node": plan.node_id}
            _append_record(self.mastery, {**record, "scores": dict(state.scores)})

    def _log_path(self, id: str) -> Path:
        return self.sessions / f"{id}.jsonl"


def no_session(id: str) -> TacitdError:
    """The error that no session has this id."""
    return TacitdError(f"there is no session {id[:80]}", "`tacitd tutor history` lists the sessions")


def _read_lines(path: Path) -> list[bytes]:
    return (read_plain_bytes(path) or b"").splitlines()


def _read_session(path: Path) -> ReplayedSession | None:
    """The session of a log; None if it is no log, or that of another session."""
    found = replay_session(_read_lines(path))
    return found if found is not None and found.state.plan.session == path.stem else None


def _lacks_copy(log: Path) -> bool:
    """Whether a session was not written as Markdown since its log was."""
    copy = log.with_suffix(".md")
    return not copy.exists() or copy.stat().st_mtime_ns < log.stat().st_mtime_ns


def _append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Append a record; it is durable when this returns."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    append_text(path, f"{line}\n".encode("utf-8", "replace"))


# --- the readable copy, and the texts that it shares with a terminal


def format_question(question: Question, *, with_key: bool = False) -> str:
    """A question as Markdown, with its choices; the key only if the session is over."""
    lines = [question.text]
    lines += [f"- {letter}) {one}" for letter, one in zip(LETTERS, question.choices, strict=False)]
    if with_key and question.answer:
        lines.append(f"\nExpected: {format_choice(question, question.answer)}")
    return "\n".join(lines)


def format_progress(state: SessionState) -> str:
    """Where the session is, in one line: `[2/6] Name the four kinds of objects`."""
    plan, total = state.plan, len(state.questions)
    if state.step in TAIL:
        return f"[final test {min(state.asked + 1, total)}/{total}]" if total else "[final test]"
    if state.step in _BEFORE:
        return f"[prerequisites] {plan.title}"
    return f"[{state.at + 1}/{len(plan.objectives)}] {state.objective.text}"


def format_results(state: SessionState) -> list[str]:
    """Scores, mean and weakest objective as Markdown lines; why there are none otherwise."""
    if state.needs_grading:
        return [f"Not graded yet: {state.ungraded or 'the grader has not answered'}. Mastery is unchanged."]
    if state.scores is None:
        return ["Nothing was tested."]
    lines = [
        f"- {state.scores[one.id]:.2f} {one.text}" for one in state.plan.objectives if one.id in state.scores
    ]
    weakest = find_weakest(state.plan.objectives, state.scores)
    mean = compute_mean(list(state.scores.values()))
    lines.append(f"\nMean of the tested objectives: {mean:.2f}. Weakest: {weakest.text if weakest else '-'}.")
    return lines


def format_session_log(found: ReplayedSession) -> str:
    """A whole session as Markdown: every question, answer, score and reason."""
    plan, state = found.state.plan, found.state
    lines = [
        f"# {plan.title}",
        "",
        f"Session {plan.session}, started {local_minutes(found.started)} (local time).",
    ]
    lines += ["", "Objectives:", *(f"- {one.text}" for one in plan.objectives), ""]
    for event in found.events:
        lines += [*_format_event(event, is_over=not state.is_open), ""]
    if state.is_open:
        lines.append(f"The session is open: {format_progress(state)}")
    else:
        lines += ["## Result", "", f"{state.outcome or 'finished'}.", *format_results(state)]
    return "\n".join(lines).rstrip() + "\n"


def _format_event(timed: TimedEvent, *, is_over: bool) -> Iterator[str]:
    event, before = timed.event, timed.before
    match event:
        case Spoke(text):
            about = f": {before.objective.text}" if before.step in (Step.PROBE, Step.EXPLAIN) else ""
            yield f"## {HEADINGS.get(before.step, 'Tutor')}{about}\n\n{text}"
        case QuestionsMade(questions):
            yield f"## {HEADINGS.get(before.step, 'Questions')}\n"
            for number, one in enumerate(questions, 1):
                yield f"{number}. ({one.kind}) {format_question(one, with_key=is_over)}\n"
        case Answered(text):
            shown = format_choice(before.question, text) if before.step in _ASKED else text
            yield f"Learner ({local_minutes(timed.at)}){_name_question(before)}:\n\n{fence_text(shown)}"
        case Judged(verdict, feedback, following):
            yield f"Tutor: **{verdict}**. {feedback}{f' {following}' if following else ''}"
        case NotJudged(text):
            yield f"Tutor (not a judgement, the question is repeated): {text}"
        case Skipped():
            yield f"Learner: skipped{_name_question(before)}."
        case Ended():
            yield "Learner: ended the session."
        case Scored():
            yield f"Grader ({local_minutes(timed.at)}):"
            tested = [one for one in before.plan.objectives if one.id in event.scores]
            yield from (f"- {event.scores[one.id]:.2f} {one.text}" for one in tested)
        case GradingFailed(reason):
            yield f"Grading failed ({local_minutes(timed.at)}): {reason}"
        case Closed(outcome):
            yield f"The session was closed: {outcome}."
        case _:
            assert_never(event)


def _name_question(state: SessionState) -> str:
    return f", question {state.asked + 1}" if state.step in _ASKED else ""
