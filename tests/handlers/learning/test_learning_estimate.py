"""The upper bounds for a scan's calls and cost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_sources import ROOT
from tacitd.contract import StoredPrompt
from tacitd.work.task_rows import choose_prompts
from tacitd_handlers.learning.answers import (
    EXTRACTION_ANSWER,
    HeardAnswer,
    NumberedFact,
    choose_facts,
    parse_heard,
)
from tacitd_handlers.learning.scan import (
    MATERIAL,
    SMART_IN,
    SMART_OUT,
    SessionVolume,
    estimate_cost,
)
from tacitd_handlers.shared.model_text import FACT_LIMIT

MAX_PROMPTS, MAX_BYTES = 10, 2048


def test_nothing_costs_nothing() -> None:
    """`scan` first prints what it costs."""
    nothing = estimate_cost([SessionVolume("/w", 0, 0)], MAX_PROMPTS, MAX_BYTES)
    assert (nothing.sessions, nothing.prompts, nothing.calls, nothing.usd) == (0, 0, 0, 0.0)


@given(st.lists(st.integers(0, 2 * MAX_BYTES), min_size=1, max_size=60))
@examples(60)
def test_no_fewer_calls_than_gathering_makes(sizes: list[int]) -> None:
    """The estimate is never exceeded."""
    waiting = [
        StoredPrompt(i, f"u{i}", "claude-code", "s", "typed", "x" * max(1, size), "", "/w", 0.0)
        for i, size in enumerate(sizes)
    ]
    calls = 0
    while waiting:
        waiting = waiting[len(choose_prompts(waiting, MAX_PROMPTS, MAX_BYTES)) :]
        calls += 1
    said = estimate_cost(
        [SessionVolume("/w", len(sizes), sum(max(1, s) for s in sizes))], MAX_PROMPTS, MAX_BYTES
    )
    assert calls <= said.calls and said.prompts == len(sizes) and said.usd > 0


@pytest.mark.parametrize("answers", [1, 7, 100])
def test_no_fewer_syntheses_than_portions(answers: int) -> None:
    """The estimate is not exceeded if every answer is as long as possible, with the longest facts."""
    many, size = list[str](), 0
    while size <= EXTRACTION_ANSWER:
        many.append(json.dumps({"message": 1, "words": "x", "fact": f"{len(many)} ".ljust(FACT_LIMIT, "x")}))
        size += len(many[-1]) + 1
    parsed = parse_heard("\n".join(many[:-1]))
    assert isinstance(parsed, HeardAnswer) and len(parsed.lines) == len(many) - 1 > 20
    facts = [f"{answer} {heard.fact}"[:FACT_LIMIT] for answer in range(answers) for heard in parsed.lines]
    said = estimate_cost([SessionVolume("/w", answers * MAX_PROMPTS, answers)], MAX_PROMPTS, MAX_BYTES)
    waiting, calls = list(map(NumberedFact, facts)), 0
    while waiting:
        waiting, calls = waiting[len(choose_facts(waiting)) :], calls + 1
    assert answers + calls <= said.calls


def test_the_readme_says_what_is_estimated() -> None:
    """README "What it costs" has the same numbers for ten prompts and for a project."""
    usual, largest = (estimate_cost([SessionVolume("/w", 10, size)], 10, 24_576) for size in (2_000, 24_576))
    ending = (SMART_IN * MATERIAL / 2 + SMART_OUT * 3000) / 1e6
    once = usual.usd - (usual.calls - 1) * ending, largest.usd - (largest.calls - 1) * ending
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{once[0] * 100:.1f} cents for ten usual prompts, {once[1] * 100:.1f} for the largest ten" in text
    assert ending <= 0.15 and "15 cents for each call of the larger one" in text
