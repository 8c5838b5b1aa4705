"""The parser of the model's answer about a session: a summary of at most three sentences, and the decisions. Pure.

An answer is untrusted data: it must be one JSON object; its texts are shortened, cleaned and stripped of secrets; an
echo of the prompt is refused (SPEC S-35, S-67). The prompt itself belongs to `summary_input`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from tacitd.clock import utc_millis
from tacitd_handlers.continuity.stored_text import clean_summary, clean_text

DECISIONS = 10
"""Decisions of one answer. Further ones are left out."""
ALTERNATIVES = 6
"""Alternatives of one decision. Further ones are left out."""
SUMMARY = 600
"""Characters of a summary. Of a longer one the last sentences are kept: they say what is left and what is in the way."""
SENTENCES = 3
_TEXT = 300
_PLACEHOLDER = "at most three sentences"


class SummaryAnswer(Struct, frozen=True):
    """The usable part of an answer."""

    summary: str
    decisions: tuple[Mapping[str, Any], ...]


def parse_answer(
    text: str, at: float, instructions: Iterable[str], times: Mapping[int, float] | None = None
) -> SummaryAnswer | str:
    """Given an answer, return its usable part, or the reason why there is none.

    `times`: the times of the numbered messages in the prompt, seconds since 1970, UTC; a decision has the time of the message
    that it names, otherwise `at`. `instructions`: sentences of the prompt.
    """
    if any(sentence in text for sentence in instructions):
        return "the answer repeats the prompt"
    found = _object(text)
    if found is None:
        return "the answer is not a JSON object"
    summary = clean_summary(found.get("summary"), SUMMARY, SENTENCES)
    if not summary or _PLACEHOLDER in summary:
        return "the answer has no summary"
    raw = found.get("decisions")
    made = (_decision(one, at, times or {}) for one in (raw if isinstance(raw, list) else [])[:DECISIONS])
    return SummaryAnswer(summary, tuple(one for one in made if one is not None))


def _object(text: str) -> Mapping[str, Any] | None:
    """The first JSON object in the text. Models write fences and sentences around it."""
    at = text.find("{")
    while at >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        return found if isinstance(found, dict) else None
    return None


def _decision(raw: Any, at: float, times: Mapping[int, float]) -> Mapping[str, Any] | None:
    given = raw if isinstance(raw, dict) else {"decision": raw}
    named = str(given.get("message", "")).strip("[]# ")
    at = times.get(int(named), at) if named.isdecimal() and len(named) < 9 else at
    decision = clean_text(given.get("decision"), _TEXT)
    if not decision or decision == "what was decided":
        return None
    made: dict[str, Any] = {"timestamp": utc_millis(at), "decision": decision}
    if rationale := clean_text(given.get("rationale"), _TEXT):
        made["rationale"] = rationale
    others = given.get("alternatives")
    kept = [
        one
        for each in (others if isinstance(others, list) else [])[:ALTERNATIVES]
        if (one := clean_text(each, _TEXT))
    ]
    return made | ({"alternatives": kept} if kept else {})
