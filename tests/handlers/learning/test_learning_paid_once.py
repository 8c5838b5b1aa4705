"""A person edits LEARNED.md while a synthesis is asked: its answer is paid for once, and its facts are not given up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_heard import list_facts, write_proposals
from support_learning import IDLE, SYNTHESIS, LearningBench, lines
from tacitd.contract import Task, Tx
from tacitd.errors import UnwritableError
from tacitd.model.port import ModelRequest
from tacitd.work.task_rows import store_outcome

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


def test_facts_that_came_after_a_refused_commit_have_a_call_of_their_own(
    bench: LearningBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "The way of a prompt": the task is repeated, but not its call; later facts belong to the next synthesis."""
    refused = list[str]()

    def refuse(tx: Tx, plugin: str, task: Task, *about: Any) -> None:
        waiting = tx.rows("SELECT 1 FROM learning_fact WHERE state = 'waiting'")
        if task.kind != "prompts" and bench.count_calls("synthesis") == 1 and len(waiting) == 1:
            if not refused:
                bench.heard = NEW
                bench.bench.type("always run make test", session="s2")
            refused.append(task.kind)
            raise UnwritableError("the disk is full", "make room")
        store_outcome(tx, plugin, task, *about)

    monkeypatch.setattr("tacitd.work.task_runner.store_outcome", refuse)
    bench.learn("use pnpm, not npm", PNPM)
    bench.end()
    assert refused and bench.bullets == [PNPM, NEW]
    asked = [list_facts(one.prompt) for one in bench.model.asked if one.purpose == "synthesis"]
    assert [list(facts.values()) for facts in asked] == [[PNPM], [NEW]]
