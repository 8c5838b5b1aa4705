"""Very many facts of a project: the work grows as they do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_heard import list_facts
from support_learning import SYNTHESIS, Bench
from support_steps import count_steps
from tacitd.events import Due
from tacitd.model.port import ModelRequest

pytestmark = pytest.mark.undated


FEW, MANY = 15, 150
TIMES = 12
"""How often the work for FEW may be needed for MANY."""


def make_lines(ask: ModelRequest) -> str:
    """A line for each fact, in other words."""
    facts = list_facts(ask.prompt)
    return "\n".join(json.dumps({"FACT": f"{fact} everywhere", "FROM": [at]}) for at, fact in facts.items())


def count_synthesis(box: Path, number: int) -> int:
    """The steps that the synthesis of this many facts makes, which must all become lines."""
    bench = Bench(box, (SYNTHESIS, make_lines))
    facts = [f"Prefers left{at} before right{at} with both{at} near end{at}" for at in range(number)]
    records = [{"ts": "2026-11-20T10:00:00Z", "facts": facts[at : at + 5]} for at in range(0, number, 5)]
    bench.put("tmp/learning-raw.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    made = count_steps(lambda: bench.play(Due("synthesize", bench.project)))
    assert len([line for line in bench.bullets if line.endswith(" everywhere")]) == number
    return made


def test_the_work_of_a_synthesis_grows_as_its_facts_do(tmp_path: Path) -> None:
    """S-24: ten times the facts take at most twelve times the work, so that thousands of them are written too."""
    assert count_synthesis(tmp_path / "many", MANY) < TIMES * count_synthesis(tmp_path / "few", FEW)
