"""Summaries of sessions by the model: when one is due, its prompt, its answer, and what follows (SPEC P-22, P-26).

A summary costs money, so a session gets at most one an hour, and only for a part that is new and long: five answers of the
assistant or 20 KB of records. It is due when the session ends, is compacted, or pauses: somebody who comes back after
twenty minutes finds it.

An answer is untrusted data: it must contain one JSON object; its texts are shortened, cleaned and stripped of secrets; an echo of
the prompt is refused (SPEC S-35, S-67).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from loguru import logger
from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import utc_millis
from tacitd.events import Record
from tacitd.handler import Done, Later, Outcome, Tools
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd_handlers.continuity.session_fold import end_of_compaction
from tacitd_handlers.continuity.session_progress import Items, TranscriptProgress
from tacitd_handlers.continuity.settings import ContinuitySettings
from tacitd_handlers.continuity.text_end import clean_summary, clean_text
from tacitd_handlers.shared.model_json import find_objects
from tacitd_handlers.shared.prompt_filling import fence_text
from tacitd_handlers.shared.unwanted_places import read_session

PAUSE = 3600.0
"""Seconds between two paid summaries of a session."""
LONG = 20_000
"""Bytes of records that count as long."""
TRIES = 3
"""Unusable answers after which a part of a session gets no summary."""
TOTAL = 20_000
"""Characters of a session that are sent to the model at most."""
SUMMARY, SENTENCES = 600, 3
"""Characters and sentences of a summary. Of a longer one the last sentences are kept: they say what is left and in the way."""
DECISIONS, ALTERNATIVES = 10, 6
"""Decisions of one answer, and alternatives of one decision. Further ones are left out."""
_TYPED, _SAID, _COMPACTED, _TEXT = 600, 400, 4000, 300
_FIRST = 3
"""Messages that are kept from the beginning of a session that is too long: they contain its topic."""
_NOT_PAID = frozenset(Why) - {Why.TIMED_OUT, Why.BAD_ANSWER, Why.TOO_LONG}
"""The reasons for no answer that cost nothing."""

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


# when


def is_worth_a_summary(now: TranscriptProgress, settings: ContinuitySettings) -> bool:
    """Whether enough is new since the last summary."""
    grown = now.size - now.asked_size
    is_long = now.turns - now.asked_turns >= settings.min_turns or grown >= LONG
    return settings.summaries and now.prompts > 0 and grown > 0 and is_long


def is_pause_over(now: TranscriptProgress, at: float) -> bool:
    """Whether an hour has passed since a summary was last asked for, or the clock went back by one.

    `at`: seconds since 1970, UTC.
    """
    return now.asked_at is None or abs(at - now.asked_at) >= PAUSE


# the prompt


class SessionExcerpt(Struct, frozen=True):
    """A session in short."""

    parts: tuple[str, ...] = ()
    """Its messages, each with its number: `[3] Person: …`."""
    times: Mapping[int, float] = field(default_factory=dict)
    """The times of the messages by number: seconds since 1970, UTC."""


def excerpt_session(records: Iterable[Record], before: str = "") -> SessionExcerpt:
    """Return the session in short: each prompt, and the end of the assistant's last text before the next one.

    `before`: the summary of what came before these records.
    """
    parts: list[str] = [f"Summary of what came before: {before}"] if before else []
    times: dict[int, float] = {}
    said, said_at = "", None

    def add(who: str, text: str, at: float | None) -> None:
        number = len(times) + 1
        times[number] = at if at is not None else times.get(number - 1, 0.0)
        parts.append(f"[{number}] {who}: {text}")

    for record in records:
        if record.text:
            said, said_at = record.text, record.time
        if record.summary:
            parts.append(f"Summary so far: {clean_text(end_of_compaction(record.summary), _COMPACTED)}")
        if said and (record.prompts or record.plan):
            add("Assistant", _end(said), said_at)
            said = ""
        if record.plan:
            add("Person", f"(accepted this plan) {clean_text(record.plan, _TYPED)}", record.time)
        for prompt in record.prompts:
            add("Person", clean_text(prompt.text, _TYPED), record.time)
    if said:
        add("Assistant", _end(said), said_at)
    return SessionExcerpt(tuple(parts) if times else (), {n: at for n, at in times.items() if at})


def _end(text: str) -> str:
    whole = clean_text(text, 100_000)
    return whole if len(whole) <= _SAID else "…" + whole[-_SAID:]


def cut_parts(parts: Sequence[str], total: int = TOTAL) -> list[str]:
    """Return the first few parts, and as many of the last ones as `total` characters allow."""
    if sum(len(part) + 1 for part in parts) <= total:
        return list(parts)
    first, last = list(parts[:_FIRST]), list[str]()
    room = total - sum(len(part) + 1 for part in first)
    for part in reversed(parts[_FIRST:]):
        room -= len(part) + 1
        if room < 0:
            break
        last.append(part)
    return [*first, "[…]", *reversed(last)]


def build_prompt(parts: Sequence[str], items: Items) -> str:
    """Return the whole prompt. Data is fenced, so that it cannot end its part of the prompt."""
    tasks = "\n".join(f"- [{item.status}] {item.title}" for item in items)
    before, _, rest = _template().partition("{tasks}")
    between, _, after = rest.partition("{session}")
    session = fence_text("\n".join(cut_parts(parts)))
    return f"{before}{fence_text(tasks) if tasks else '(none)'}{between}{session}{after}"


@cache
def _template() -> str:
    return (files("tacitd_handlers.continuity") / "prompts" / "summary.md").read_text("utf-8")


@cache
def list_instructions() -> tuple[str, ...]:
    """Return the prompt's sentences. An answer that contains one is an echo (SPEC S-35)."""
    return tuple(
        line.strip("- ") for line in _template().splitlines() if len(line) > 40 and not line.startswith("{")
    )


# the answer


class SummaryAnswer(Struct, frozen=True):
    """The usable part of an answer."""

    summary: str
    decisions: tuple[Mapping[str, Any], ...]


def parse_answer(text: str, at: float, times: Mapping[int, float]) -> SummaryAnswer | str:
    """Given an answer, return its usable part, or the reason why there is none.

    `times`: the times of the numbered messages in the prompt, seconds since 1970, UTC; a decision has the time of the message
    that it names, otherwise `at`.
    """
    if any(sentence in text for sentence in list_instructions()):
        return "the answer repeats the prompt"
    answer = next(find_objects(text), None)
    if answer is None:
        return "the answer is not a JSON object"
    summary = clean_summary(answer.get("summary"), SUMMARY, SENTENCES)
    if not summary or "at most three sentences" in summary:
        return "the answer has no summary"
    raw = answer.get("decisions")
    decisions = (
        _parse_decision(one, at, times) for one in (raw if isinstance(raw, list) else [])[:DECISIONS]
    )
    return SummaryAnswer(summary, tuple(decision for decision in decisions if decision))


def _parse_decision(raw: Any, at: float, times: Mapping[int, float]) -> Mapping[str, Any]:
    given = raw if isinstance(raw, dict) else {"decision": raw}
    named = str(given.get("message", "")).strip("[]# ")
    at = times.get(int(named), at) if named.isdecimal() and len(named) < 9 else at
    text = clean_text(given.get("decision"), _TEXT)
    if not text or text == "what was decided":
        return {}
    decision: dict[str, Any] = {"timestamp": utc_millis(at), "decision": text}
    if rationale := clean_text(given.get("rationale"), _TEXT):
        decision["rationale"] = rationale
    others = given.get("alternatives")
    cleaned = (
        clean_text(each, _TEXT) for each in (others if isinstance(others, list) else [])[:ALTERNATIVES]
    )
    kept = [other for other in cleaned if other]
    return decision | ({"alternatives": kept} if kept else {})


# the call


def summarise(
    now: TranscriptProgress, transcript: Path, upto: int, tools: Tools, update: UpdateProgress
) -> Outcome:
    """Ask for the summary of what is new in a session up to a byte offset, and write it.

    Returns Later if there is no answer now; the session's file is not affected.
    """
    start = now.asked_upto if now.asked_upto <= upto else 0
    records = read_session(now.session, transcript, start, upto, tools.project_of(now.cwd), tools)
    excerpt = excerpt_session(records, now.summary if start else "")
    if not excerpt.parts:
        return Done()
    key = f"summary:{now.session}:{upto}"
    # The key changes when the session goes on; what was paid for with it is counted for each prompt.
    ids = [prompt.id for record in records for prompt in record.prompts]
    ids += [record.uuid for record in records if record.plan]
    parts = tuple(f"summary:{id}" for id in dict.fromkeys(ids)) or (key,)
    asked_at = tools.clock.now()
    # Before the call: if the daemon is killed in it, the answer may have been paid for, and the hour begins all the same.
    update(now.session, lambda one: replace(one, asked_at=asked_at), publish=False)
    prompt = build_prompt(excerpt.parts, now.items)
    said = tools.model.ask(ModelRequest(prompt, "fast", key, parts=parts, purpose="session"))

    def asked(current: TranscriptProgress) -> TranscriptProgress:
        return replace(
            current,
            asked_turns=now.turns, asked_size=now.size, asked_upto=upto, asked_at=asked_at, compacted=False, tries=0,
        )  # fmt: skip

    if isinstance(said, NoAnswer):
        if said.why in _NOT_PAID:
            update(now.session, lambda one: replace(one, asked_at=now.asked_at), publish=False)
        if said.why is Why.REPEATED:
            update(now.session, asked)
            return Done()
        answer = f"{said.why}: {said.detail}" if said.detail else str(said.why)
        if not said.blames_the_prompt:
            return Later(answer, said.hint, said.retry_at)
    else:
        last = now.last if now.last is not None else asked_at
        parsed = parse_answer(said.text, last, excerpt.times)
        if isinstance(parsed, SummaryAnswer):
            made = parsed
            update(
                now.session,
                lambda one: replace(asked(one), summary=made.summary, decisions=made.decisions),
            )
            return Done()
        answer = parsed
    if now.tries + 1 < TRIES:
        update(now.session, lambda one: replace(one, tries=now.tries + 1), publish=False)
        return Later(f"no summary: {answer}", "the model is asked again", blame="work")
    logger.info("session {} gets no summary: {}", now.session, answer)
    update(now.session, asked)
    return Done()
