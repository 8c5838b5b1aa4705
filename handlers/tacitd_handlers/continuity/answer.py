"""What the model made of a session: at most three sentences and the decisions. Pure.

An answer is data from a stranger: it is one JSON object, its texts are cut, cleaned and stripped of secrets, and an echo of
the question is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacitd.clock import utc_millis
from tacitd_handlers.continuity.progress import SUMMARY
from tacitd_handlers.continuity.words import plain, sentences

DECISIONS = 10
ALTERNATIVES = 6
_TEXT = 300
_PLACEHOLDER = "at most three sentences"


@dataclass(frozen=True, slots=True)
class Said:
    """What can be used of an answer."""

    summary: str
    decisions: tuple[Mapping[str, Any], ...]


def said(text: str, at: float, instructions: Iterable[str]) -> Said | str:
    """Given an answer and the moment that its decisions are dated by, return what it says, or why it says nothing."""
    if any(sentence in text for sentence in instructions):
        return "the answer repeats the question"
    found = _object(text)
    if found is None:
        return "the answer is no JSON object"
    summary = sentences(plain(found.get("summary"), SUMMARY), 3)
    if not summary or summary.startswith(_PLACEHOLDER):
        return "the answer has no summary"
    raw = found.get("decisions")
    made = (_decision(one, at) for one in (raw if isinstance(raw, list) else [])[:DECISIONS])
    return Said(summary, tuple(one for one in made if one is not None))


def _object(text: str) -> Mapping[str, Any] | None:
    """The first object in the text: models put fences and words around it."""
    at = text.find("{")
    while at >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        return found if isinstance(found, dict) else None
    return None


def _decision(raw: Any, at: float) -> Mapping[str, Any] | None:
    given = raw if isinstance(raw, dict) else {"decision": raw}
    decision = plain(given.get("decision"), _TEXT)
    if not decision or decision == "what was decided":
        return None
    made: dict[str, Any] = {"timestamp": utc_millis(at), "decision": decision}
    if rationale := plain(given.get("rationale"), _TEXT):
        made["rationale"] = rationale
    others = given.get("alternatives")
    kept = [
        one
        for each in (others if isinstance(others, list) else [])[:ALTERNATIVES]
        if (one := plain(each, _TEXT))
    ]
    return made | ({"alternatives": kept} if kept else {})
