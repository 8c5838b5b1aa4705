"""What a session will cost, before it starts: calls and US dollars, from counts. Pure.

The prices are those of `learning.estimate`: dollars per million tokens of the most expensive model that a tier's default
name meant in 2026. The estimate is of a session in which every objective is taught and half of the answers need the
tutor's judgement. The caps hold independently of it.
"""

from __future__ import annotations

from msgspec import Struct

from tacitd_handlers.tutor.session_model import SessionPlan

FAST_IN, FAST_OUT, ACCURATE_IN, ACCURATE_OUT = 1.0, 5.0, 5.0, 25.0
TOKENS_IN, TOKENS_OUT = 1800, 350
"""Of one call: the prompt with what the client adds, and the answer."""
CALLS_PER_OBJECTIVE = 5
"""Probe, judgement, explanation, micro-quiz, and one judgement of the quiz."""
AROUND = 4
"""Introduction, prerequisites, final test, closing."""


class SessionEstimate(Struct, frozen=True):
    """`usd` is in US dollars."""

    calls: int
    usd: float


def estimate_session(plan: SessionPlan) -> SessionEstimate:
    """The number of calls and their cost."""
    fast = AROUND + CALLS_PER_OBJECTIVE * len(plan.objectives) + min(4, len(plan.prerequisites)) // 2
    usd = fast * (TOKENS_IN * FAST_IN + TOKENS_OUT * FAST_OUT) / 1e6
    usd += (2 * TOKENS_IN * ACCURATE_IN + TOKENS_OUT * ACCURATE_OUT) / 1e6
    return SessionEstimate(fast + 1, round(usd, 2))
