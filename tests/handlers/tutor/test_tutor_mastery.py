"""Mastery: the latest score, the mean with fsum, and what follows (SPEC T-03 to T-05, T-11)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError, convert

from support_examples import examples
from tacitd_handlers.tutor.knowledge_graph import GraphNode, KnowledgeGraph
from tacitd_handlers.tutor.mastery import (
    RETEST_DAYS,
    MasteryBook,
    ScoreRecord,
    compute_mean,
    measure_node,
    select_objectives,
    suggest_nodes,
)
from tacitd_handlers.tutor.session_model import Objective

DAY = 86400.0
SIX = (0.6, 0.7, 0.7, 0.7, 0.75, 0.75)


def node(id: str = "n", count: int = 6, after: tuple[str, ...] = ()) -> GraphNode:
    return GraphNode(id, id, tuple(Objective(f"o{at}", f"Objective {at}") for at in range(count)), after)


def record(scores: dict[str, float], session: str = "s", at: float = 0.0, node: str = "n") -> dict[str, Any]:
    return {"at": at, "session": session, "graph": "g", "node": node, "scores": scores}


def book(*records: dict[str, Any]) -> MasteryBook:
    made = MasteryBook()
    for one in records:
        made.fold_record(convert(one, ScoreRecord))
    return made


@given(st.lists(st.integers(0, 20), min_size=1, max_size=7))
@examples(300)
def test_the_mean_is_exact_on_a_grid(steps: list[int]) -> None:
    """SPEC T-03: on a grid of 0.05 the mean reaches the threshold exactly when the integers say so."""
    mean = compute_mean([step * 0.05 for step in steps])
    assert (mean >= 0.70) == (sum(steps) * 100 >= 1400 * len(steps))


def test_the_latest_score_counts() -> None:
    """SPEC T-04: replaced, not averaged; objectives without a score count 0."""
    one = book(record({"o0": 0.9}), record({"o0": 0.4}, "t", at=5.0))
    measured = measure_node(one, "g", node(count=2))
    assert (measured.mean, measured.scores, measured.last) == (0.2, {"o0": 0.4}, 5.0)
    assert measured.weakest is not None and measured.weakest.id == "o0"


def test_a_sessions_scores_count_once() -> None:
    """SPEC T-04: a record that a crash wrote twice does not come after a later one."""
    one = book(record({"o0": 0.5}), record({"o0": 0.9}, "t"), record({"o0": 0.5}))
    assert measure_node(one, "g", node(count=1)).mean == 0.9


@pytest.mark.parametrize(
    "bad",
    [
        {},
        record({"o0": 1.2}),
        record({"o0": -0.1}),
        {**record({"o0": 0.5}), "at": "now"},
    ],
)
def test_a_damaged_record_adds_nothing(bad: dict[str, Any]) -> None:
    """X-07: files are edited by people too."""
    with pytest.raises(ValidationError):
        book(bad)


def test_a_revisit_leaves_out_what_is_mastered() -> None:
    """SPEC T-11: on a revisit only objectives below 0.7; all of them once the node is mastered."""
    assert len(select_objectives(book(), "g", node(count=2))) == 2
    assert [one.id for one in select_objectives(book(record({"o0": 0.9})), "g", node(count=2))] == ["o1"]
    assert len(select_objectives(book(record({"o0": 0.9, "o1": 0.7})), "g", node(count=2))) == 2


def test_suggestions_are_retests_then_begun_then_new_nodes() -> None:
    """SPEC T-05: a mastered node is suggested again after four weeks; a new one when its prerequisites are mastered."""
    graph = KnowledgeGraph(
        "g", nodes=(node("a", 1), node("b", 1), node("c", 1, ("a",)), node("d", 1, ("b",)))
    )
    one = book(record({"o0": 0.9}, "s", node="a"), record({"o0": 0.3}, "t", node="b"))
    early = suggest_nodes(one, "g", graph, RETEST_DAYS * DAY - 1)
    assert [(each.node.id, each.is_retest) for each in early] == [("b", False), ("c", False)]
    late = suggest_nodes(one, "g", graph, RETEST_DAYS * DAY)
    assert [each.node.id for each in late] == ["a", "b", "c"] and late[0].is_retest
    assert "28 days" in late[0].why and "Objective 0" in late[1].why
