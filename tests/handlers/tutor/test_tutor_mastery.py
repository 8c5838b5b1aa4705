"""Mastery: the latest score, the mean with fsum, and what follows (SPEC T-03 to T-05, T-11)."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support_examples import examples
from support_tutor import make_plan
from tacitd_handlers.tutor.knowledge_graph import GraphNode, KnowledgeGraph
from tacitd_handlers.tutor.mastery import (
    RETEST_DAYS,
    MasteryBook,
    collect_scores,
    compute_mean,
    measure_node,
    select_objectives,
    suggest_nodes,
)
from tacitd_handlers.tutor.session_model import Objective, ReplayedSession, Scored, SessionState, TimedEvent

DAY = 86400.0
GRAPH = KnowledgeGraph(path=Path("g.yaml"))


def node(id: str = "n", count: int = 6, after: tuple[str, ...] = ()) -> GraphNode:
    return GraphNode(id, id, tuple(Objective(f"o{at}", f"Objective {at}") for at in range(count)), after)


def graded(scores: dict[str, float], at: float = 0.0, node: str = "n") -> ReplayedSession:
    """A session whose test was graded at this time."""
    plan = replace(make_plan(), graph="g", node_id=node)
    return ReplayedSession(SessionState(plan), at, at, (TimedEvent(at, Scored(scores), SessionState(plan)),))


def book(*sessions: ReplayedSession) -> MasteryBook:
    return collect_scores(sessions)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=7))
@examples(300)
def test_the_mean_is_exact_on_a_grid(steps: list[int]) -> None:
    """SPEC T-03: on a grid of 0.05 the mean reaches the threshold exactly when the integers say so."""
    mean = compute_mean([step * 0.05 for step in steps])
    assert (mean >= 0.70) == (sum(steps) * 100 >= 1400 * len(steps))


def test_the_latest_score_counts() -> None:
    """SPEC T-04: replaced, not averaged; objectives without a score count 0."""
    one = book(graded({"o0": 0.4}, at=5.0), graded({"o0": 0.9}))
    measured = measure_node(one, GRAPH, node(count=2))
    assert (measured.mean, measured.scores, measured.last) == (0.2, {"o0": 0.4}, 5.0)
    assert measured.weakest is not None and measured.weakest.id == "o0"


def test_a_revisit_leaves_out_what_is_mastered() -> None:
    """SPEC T-11: on a revisit only objectives below 0.7; all of them once the node is mastered."""
    assert len(select_objectives(book(), GRAPH, node(count=2))) == 2
    assert [one.id for one in select_objectives(book(graded({"o0": 0.9})), GRAPH, node(count=2))] == ["o1"]
    assert len(select_objectives(book(graded({"o0": 0.9, "o1": 0.7})), GRAPH, node(count=2))) == 2


def test_suggestions_are_retests_then_begun_then_new_nodes() -> None:
    """SPEC T-05: a mastered node is suggested again after four weeks; a new one when its prerequisites are mastered."""
    graph = replace(GRAPH, nodes=(node("a", 1), node("b", 1), node("c", 1, ("a",)), node("d", 1, ("b",))))
    one = book(graded({"o0": 0.9}, node="a"), graded({"o0": 0.3}, node="b"))
    early = suggest_nodes(one, graph, RETEST_DAYS * DAY - 1)
    assert [(each.node.id, each.is_retest) for each in early] == [("b", False), ("c", False)]
    late = suggest_nodes(one, graph, RETEST_DAYS * DAY)
    assert [each.node.id for each in late] == ["a", "b", "c"] and late[0].is_retest
    assert "28 days" in late[0].why and "Objective 0" in late[1].why
