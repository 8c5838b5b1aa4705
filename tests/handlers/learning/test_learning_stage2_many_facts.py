"""Very many facts of a project: the work grows as they do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support_learning import SYNTHESIS, Bench
from support_steps import count_steps
from tacitd.events import Due
from tacitd.model.port import ModelRequest
from tacitd.text.markdown import arrange_lines

pytestmark = pytest.mark.undated


FEW, MANY = 15, 150
TIMES = 12
"""How often the work for FEW may be needed for MANY."""


def make_lines(ask: ModelRequest) -> str:
    """A line for each fact, in other words and without FROM."""
    facts = re.findall(r"^\d+\. (Prefers [^\n]+)$", ask.prompt, re.MULTILINE)
    return "\n".join(f"FILE: LEARNED.md\nSECTION: Coding\nFACT: {fact} everywhere\n" for fact in facts)


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


def test_the_work_of_putting_a_file_in_order_grows_as_its_lines_do() -> None:
    """S-28: one pass over the file finds the section of every line."""

    def count_arranging(number: int) -> int:
        order = [f"line {at}" for at in range(number)]
        data = b"# T\n\n## A\n" + "".join(f"- {line}\n" for line in reversed(order)).encode()
        return count_steps(lambda: arrange_lines(data, order))

    assert count_arranging(500) < TIMES * count_arranging(50)
