"""Parse a graph file: YAML or JSON text in, a graph or its faults with their lines out (SPEC T-01, T-02). Pure.

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

A graph may come from a cloned repository. So only plain data is read: no tags, no anchors (an alias can make a small file
grow without limit), no more than 256 KB. The parser is PyYAML's own and not libyaml, because libyaml ends the process on
text that is nested too deeply.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import yaml
from msgspec import Struct

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.tutor.knowledge_graph import (
    LONGEST_NAME,
    LONGEST_REFERENCE,
    GraphFault,
    GraphNode,
    KnowledgeGraph,
    SectionReference,
    find_faults,
    sort_nodes,
)
from tacitd_handlers.tutor.session_model import Objective, Reference

LARGEST = 256 * 1024
"""Bytes of a graph file: PyYAML takes about two seconds for so much."""
DEEPEST = 16
"""Lists and mappings inside each other; a graph needs six."""
_TOP = {"name", "title", "level", "references", "nodes"}
_NODE = {"node_id", "title", "objectives", "prerequisites", "references_sections"}
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}")


class ParsedGraph(Struct, frozen=True):
    """What a file contains: a graph if there are no errors, and every fault."""

    graph: KnowledgeGraph | None
    faults: tuple[GraphFault, ...]

    @property
    def errors(self) -> tuple[GraphFault, ...]:
        """The faults that prevent a session."""
        return tuple(one for one in self.faults if not one.is_warning)


class _FaultError(Exception):
    def __init__(self, what: str, node: object = None) -> None:
        super().__init__(what)
        self.fault = GraphFault(what, _line(node) if node is not None else 0)


def parse_graph(text: str, name: str, *, is_json: bool = False) -> ParsedGraph:
    """Given a file's text and its name without the suffix, return the graph or its faults. Raises nothing."""
    if len(text) > LARGEST:
        return ParsedGraph(None, (GraphFault(f"the file has more than {LARGEST // 1024} KB", 0),))
    if is_json:
        # YAML refuses tabs as indentation. In JSON a tab is only allowed between tokens, where it means a space.
        text = text.replace("\t", " ")
    try:
        root = _compose(text)
        return _GraphReader(name).read(root)
    except _FaultError as error:
        return ParsedGraph(None, (error.fault,))


def _compose(text: str) -> yaml.Node:
    """The tree of nodes with their lines. Raises _FaultError."""
    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:  # before the tree is built, because that takes quadratic time in the depth
                raise _FaultError("the file is nested too deeply", event)
            anchor = getattr(event, "anchor", None)
            if anchor is not None:
                raise _FaultError(
                    f"anchors and aliases (&{anchor}, *{anchor}) are not read; write the text out", event
                )
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        fault = _FaultError(f"this is not YAML or JSON: {sanitize_line(error.problem or str(error))}")
        fault.fault = GraphFault(str(fault), mark.line + 1 if mark is not None else 0)
        raise fault from None
    except yaml.YAMLError as error:
        raise _FaultError(f"this is not YAML or JSON: {sanitize_line(str(error))}") from None
    if root is None:
        raise _FaultError("the file is empty")
    return root


def _line(node: object) -> int:
    mark = getattr(node, "start_mark", None)
    return mark.line + 1 if mark is not None else 0


class _GraphReader:
    """Reads one tree and collects its faults, so that a person sees all of them at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._faults: list[GraphFault] = []

    def read(self, root: yaml.Node) -> ParsedGraph:
        top = self._fields(root, _TOP, "the file")
        if "nodes" not in top:
            raise _FaultError("the file has no list `nodes`", root)
        references = {one.id: one for one in self._references(top.get("references"))}
        nodes = [
            node for item in self._items(top["nodes"], "nodes") if (node := self._node(item)) is not None
        ]
        self._faults += find_faults(nodes, references)
        faults = tuple(sorted(self._faults, key=lambda fault: (fault.is_warning, fault.line)))
        if any(not fault.is_warning for fault in faults):
            return ParsedGraph(None, faults)
        graph = KnowledgeGraph(
            name=self._text(top.get("name"), "name") or self._name,
            title=self._text(top.get("title"), "title"),
            level=self._text(top.get("level"), "level")[:500],
            nodes=sort_nodes(nodes),
            references=references,
        )
        return ParsedGraph(graph, faults)

    def _node(self, item: yaml.Node) -> GraphNode | None:
        found = self._fields(item, _NODE, "a node")
        id = self._text(found.get("node_id"), "node_id")
        if not _ID.fullmatch(id):
            what = f"{id[:40]!r} is not a node_id" if id else "a node has no node_id"
            self._fault(f"{what}: letters, digits, `.`, `_` and `-`, at most {LONGEST_NAME}", item)
            return None
        title = self._text(found.get("title"), "title")
        if not title:
            self._fault(f"the node {id} has no title", item)
        prerequisites = tuple(
            self._text(one, "a prerequisite")
            for one in self._items(found.get("prerequisites"), "prerequisites")
        )
        sections = tuple(self._sections(found.get("references_sections")))
        objectives = tuple(self._objectives(found.get("objectives")))
        return GraphNode(id, title, objectives, prerequisites, sections, _line(item))

    def _objectives(self, given: yaml.Node | None) -> Iterator[Objective]:
        for item in self._items(given, "objectives"):
            if isinstance(item, yaml.MappingNode):
                found = self._fields(item, {"id", "text"}, "an objective")
                text = self._text(found.get("text"), "text")
                id = self._text(found.get("id"), "id") or make_objective_id(text)
                if not _ID.fullmatch(id):
                    self._fault(f"{id[:40]!r} is not an objective's id", item)
                    continue
            else:
                text = self._text(item, "an objective")
                id = make_objective_id(text)
            if text:
                yield Objective(id, text)
            else:
                self._fault("an objective is empty", item)

    def _sections(self, given: yaml.Node | None) -> Iterator[SectionReference]:
        for item in self._items(given, "references_sections"):
            if isinstance(item, yaml.MappingNode):
                found = self._fields(item, {"rid", "loc"}, "a references_section")
                yield SectionReference(
                    self._text(found.get("rid"), "rid"), self._text(found.get("loc"), "loc")
                )
            else:
                yield SectionReference(self._text(item, "a references_section"))

    def _references(self, given: yaml.Node | None) -> Iterator[Reference]:
        for item in self._items(given, "references"):
            found = self._fields(item, {"id", "title", "where"}, "a reference")
            one = Reference(*(self._text(found.get(key), key) for key in ("id", "title", "where")))
            if any(len(text) > LONGEST_REFERENCE for text in (one.id, one.title, one.where)):
                self._fault(f"a reference has a field of more than {LONGEST_REFERENCE} characters", item)
            if one.id:
                yield one
            else:
                self._fault("a reference has no id", item)

    def _items(self, given: yaml.Node | None, what: str) -> list[yaml.Node]:
        if given is None or (isinstance(given, yaml.ScalarNode) and given.tag.endswith(":null")):
            return []
        if not isinstance(given, yaml.SequenceNode):
            self._fault(f"`{what}` is not a list", given)
            return []
        return list(given.value)

    def _fields(self, given: yaml.Node, known: set[str], what: str) -> dict[str, yaml.Node]:
        """The fields of a mapping. Raises _FaultError if it is something else."""
        if not isinstance(given, yaml.MappingNode):
            raise _FaultError(f"{what} is not a mapping of fields", given)
        found: dict[str, yaml.Node] = {}
        for key, value in given.value:
            name = str(getattr(key, "value", ""))
            if name not in known:
                self._fault(f"{what} has the unknown field {sanitize_line(name)[:40]!r}", key)
            elif name in found:
                self._fault(f"{what} has the field {name} twice", key)
            found[name] = value
        return found

    def _text(self, given: yaml.Node | None, what: str) -> str:
        """A scalar as one line, without control characters; numbers and dates as they are written."""
        if given is None:
            return ""
        if not isinstance(given, yaml.ScalarNode):
            self._fault(f"`{what}` is not a text", given)
            return ""
        # JSON writes characters above U+FFFF as two escapes, which PyYAML does not join.
        joined = given.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return sanitize_line(joined)

    def _fault(self, what: str, node: yaml.Node | None) -> None:
        self._faults.append(GraphFault(what, _line(node)))


def make_objective_id(text: str) -> str:
    """The id of an objective that has none: words of its text, and a digest, so that another text is another objective."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:32].strip("-")
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4]
    return f"{words}-{digest}" if words else f"o-{digest}"
