"""Mastery: the latest graded score of each objective, and what follows from it (SPEC T-03 to T-05). Pure.

Scores are in the logs of the sessions and nowhere else. Times are in seconds since 1970, UTC.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tacitd_handlers.tutor.knowledge_graph import GraphNode, KnowledgeGraph
from tacitd_handlers.tutor.session_model import Objective, ReplayedSession, Scored

THRESHOLD = 0.70
"""A node is mastered at this mean of its objectives' scores."""
RETEST_DAYS = 28
"""Days after which a mastered node that was not tested again is suggested for a retest."""

MasteryBook = Mapping[tuple[str, str, str], tuple[float, float]]
"""By graph, node and objective, when its latest score was given, and the score, 0 to 1."""


def collect_scores(sessions: Iterable[ReplayedSession]) -> MasteryBook:
    """The latest score of each objective that was graded (SPEC T-04)."""
    graded = [
        (each.at, one.state.plan, each.event.scores)
        for one in sessions
        for each in one.events
        if isinstance(each.event, Scored)
    ]
    return {
        (plan.graph, plan.node_id, id): (at, score)
        for at, plan, scores in sorted(graded, key=lambda one: one[0])
        for id, score in scores.items()
    }


class NodeMastery(Struct, frozen=True):
    mean: float
    """0 to 1, over all objectives of the node; those without a score count 0 (SPEC T-04)."""
    scores: Mapping[str, float]
    """By id of the objectives that have one."""
    weakest: Objective | None
    last: float
    """When a score of it was last given; 0 if none was."""

    @property
    def is_mastered(self) -> bool:
        return self.mean >= THRESHOLD


def compute_mean(scores: Sequence[float]) -> float:
    """The mean of 0 to 1 scores. `fsum`, because before Python 3.12 `sum` of six scores can be below 0.70 where the mean is 0.70
    (T-03)."""
    return math.fsum(scores) / len(scores) if scores else 0.0


def measure_node(book: MasteryBook, graph: KnowledgeGraph, node: GraphNode) -> NodeMastery:
    """The mastery of a node as it is in the graph now; scores of objectives that it no longer has do not count."""
    keys = {one.id: (graph.key, node.id, one.id) for one in node.objectives}
    graded = {id: book[key] for id, key in keys.items() if key in book}
    scores = {id: score for id, (_, score) in graded.items()}
    return NodeMastery(
        mean=compute_mean([scores.get(one.id, 0.0) for one in node.objectives]),
        scores=scores,
        weakest=find_weakest(node.objectives, scores),
        last=max((at for at, _ in graded.values()), default=0.0),
    )


def select_objectives(book: MasteryBook, graph: KnowledgeGraph, node: GraphNode) -> tuple[Objective, ...]:
    """What a session teaches: on a revisit only objectives below the threshold, or all if there are none (SPEC T-11)."""
    scores = measure_node(book, graph, node).scores
    weak = [one for one in node.objectives if scores.get(one.id, 0.0) < THRESHOLD]
    return tuple(weak) or node.objectives


class Suggestion(Struct, frozen=True):
    node: GraphNode
    why: str
    is_retest: bool = False


def suggest_nodes(book: MasteryBook, graph: KnowledgeGraph, now: float) -> list[Suggestion]:
    """What can be learned next: retests, then nodes that were begun, then new ones whose prerequisites are mastered."""
    measured = {node.id: measure_node(book, graph, node) for node in graph.nodes}
    retests, begun, new = [], [], []
    for node in graph.nodes:
        one = measured[node.id]
        if one.is_mastered:
            days = int((now - one.last) // 86400)
            if days >= RETEST_DAYS:
                retests.append(Suggestion(node, f"mastered, last tested {days} days ago", is_retest=True))
        elif one.weakest:
            why = f"at {one.mean:.2f} of {THRESHOLD:.2f}; weakest: {one.weakest.text}"
            begun.append(Suggestion(node, why))
        elif all(measured[id].is_mastered for id in node.prerequisites if id in measured):
            new.append(Suggestion(node, "its prerequisites are mastered" if node.prerequisites else "new"))
    return [*retests, *begun, *new]


def find_weakest(objectives: Iterable[Objective], scores: Mapping[str, float]) -> Objective | None:
    """The objective with the lowest of these scores; the first of several."""
    return min((one for one in objectives if one.id in scores), key=lambda one: scores[one.id], default=None)
