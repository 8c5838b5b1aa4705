"""Summaries of sessions by the model: when one is due, how it is asked for, and what follows from the answer (SPEC P-22, P-26).

A summary costs money, so a session gets at most one an hour, and only for a part that is new and long: five answers of the
assistant or 20 KB of records. It is due when the session ends, is compacted, or pauses: somebody who comes back after
twenty minutes finds it. The prompt belongs to `summary_input`, the answer to `parse`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from loguru import logger
from msgspec.structs import replace

from tacitd.handler import Done, Later, Outcome, Tools
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd_handlers.continuity import parse, summary_input
from tacitd_handlers.continuity.settings import ContinuitySettings
from tacitd_handlers.continuity.stored_progress import TranscriptProgress
from tacitd_handlers.continuity.wanted_records import keep_wanted

PAUSE = 3600.0
"""Seconds between two paid summaries of a session."""
LONG = 20_000
"""Bytes of records that count as long."""
_NOT_PAID = frozenset(Why) - {Why.TIMED_OUT, Why.BAD_ANSWER, Why.TOO_LONG}
"""The reasons for no answer that cost nothing."""
TRIES = 3
"""Unusable answers after which a part of a session gets no summary."""

ChangeProgress = Callable[[TranscriptProgress], TranscriptProgress]


class UpdateProgress(Protocol):
    """How the state of a session is changed."""

    def __call__(
        self, session: str, change: ChangeProgress, *, publish: bool = True
    ) -> TranscriptProgress | None:
        """Write the changed state, and the session's file if `publish`; return the state, None if there is none.

        Raises OSError, and TacitdError if the file cannot be changed now; the state is then written.
        """
        ...


def is_worth_a_summary(now: TranscriptProgress, settings: ContinuitySettings) -> bool:
    """Whether enough is new since the last summary."""
    if not settings.summaries or not now.prompts:
        return False
    grown = now.size - now.asked_size
    return grown > 0 and (now.turns - now.asked_turns >= settings.min_turns or grown >= LONG)


def is_pause_over(now: TranscriptProgress, at: float) -> bool:
    """Whether an hour has passed since a summary was last asked for, or the clock went back by one.

    `at`: seconds since 1970, UTC.
    """
    return now.asked_at is None or abs(at - now.asked_at) >= PAUSE


class SummaryMaker:
    """Asks for summaries. Its methods may be called from any thread."""

    def __init__(self, update: UpdateProgress) -> None:
        self._update = update
        self._lock = threading.Lock()
        self._failed: Counter[str] = Counter()

    def summarise(self, now: TranscriptProgress, transcript: Path, upto: int, tools: Tools) -> Outcome:
        """Ask for the summary of what is new in a session up to a byte offset, and write it.

        Returns Later if there is no answer now; the session's file is not affected.
        """
        start = now.asked_upto if now.asked_upto <= upto else 0
        records = [
            one
            for one in keep_wanted(
                tools.read_records(transcript, start, upto), tools, tools.project_of(now.cwd)
            )
            if one.session in ("", now.session)
        ]
        found = summary_input.excerpt_session(records, now.summary if start else "")
        if not found.parts:
            return Done()
        key = f"summary:{now.session}:{upto}"
        # The key changes when the session goes on; what was paid for with it is counted for each prompt.
        ids = [one.id for record in records for one in record.prompts]
        ids += [record.uuid for record in records if record.plan]
        parts = tuple(f"summary:{id}" for id in dict.fromkeys(ids))
        prompt = summary_input.build_prompt(found.parts, now.items)
        ask = ModelRequest(prompt, "fast", key, parts=parts or (key,), purpose="session")
        asked_at = tools.clock.now()
        # Before the call: if the daemon is killed in it, the answer may have been paid for, and the hour begins all the same.
        self._update(now.session, lambda one: replace(one, asked_at=asked_at), publish=False)
        said = tools.model.ask(ask)

        def asked(current: TranscriptProgress) -> TranscriptProgress:
            return replace(
                current, asked_turns=now.turns, asked_size=now.size, asked_upto=upto, asked_at=asked_at
            )

        if isinstance(said, NoAnswer):
            if said.why in _NOT_PAID:
                self._update(now.session, lambda one: replace(one, asked_at=now.asked_at), publish=False)
            if said.why is Why.REPEATED:
                return self._skip(now.session, asked)
            what = f"{said.why}: {said.detail}" if said.detail else str(said.why)
            if not said.blames_the_prompt:
                return Later(what, said.hint, said.retry_at)
            return self._count_unusable(what, now.session, asked)
        last = now.last if now.last is not None else asked_at
        made = parse.parse_answer(said.text, last, summary_input.list_instructions(), found.times)
        if isinstance(made, str):
            return self._count_unusable(made, now.session, asked)
        self._update(
            now.session,
            lambda one: replace(
                asked(one),
                summary=made.summary,
                summary_at=now.last,
                summary_turns=now.turns,
                decisions=made.decisions,
            ),
        )
        self._forget(now.session)
        return Done(data={"summary": "made", "decisions": len(made.decisions), "usd": said.usd})

    def _count_unusable(self, why: str, session: str, asked: ChangeProgress) -> Outcome:
        with self._lock:
            self._failed[session] += 1
            failed = self._failed[session]
        if failed < TRIES:
            return Later(f"no summary: {why}", "the model is asked again", blame="work")
        logger.info("session {} gets no summary: {}", session, why)
        return self._skip(session, asked)

    def _skip(self, session: str, asked: ChangeProgress) -> Outcome:
        """Go on without a summary. The same part of the transcript is not asked about again."""
        self._forget(session)
        self._update(session, asked)
        return Done(data={"summary": "none"})

    def _forget(self, session: str) -> None:
        with self._lock:
            self._failed.pop(session, None)
