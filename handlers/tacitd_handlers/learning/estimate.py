"""What going back through the past would cost, at most. Pure: counts in, counts and dollars out.

Prices are per million tokens of the dearest model that each tier's default name stood for (2026): fast 1 in and 5
out, smart 3 in and 15 out. A token is taken as two bytes, so that code and other scripts are not underestimated;
answers are taken as 1,000 tokens for facts and 3,000 for lines. The caps of the budget hold all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from tacitd_handlers.learning.stage1.parse import FACTS_LIMIT
from tacitd_handlers.learning.stage2.pending_facts import ANSWER_OVERHEAD, CALL_LIMIT
from tacitd_handlers.shared.tidy import FACT_LIMIT

FAST_IN, FAST_OUT = 1.0, 5.0
SMART_IN, SMART_OUT = 3.0, 15.0
OVERHEAD = 8192
"""Bytes of a prompt's own text, the client's frame, and the known-facts summary."""
MATERIAL = 65_536
"""Bytes of facts and existing lines in one synthesis."""


@dataclass(frozen=True, slots=True)
class SessionVolume:
    """What one session said."""

    project: str
    prompts: int
    bytes: int
    handled: int = 0
    """Prompts beside these that were handled before."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What it takes at most."""

    sessions: int
    prompts: int
    calls: int
    usd: float


def estimate_cost(sittings: Iterable[SessionVolume], max_prompts: int, max_bytes: int) -> Estimate:
    """Given what sessions said and how prompts are gathered, return calls and dollars at most."""
    kept = [s for s in sittings if s.prompts]
    fast = sum(_calls(s, max_prompts, max_bytes) for s in kept)
    answers = Counter[str]()
    for sitting in kept:
        answers[sitting.project] += _calls(sitting, max_prompts, max_bytes)
    # For each project a summary of its own directives, and the syntheses; for all of them what they share.
    smart = sum(1 + _syntheses(number) for number in answers.values()) + bool(answers)
    tokens = sum(s.bytes for s in kept) / 2 + fast * (OVERHEAD + 300 * max_prompts) / 2
    usd = (tokens * FAST_IN + fast * 1000 * FAST_OUT) / 1e6
    usd += smart * (MATERIAL / 2 * SMART_IN + 3000 * SMART_OUT) / 1e6
    return Estimate(len(kept), sum(s.prompts for s in kept), fast + smart, round(usd, 4))


def _syntheses(answers: int) -> int:
    """So many answers full of the longest facts are made lines of in portions; the last fact of one may not fit."""
    fact = FACT_LIMIT + ANSWER_OVERHEAD
    return ceil(answers * FACTS_LIMIT * fact / (CALL_LIMIT - fact))


def _calls(sitting: SessionVolume, max_prompts: int, max_bytes: int) -> int:
    """A batch ends before the prompt that is too many, so bytes may need nearly twice the calls."""
    by_bytes = ceil(2 * sitting.bytes / max_bytes) if sitting.bytes > max_bytes else 1
    return max(ceil(sitting.prompts / max_prompts), by_bytes)
