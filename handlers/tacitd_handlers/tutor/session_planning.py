"""Make the plan of a session from a node, and notice that a graph changed since. Pure."""

from __future__ import annotations

from tacitd_handlers.tutor.knowledge_graph import GraphNode, KnowledgeGraph
from tacitd_handlers.tutor.mastery import MasteryBook, measure_node, select_objectives, suggest_nodes
from tacitd_handlers.tutor.session_model import SessionPlan, TestMix
from tacitd_handlers.tutor.settings import TutorSettings

NEXT = 3
"""Next nodes that the closing names."""


def plan_session(
    graph: KnowledgeGraph,
    key: str,
    node: GraphNode,
    book: MasteryBook,
    settings: TutorSettings,
    *,
    project: str = "",
    now: float = 0.0,
) -> SessionPlan:
    """The plan of a session on a node; its id is made when it starts. `now`: seconds since 1970, UTC."""
    mix = TestMix(settings.test_mcq, settings.test_short, settings.test_paraphrase)
    return SessionPlan(
        session="",
        graph=key,
        project=project,
        node_id=node.id,
        title=node.title,
        objectives=select_objectives(book, key, node),
        prerequisites=graph.list_prerequisites(node),
        references=graph.list_references(node),
        level=graph.level,
        next_nodes=_list_next(graph, key, node, book, now),
        digest=graph.digest_node(node),
        mix=mix if mix.mcq + mix.short + mix.paraphrase else TestMix(),
    )


def _list_next(
    graph: KnowledgeGraph, key: str, node: GraphNode, book: MasteryBook, now: float
) -> tuple[str, ...]:
    """Titles of what can follow: nodes that build on this one, then other suggestions."""
    followers = [one for one in graph.list_followers(node.id) if not measure_node(book, key, one).is_mastered]
    others = [one.node for one in suggest_nodes(book, key, graph, now) if one.node.id != node.id]
    return tuple(dict.fromkeys(one.title for one in (*followers, *others)))[:NEXT]


def describe_change(plan: SessionPlan, graph: KnowledgeGraph | None) -> str:
    """What changed in the graph since the session began, for the learner; "" if nothing did."""
    node = graph.find_node(plan.node_id) if graph is not None else None
    if graph is None or node is None:
        return "The graph of this session is gone or has faults. The session goes on with the node as it was."
    if graph.digest_node(node) != plan.digest:
        return "The graph was changed since this session began. It goes on with the node as it was."
    return ""
