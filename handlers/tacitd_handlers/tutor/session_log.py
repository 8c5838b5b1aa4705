"""The tutor's files: the log of each session, which has its scores too, and its readable copy. Answer keys are part of the copy only
when the session is over (SPEC T-19).

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
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, to_builtins
from msgspec.json import Decoder
from msgspec.structs import replace

from tacitd.clock import Clock, SystemClock, local_minutes
from tacitd.errors import TacitdError, UnavailableError
from tacitd.files.append_file import append_text
from tacitd.files.atomic import replace_file
from tacitd.files.locks import acquire_lock
from tacitd_handlers.shared.places import read_plain_bytes
from tacitd_handlers.tutor.mastery import compute_mean, find_weakest
from tacitd_handlers.tutor.session_model import (
    LEARNER_STEPS,
    TAIL,
    Answered,
    Closed,
    Ended,
    Judged,
    NotJudged,
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
from tacitd_handlers.tutor.session_policy import (
    LETTERS,
    WrongEventError,
    advance,
    format_choice,
    is_expired,
)

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
        self.clock = clock or SystemClock()
        self.bad = 0
        """Damaged records and logs that `list_sessions` found last."""
        self._make_token = make_token

    def list_sessions(self) -> list[ReplayedSession]:
        """Every session, the oldest first."""
        paths = [path for path in self.sessions.glob("*.jsonl") if _SESSION_ID.fullmatch(path.stem)]
        read = [self._read_session(path) for path in paths]
        self.bad = sum(1 if one is None else one.bad for one in read)
        return sorted(filter(None, read), key=lambda one: one.started)

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
        """Replay a session and hold its lock.

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
            found = self._read_session(path)
            if found is None:
                raise no_session(id)
            yield TutorSession(path, self.clock, found)
        finally:
            # Removed while it is held, so that no lock files pile up; `acquire_lock` notices a removed file.
            lock.path.unlink(missing_ok=True)
            lock.release()

    def write_copy(self, found: ReplayedSession) -> Path:
        """Write the readable copy of a session, unless it is there."""
        path, text = self._log_path(found.state.plan.session).with_suffix(".md"), format_session_log(found)
        if read_plain_bytes(path) != text.encode("utf-8", "replace"):
            replace_file(path, text.encode("utf-8", "replace"), mode=0o600)
        return path

    def _log_path(self, id: str) -> Path:
        return self.sessions / f"{id}.jsonl"

    def _read_session(self, path: Path) -> ReplayedSession | None:
        """The session of a log; None if it is no log, or that of another session. One that nobody continued for thirty days is over."""
        found = replay_session((read_plain_bytes(path) or b"").splitlines())
        if found is None or found.state.plan.session != path.stem:
            return None
        is_over = is_expired(found.state, self.clock.now() - found.last)
        return replace(found, state=advance(found.state, Closed("expired"))) if is_over else found


def no_session(id: str) -> TacitdError:
    """The error that no session has this id."""
    return TacitdError(f"there is no session {id[:80]}", "`tacitd tutor history` lists the sessions")


def _append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Append a record; it is durable when this returns."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    append_text(path, f"{line}\n".encode("utf-8", "replace"))


# --- what is shown in a terminal, and in the readable copy, which is the same with the answers

CHOOSE = "Would you like a short summary of the prerequisites or a quiz on them? (summary, quiz, or skip)"
CHOOSE_AGAIN = "Please answer `summary`, `quiz` or `skip`."
OFFER = "Two answers in a row were wrong. Would you like an extra explanation before you go on? (yes or no)"


def describe_pending(state: SessionState, *, with_key: bool = False) -> str:
    """The pending question as Markdown. The key is part of it only if the session is over (SPEC T-19)."""
    match state.step:
        case Step.CHOOSE:
            return CHOOSE_AGAIN if state.choice_unclear else CHOOSE
        case Step.PROBE_ANSWER:
            return state.probe
        case Step.OFFER:
            return OFFER
    question = state.question
    lines = [question.text]
    lines += [f"- {letter}) {one}" for letter, one in zip(LETTERS, question.choices, strict=False)]
    if with_key and question.answer:
        lines.append(f"\nExpected: {format_choice(question, question.answer)}")
    return "\n".join(lines)


def describe_event(event: SessionEvent, before: SessionState, after: SessionState) -> str:
    """What the tutor says with an event, as Markdown; "" for nothing. A probe is shown when it is pending."""
    match event:
        case Spoke(text) if before.step is not Step.PROBE:
            return text
        case Judged(verdict, feedback):
            return f"**{verdict}.** {feedback}"
        case NotJudged(text):
            return text
        case Scored():
            return "\n".join(format_results(after))
        case _:
            return ""


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
    """A whole session as Markdown: what was shown, and every answer."""
    plan, is_over, progress = found.state.plan, not found.state.is_open, ""
    started = f"Session {plan.session}, started {local_minutes(found.started)} (local time)."
    parts = [
        f"# {plan.title}",
        started,
        "\n".join(["Objectives:", *(f"- {one.text}" for one in plan.objectives)]),
    ]
    after = [*(one.before for one in found.events[1:]), found.state]
    for one, state in zip(found.events, after, strict=False):
        event, before = one.event, one.before
        if before.step in LEARNER_STEPS:
            if progress != format_progress(before):
                progress = format_progress(before)
                parts.append(f"## {progress}")
            parts.append(describe_pending(before, with_key=is_over))
        match event:
            case Answered(text):
                parts.append(f"> {text}")
            case Skipped() | Ended():
                parts.append("> /skip" if isinstance(event, Skipped) else "> /end")
            case _:
                parts.append(describe_event(event, before, state))
    return "\n\n".join(filter(None, [*parts, f"The session is {found.outcome}."])) + "\n"
