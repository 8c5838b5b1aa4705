"""The knowledge graph: nodes with objectives, joined by prerequisites (SPEC T-01, T-02). Pure.

The rules of a graph belong here: which faults there are, the order of the nodes, what is a prerequisite of what. Reading a
graph's text is in `graph_file`, mastery in `mastery`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from tacitd_handlers.tutor.session_model import Objective, Reference

FEWEST, MOST = 5, 7
"""Objectives of a node; another number is a warning, none is an error (SPEC T-01)."""
LONGEST_OBJECTIVE = 500
"""Characters of an objective. It is part of every prompt about its node."""
MOST_SECTIONS = 20
"""References of one node. Each is in every prompt of the tutor, which costs money."""
LONGEST_REFERENCE = 500
"""Characters of each field of a reference, for the same reason."""
LONGEST_TITLE = 120
LONGEST_NAME = 64
"""Characters of a node's id."""


class SectionReference(Struct, frozen=True):
    """A pointer from a node into the list of references: `{rid, loc}` of the seed."""

    id: str
    where: str = ""


class GraphNode(Struct, frozen=True):
    """One node, as it is in the file."""

    id: str
    title: str
    objectives: tuple[Objective, ...]
    prerequisites: tuple[str, ...] = ()
    """Ids of nodes."""
    sections: tuple[SectionReference, ...] = ()
    line: int = 0
    """Its line in the file, from 1."""


class GraphFault(Struct, frozen=True):
    """One fault of a graph, with its place. A warning does not prevent a session."""

    what: str
    line: int
    """From 1; 0: the file as a whole."""
    is_warning: bool = False


class KnowledgeGraph(Struct, frozen=True):
    """A graph without faults."""

    name: str
    title: str = ""
    level: str = ""
    """The learner's level in the domain, from the project brief."""
    nodes: tuple[GraphNode, ...] = ()
    references: Mapping[str, Reference] = field(default_factory=dict)

    def find_node(self, id: str) -> GraphNode | None:
        """The node with this id."""
        return next((node for node in self.nodes if node.id == id), None)

    def list_prerequisites(self, node: GraphNode) -> tuple[Objective, ...]:
        """The objectives of all direct prerequisites, with ids `node_id/id` (SPEC T-02)."""
        found = [one for id in node.prerequisites if (one := self.find_node(id)) is not None]
        return tuple(Objective(f"{one.id}/{each.id}", each.text) for one in found for each in one.objectives)

    def list_followers(self, id: str) -> tuple[GraphNode, ...]:
        """The nodes that have this one as a prerequisite."""
        return tuple(node for node in self.nodes if id in node.prerequisites)

    def list_references(self, node: GraphNode) -> tuple[Reference, ...]:
        """The references of a node, with the section in `where`."""
        found = []
        for section in node.sections:
            base = self.references.get(section.id)
            if base is not None:
                where = f"{base.where} {section.where}".strip()
                found.append(Reference(base.id, base.title, where))
        return tuple(found)

    def digest_node(self, node: GraphNode) -> str:
        """A hash of what a session takes of a node."""
        parts = [
            node.title,
            [(one.id, one.text) for one in node.objectives],
            list(node.prerequisites),
            self.level,
        ]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()[:16]


def sort_nodes(nodes: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
    """The nodes with prerequisites first, otherwise in the order of the file. The graph must have no cycle."""
    placed: dict[str, GraphNode] = {}
    left = list(nodes)
    while left:
        ready = [node for node in left if all(id in placed for id in node.prerequisites)]
        if not ready:
            return (*placed.values(), *left)
        placed[ready[0].id] = ready[0]
        left.remove(ready[0])
    return tuple(placed.values())


def find_faults(nodes: Sequence[GraphNode], references: Mapping[str, Reference]) -> Iterator[GraphFault]:
    """The faults of a graph's nodes (SPEC T-01, T-02): duplicate and dangling ids, cycles, numbers and lengths."""
    lines: dict[str, int] = {}
    for node in nodes:
        if node.id in lines:
            yield GraphFault(
                f"the node id {node.id} is used twice, first on line {lines[node.id]}", node.line
            )
        lines.setdefault(node.id, node.line)
    if not nodes:
        yield GraphFault("the graph has no nodes", 0)
    for node in nodes:
        yield from _node_faults(node, lines, references)
    cycle = find_cycle(nodes)
    if cycle:
        what = " -> ".join(cycle)
        yield GraphFault(f"these nodes are prerequisites of each other: {what}", lines[cycle[0]])


def _node_faults(
    node: GraphNode, lines: Mapping[str, int], references: Mapping[str, Reference]
) -> Iterator[GraphFault]:
    if not node.objectives:
        yield GraphFault(f"the node {node.id} has no objectives", node.line)
    elif not FEWEST <= len(node.objectives) <= MOST:
        count = f"{len(node.objectives)} objectives; {FEWEST} to {MOST} fit a session"
        yield GraphFault(f"the node {node.id} has {count}", node.line, is_warning=True)
    ids = [one.id for one in node.objectives]
    for id in _find_repeated(ids):
        yield GraphFault(f"the node {node.id} has the objective {id} twice", node.line)
    for one in node.objectives:
        if len(one.text) > LONGEST_OBJECTIVE:
            size = f"{len(one.text)} characters; at most {LONGEST_OBJECTIVE} are allowed"
            yield GraphFault(f"an objective of {node.id} has {size}: {one.text[:40]}…", node.line)
    if len(node.title) > LONGEST_TITLE:
        yield GraphFault(f"the title of {node.id} has more than {LONGEST_TITLE} characters", node.line)
    # Each repetition would add the same objectives to every prompt once more.
    for id in _find_repeated(node.prerequisites):
        yield GraphFault(f"the node {node.id} has the prerequisite {id} twice", node.line)
    for id in node.prerequisites:
        if id not in lines:
            yield GraphFault(
                f"the node {node.id} has the prerequisite {id}, which is not in the graph", node.line
            )
    if len(node.sections) > MOST_SECTIONS:
        count = f"{len(node.sections)} references; at most {MOST_SECTIONS} are allowed"
        yield GraphFault(f"the node {node.id} names {count}", node.line)
    for name in _find_repeated([f"{section.id} {section.where}".strip() for section in node.sections]):
        yield GraphFault(f"the node {node.id} names the reference {name} twice", node.line)
    for section in node.sections:
        if len(section.where) > LONGEST_REFERENCE:
            what = (
                f"a section of the reference {section.id[:40]} has more than {LONGEST_REFERENCE} characters"
            )
            yield GraphFault(what, node.line)
        if section.id not in references:
            what = f"the node {node.id} names the reference {section.id}, which is not in `references`"
            yield GraphFault(what, node.line)


def _find_repeated(ids: Sequence[str]) -> list[str]:
    return sorted(id for id, count in Counter(ids).items() if count > 1)


def find_cycle(nodes: Sequence[GraphNode]) -> tuple[str, ...]:
    """One cycle of prerequisites, as a path whose first and last id are the same; () if there is none."""
    edges = {node.id: list(node.prerequisites) for node in nodes}
    finished: set[str] = set()
    for start in edges:
        # Without recursion, because a chain may be longer than Python's stack.
        path: list[str] = []
        rest: list[Iterator[str]] = [iter((start,))]
        while rest:
            id = next(rest[-1], None)
            if id is None:
                rest.pop()
                if path:
                    finished.add(path.pop())
                continue
            if id in path:
                return (*path[path.index(id) :], id)
            if id in edges and id not in finished:
                path.append(id)
                rest.append(iter(edges[id]))
    return ()
