"""Upper bounds for the calls and the cost of `tacitd scan`. Pure: counts in, counts and US dollars out.

Prices are in dollars per million tokens, of the most expensive model that each tier's default name meant in 2026. A
token counts as two bytes, so that code and non-Latin scripts are not underestimated. An answer counts as 1,000 tokens
for facts and 3,000 for lines. The budget's caps apply independently of the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil

from msgspec import Struct

from tacitd_handlers.shared.fact_text import FACT_LIMIT

EXTRACTION_ANSWER = 16_384
"""Maximum length of an answer with facts in characters. A longer answer is not a list of facts. Nothing else limits their number."""
FACTS_BYTES = 20_000
"""Bytes of the new facts of one synthesis."""
FACT_OVERHEAD = 100
"""Bytes that a synthesis has for each fact besides its text: whether it corrects, its day, and how often it was said."""
HEARD_OVERHEAD = 50
"""Characters that a line of an extraction's answer has besides its fact: keys, the number, and a word of the message."""
FAST_IN, FAST_OUT = 1.0, 5.0
SMART_IN, SMART_OUT = 3.0, 15.0
OVERHEAD = 8192
"""Bytes of the prompt's template, the client's system prompt, and the known-facts summary."""
FACTS_OF_ANSWER = ceil(EXTRACTION_ANSWER / (FACT_LIMIT + HEARD_OVERHEAD))
"""Facts in an answer of the maximum length."""
MATERIAL = 60_000
"""Bytes of facts and existing lines in one synthesis."""


class SessionVolume(Struct, frozen=True):
    """The prompts of one session in one project."""

    project: str
    """The project's root."""
    prompts: int
    """Number of prompts that were not handled yet."""
    bytes: int
    """Size of these prompts and their contexts in bytes."""
    handled: int = 0
    """Number of prompts that were handled before."""
    paused: int = 0
    """Number of `prompts` that were typed while a person had paused learning."""


class Estimate(Struct, frozen=True):
    """Upper bounds for a scan. `usd` is in US dollars."""

    sessions: int
    prompts: int
    calls: int
    usd: float


def estimate_cost(
    sessions: Iterable[SessionVolume], max_prompts: int, max_bytes: int, directives: int = 2
) -> Estimate:
    """Given the sessions, the limits of one call in prompts and bytes, and the number of directives of all projects, return the upper
    bounds."""
    kept = [s for s in sessions if s.prompts]
    fast = sum(_calls(s, max_prompts, max_bytes) for s in kept)
    answers = Counter[str]()
    for session in kept:
        answers[session.project] += _calls(session, max_prompts, max_bytes)
    # For each project one summary call for its own directives, its syntheses, and one for what is about the person; one call for
    # each directive of all.
    smart = sum(2 + _syntheses(number) for number in answers.values()) + directives * bool(answers)
    tokens = sum(s.bytes for s in kept) / 2 + fast * (OVERHEAD + 300 * max_prompts) / 2
    usd = (tokens * FAST_IN + fast * 1000 * FAST_OUT) / 1e6
    usd += smart * (MATERIAL / 2 * SMART_IN + 3000 * SMART_OUT) / 1e6
    return Estimate(len(kept), sum(s.prompts for s in kept), fast + smart, round(usd, 4))


def describe_pace(est: Estimate, calls_per_day: int, usd_per_day: float, share: float) -> str:
    """How long a scan takes under the caps of a day, of which it has a share: `about 3 days at $1.00 a day`; "" for one day."""
    usd, calls = share * usd_per_day, share * calls_per_day
    if not usd or not calls:
        return "the budget allows no call now"
    days = ceil(max(est.usd / usd, est.calls / calls))
    return f"about {days} days at ${usd_per_day:.2f} a day" if days > 1 else ""


def _syntheses(answers: int) -> int:
    """Synthesis calls for this many answers, each as long as possible, with the longest facts.

    A portion ends before the fact that exceeds FACTS_BYTES, so it may lack up to one fact.
    """
    fact = FACT_LIMIT + FACT_OVERHEAD
    return ceil(answers * FACTS_OF_ANSWER * fact / (FACTS_BYTES - fact))


def _calls(session: SessionVolume, max_prompts: int, max_bytes: int) -> int:
    """Extraction calls for one session. A batch ends before the prompt that exceeds a limit, so it may be half full."""
    by_bytes = ceil(2 * session.bytes / max_bytes) if session.bytes > max_bytes else 1
    return max(ceil(session.prompts / max_prompts), by_bytes)
