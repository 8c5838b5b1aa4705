"""The knowledge graph: nodes with objectives, joined by prerequisites (SPEC T-01, T-02). Pure.

A graph file is YAML or JSON:

    level: knows programming, new to Git        # the learner's level, part of every prompt
    references:
      - {id: progit, title: Pro Git, where: https://git-scm.com/book}
    nodes:
      - node_id: objects
        title: The object store
        objectives:                             # 5 to 7: text, or {id, text}
          - Name the four kinds of objects
        prerequisites: []                       # node ids
        references_sections:
          - {rid: progit, loc: chapter 10.2}

`check_graph` makes a graph of such a document, or lists its faults. A fault names the node that it is in.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.tutor.session_model import Objective, Reference

FEWEST, MOST = 5, 7
"""Objectives of a node; another number is a warning (SPEC T-01)."""
LONGEST, LONGEST_TITLE, LONGEST_ID = 500, 120, 64
"""Characters of a text, of a node's title, of an id. They are part of every prompt about the node, which costs money."""
MOST_ITEMS, MOST_NODES = 20, 500
"""Objectives, prerequisites and references of one node, for the same reason; nodes and references of a file."""
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_ID - 1}}}")


class GraphNode(Struct, frozen=True):
    """One node."""

    id: str
    title: str
    objectives: tuple[Objective, ...]
    prerequisites: tuple[str, ...] = ()
    """Ids of nodes."""
    references: tuple[Reference, ...] = ()
    """With the section in `where`."""


class KnowledgeGraph(Struct, frozen=True):
    """A graph without faults. Nodes come after their prerequisites."""

    title: str = ""
    level: str = ""
    """The learner's level in the domain, from the project brief."""
    nodes: tuple[GraphNode, ...] = ()

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


class CheckedGraph(Struct, frozen=True):
    """What a document contains: a graph if there are no faults."""

    graph: KnowledgeGraph | None = None
    faults: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """What prevents no session."""


def check_graph(document: object) -> CheckedGraph:
    """Given what YAML or JSON contains, return the graph or every fault. Scalars must be text. Raises nothing."""
    reader = _Reader()
    top = reader.read_fields(document, ("title", "level", "references", "nodes"), "the file")
    title, level = (reader.read_text(top, key, "the file") for key in ("title", "level"))
    references = {one.id: one for one in reader.read_references(top)}
    items = reader.read_items(top, "nodes", "the file", MOST_NODES)
    nodes = [reader.read_node(item, number, references) for number, item in enumerate(items, 1)]
    faults = [*reader.faults, *_find_faults(nodes)]
    ordered: tuple[GraphNode, ...] = ()
    try:
        ordered = _sort_nodes(nodes)
    except CycleError as error:
        faults.append(f"these nodes are prerequisites of each other: {' -> '.join(error.args[1])}")
    warnings = [
        f"the node {node.id} has {len(node.objectives)} objectives; {FEWEST} to {MOST} fit a session"
        for node in nodes
        if not FEWEST <= len(node.objectives) <= MOST
    ]
    return CheckedGraph(None if faults else KnowledgeGraph(title, level, ordered), faults, warnings)


def make_objective_id(text: str) -> str:
    """The id of an objective that has none: words of its text, and a digest, so that another text is another objective."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:32].strip("-")
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4]
    return f"{words}-{digest}" if words else f"o-{digest}"


def _sort_nodes(nodes: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
    """The nodes with prerequisites first. Raises CycleError with the path of a cycle."""
    by_id = {node.id: node for node in nodes}
    edges = {id: [one for one in node.prerequisites if one in by_id] for id, node in by_id.items()}
    return tuple(by_id[id] for id in TopologicalSorter(edges).static_order())


def _find_faults(nodes: Sequence[GraphNode]) -> Iterator[str]:
    """What is missing, there twice, or not in the graph (SPEC T-01, T-02)."""
    if not nodes:
        yield "the file has no nodes"
    known = [node.id for node in nodes]
    yield from (f"the node {id} is there twice" for id in _find_repeated(known))
    for node in nodes:
        where = f"the node {node.id}"
        if not node.title:
            yield f"{where} has no title"
        if not node.objectives:
            yield f"{where} has no objectives"
        # Each repetition would be in every prompt once more.
        yield from (
            f"{where} has the objective {id} twice"
            for id in _find_repeated([one.id for one in node.objectives])
        )
        yield from (f"{where} has the prerequisite {id} twice" for id in _find_repeated(node.prerequisites))
        names = [f"{one.id} {one.where}" for one in node.references]
        yield from (f"{where} has the reference {name} twice" for name in _find_repeated(names))
        dangling = [id for id in node.prerequisites if id not in known]
        yield from (f"{where} has the prerequisite {id}, which is not in the graph" for id in dangling)


def _find_repeated(ids: Sequence[str]) -> list[str]:
    return [id for id, count in Counter(ids).items() if count > 1]


class _Reader:
    """Reads the parts of a document and collects their faults, so that a person sees all of them at once."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def read_node(self, item: object, number: int, references: Mapping[str, Reference]) -> GraphNode:
        """One node. What is wrong in it is left out, and is a fault."""
        keys = ("node_id", "title", "objectives", "prerequisites", "references_sections")
        where = f"node {number}"
        id = self.read_text(item if isinstance(item, dict) else {}, "node_id", where)
        if _ID.fullmatch(id):
            where = f"the node {id}"
        else:
            self.faults.append(
                f"{where} needs a node_id of letters, digits, `.`, `_` and `-`: {id[:LONGEST_ID]!r}"
            )
        found = self.read_fields(item, keys, where)
        objectives = [self._read_objective(one, where) for one in self.read_items(found, "objectives", where)]
        prerequisites = self.read_items(found, "prerequisites", where)
        sections = self.read_items(found, "references_sections", where)
        return GraphNode(
            id,
            self.read_text(found, "title", where, LONGEST_TITLE),
            tuple(one for one in objectives if one.text),
            tuple(self._clean(one, f"a prerequisite of {where}", LONGEST_ID) for one in prerequisites),
            tuple(self._read_section(one, where, references) for one in sections),
        )

    def _read_objective(self, item: object, where: str) -> Objective:
        fields = item if isinstance(item, dict) else {"text": item}
        what = f"an objective of {where}"
        found = self.read_fields(fields, ("id", "text"), what)
        text = self.read_text(found, "text", what)
        id = self.read_text(found, "id", what) or make_objective_id(text)
        if not text or not _ID.fullmatch(id):
            self.faults.append(f"{what} has no text, or an id that is none: {id[:LONGEST_ID]!r}")
        return Objective(id, text)

    def _read_section(self, item: object, where: str, references: Mapping[str, Reference]) -> Reference:
        fields = item if isinstance(item, dict) else {"rid": item}
        what = f"a reference of {where}"
        found = self.read_fields(fields, ("rid", "loc"), what)
        id, place = (self.read_text(found, key, what) for key in ("rid", "loc"))
        base = references.get(id)
        if base is None:
            self.faults.append(f"{where} names the reference {id}, which is not in `references`")
            return Reference(id, "", place)
        return Reference(id, base.title, f"{base.where} {place}".strip())

    def read_references(self, top: Mapping[str, object]) -> Iterator[Reference]:
        """The list `references` of the file."""
        for item in self.read_items(top, "references", "the file", MOST_NODES):
            found = self.read_fields(item, ("id", "title", "where"), "a reference")
            one = Reference(*(self.read_text(found, key, "a reference") for key in ("id", "title", "where")))
            if not one.id:
                self.faults.append("a reference has no id")
            yield one

    def read_fields(self, value: object, known: Collection[str], where: str) -> Mapping[str, object]:
        """The fields of a mapping; {} if it is something else."""
        if not isinstance(value, dict):
            self.faults.append(f"{where} is not a mapping of fields")
            return {}
        unknown = [self._clean(str(key), where)[:LONGEST_ID] for key in value if key not in known]
        self.faults += [f"{where} has the unknown field {key!r}" for key in unknown]
        return value

    def read_items(
        self, fields: Mapping[str, object], key: str, where: str, most: int = MOST_ITEMS
    ) -> list[object]:
        """The items of a list; [] if the field is empty, missing, too long or something else."""
        value = fields.get(key) or []
        if not isinstance(value, list):
            self.faults.append(f"`{key}` of {where} is not a list")
            return []
        if len(value) > most:
            self.faults.append(f"{where} has {len(value)} {key}; at most {most} are allowed")
            return []
        return value

    def read_text(self, fields: Mapping[str, object], key: str, where: str, longest: int = LONGEST) -> str:
        """A text as one line, without control characters; "" if the field is missing or something else."""
        return self._clean(fields.get(key), f"`{key}` of {where}", longest)

    def _clean(self, value: object, what: str, longest: int = LONGEST) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.faults.append(f"{what} is not a text")
            return ""
        # YAML writes characters above U+FFFF as JSON does, but PyYAML does not join the two escapes.
        text = sanitize_line(value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        if len(text) > longest:
            self.faults.append(f"{what} has more than {longest} characters")
        return text[:longest]
