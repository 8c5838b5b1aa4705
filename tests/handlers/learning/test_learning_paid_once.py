"""A person edits LEARNED.md while a synthesis is asked: its answer is paid for once, and its facts are not given up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_heard import write_proposals
from support_learning import IDLE, SYNTHESIS, LearningBench, lines
from tacitd.model.port import ModelRequest

PNPM, LINT, SHORT, NEW = (
    "Use pnpm, not npm",
    "Always run make lint",
    "Keep answers short",
    "Always run make test",
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LearningBench]:
    with LearningBench(tmp_path) as made:
        yield made


@pytest.mark.parametrize("deletions", [1, 2])
def test_a_line_that_is_deleted_during_the_call_costs_no_second_one(
    bench: LearningBench, deletions: int
) -> None:
    """DESIGN "The way of a prompt", RELIABILITY 16: the outcome waits for the second look; its answer is used then."""
    for number, (words, heard) in enumerate(
        [("use pnpm, not npm", PNPM), ("always run make lint", LINT), ("keep answers short", SHORT)]
    ):
        bench.learn(words, heard, f"s{number}")
    assert bench.bullets == [PNPM, LINT, SHORT]
    before = bench.count_calls("synthesis")
    path, left = bench.root / "LEARNED.md", [f"- {LINT}\n", f"- {PNPM}\n"][:deletions]

    def answer(request: ModelRequest) -> str:
        if left:
            path.write_text(path.read_text().replace(left.pop(), ""))
        return write_proposals(lines(NEW), request.prompt)

    bench.model.rules = [(SYNTHESIS, answer), *bench.model.rules]
    bench.say("always run make test", NEW, "new")
    bench.bench.settle(IDLE)
    bench.look()
    bench.end()
    assert NEW in bench.bullets and ("written",) in bench.facts("state")[-1:]
    assert bench.count_calls("synthesis") == before + 1
