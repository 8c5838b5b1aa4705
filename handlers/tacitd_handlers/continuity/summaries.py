"""Summaries of sessions by the model: when one is due, its prompt, and its answer (SPEC P-22, P-26).

A summary costs money, so a session gets at most one an hour, and only for a part that is new and long: five answers of the
assistant or 20 KB of records. It is due when the session ends, is compacted, or pauses: somebody who comes back after
twenty minutes finds it.

An answer is untrusted data: it must contain one JSON object; its texts are shortened, cleaned and stripped of secrets; an echo of
the prompt is refused (SPEC S-35, S-67).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from tacitd.clock import utc_millis
from tacitd.config.settings import Duration
from tacitd.contract import Part
from tacitd_handlers.continuity.client_tasks import Items
from tacitd_handlers.continuity.session_fold import TranscriptState, Turn
from tacitd_handlers.shared.model_text import (
    clean_summary,
    clean_text,
    fence_text,
    fill_template,
    list_objects,
    shorten_middle,
    take_end,
)

PAUSE = 3600.0
"""Seconds between two summaries of a session."""
TURNS, LONG = 5, 20_000
"""Texts of the assistant, and bytes of records, from which on what is new is worth a summary."""
TOTAL = 20_000
"""Characters of a session that are sent to the model at most."""
SUMMARY, SENTENCES = 600, 3
"""Characters and sentences of a summary. Of a longer one the last sentences are kept: they say what is left and in the way."""
DECISIONS, ALTERNATIVES = 10, 6
"""Decisions of one answer, and alternatives of one decision. Further ones are left out."""
_SAID, _TEXT = 400, 300


# --- when


def is_worth_a_summary(state: TranscriptState, settings: ContinuitySettings) -> bool:
    is_long = state.turns >= TURNS or state.size >= LONG
    return settings.summaries and state.size > 0 and is_long


def find_due(state: TranscriptState, settings: ContinuitySettings, now: float, *, is_over: bool) -> float:
    """When a summary may be asked for: an hour after the last one, and when the session was quiet long enough. `is_over`: it ended or
    is compacted, so it need not be quiet. A clock that was set back by an hour blocks nothing. Seconds since 1970, UTC."""
    quiet_at = now if is_over else min(state.last, now) + settings.quiet
    if state.asked_at is None or abs(now - state.asked_at) >= PAUSE:
        return quiet_at
    return max(quiet_at, state.asked_at + PAUSE)


# --- the prompt


def excerpt_session(
    state: TranscriptState, turns: Sequence[Turn]
) -> tuple[list[str], dict[int, float], list[Part]]:
    """What is new in a session: each prompt, and the end of the assistant's last text before the next one, with their numbers:
    `[3] Person: …`; their times by number (seconds since 1970, UTC); and the prompts, for the budget."""
    lines = [f"Summary of what came before: {state.summary}"] if state.summary else []
    times, parts = dict[int, float](), list[Part]()
    said = [Turn(state.said_at, "", state.said)] if state.said and state.answered else []
    for turn in [*turns, *said]:
        number = len(times) + 1
        times[number] = turn.at
        if turn.prompt:
            lines.append(f"[{number}] Person: {clean_text(turn.words, TOTAL)}")
            parts.append(Part("prompt", number, turn.prompt, turn.words))
        else:
            lines.append(f"[{number}] Assistant: {clean_text(take_end(turn.words, _SAID), TOTAL)}")
    if not parts and times:
        parts.append(Part("work", 0, f"{state.id} {state.asked_turn}", ""))
    return lines, times, parts


def build_prompt(lines: Sequence[str], tasks: Items) -> str:
    """The whole prompt. Data is fenced, so that it cannot end its part of the prompt."""
    listed = "\n".join(f"- [{item.status}] {item.title}" for item in tasks)
    values = {
        "tasks": fence_text(listed) if listed else "(none)",
        "session": fence_text(shorten_middle("\n".join(lines), TOTAL)),
    }
    return fill_template(_template(), values)


@cache
def _template() -> str:
    return (files("tacitd_handlers.continuity") / "prompts" / "summary.md").read_text("utf-8")


@cache
def list_instructions() -> tuple[str, ...]:
    """The prompt's sentences. An answer that contains one is an echo (SPEC S-35)."""
    lines = _template().splitlines()
    return tuple(line.strip("- ") for line in lines if len(line) > 40 and not line.startswith("{"))


# --- the answer


class SummaryAnswer(Struct, frozen=True):
    summary: str
    decisions: tuple[Mapping[str, Any], ...]


def parse_answer(text: str, at: float, times: Mapping[int, float]) -> SummaryAnswer | str:
    """The usable part of an answer, or the reason why there is none.

    `times`: of the numbered messages in the prompt, seconds since 1970, UTC; a decision has that of the message that it names,
    otherwise `at`.
    """
    if any(sentence in text for sentence in list_instructions()):
        return "the answer repeats the prompt"
    answer = next((one for one in list_objects(text) if one is not None), None)
    if answer is None:
        return "the answer is not a JSON object"
    summary = clean_summary(answer.get("summary"), SUMMARY, SENTENCES)
    if not summary or "at most three sentences" in summary:
        return "the answer has no summary"
    decisions = (_parse_decision(one, at, times) for one in _list(answer.get("decisions"))[:DECISIONS])
    return SummaryAnswer(summary, tuple(filter(None, decisions)))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


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
    others = (clean_text(each, _TEXT) for each in _list(given.get("alternatives"))[:ALTERNATIVES])
    if kept := [other for other in others if other]:
        decision["alternatives"] = kept
    return decision


# --- settings


class ContinuitySettings(BaseModel):
    """`continuity`: what is stored of each session, so that it can be resumed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summaries: bool = Field(
        default=True,
        description="Ask the model for a summary and the decisions when a session ends, is compacted or pauses, in one call.",
    )
    quiet: Duration = Field(
        default=600.0,
        ge=60,
        description="How long a session must have paused before a summary is asked for, so that it is there when you come back.",
    )
