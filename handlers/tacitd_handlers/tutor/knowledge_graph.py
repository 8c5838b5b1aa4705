"""The knowledge graph: nodes with objectives, joined by prerequisites (SPEC T-01, T-02); and the files of graphs.

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

Files are found in a project's `tutor/`, the data directory, and among the two samples of the package. A graph of a cloned repository
is a stranger's file: only regular files inside the project are read, and only so much.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError
from msgspec.structs import replace

from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd.text.converter import Converter, describe_mismatch
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.places import leads_out, read_plain_bytes
from tacitd_handlers.tutor.session_model import Objective, Reference

FEWEST, MOST = 5, 7
"""Objectives of a node; another number is a warning (SPEC T-01)."""
LONGEST, LONGEST_TITLE, LONGEST_ID = 500, 120, 64
"""Characters of a text, of a node's title, of an id. They are part of every prompt about the node, which costs money."""
MOST_ITEMS, MOST_NODES = 20, 500
"""Objectives, prerequisites and references of one node, for the same reason; nodes and references of a file."""
GRAPHS = "tutor"
"""The directory of a project that contains its graphs."""
SUFFIXES = (".yaml", ".yml", ".json")
LARGEST = 256 * 1024
"""Bytes of a graph file: PyYAML takes about two seconds for so much."""
MANY = 50
"""Graph files of one directory that are read."""
Text = Annotated[str, Meta(max_length=LONGEST)]
FilledText = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
Id = Annotated[str, Meta(pattern=rf"\A[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_ID - 1}}}\Z")]


class _ObjectiveItem(Struct, forbid_unknown_fields=True):
    text: FilledText
    id: Id = ""


class _SectionItem(Struct, forbid_unknown_fields=True):
    rid: Text
    loc: Text = ""


class _ReferenceItem(Struct, forbid_unknown_fields=True):
    id: FilledText
    title: Text = ""
    where: Text = ""


class _NodeItem(Struct, forbid_unknown_fields=True):
    node_id: Id
    title: Annotated[str, Meta(min_length=1, max_length=LONGEST_TITLE)]
    objectives: Annotated[list[FilledText | _ObjectiveItem], Meta(min_length=1, max_length=MOST_ITEMS)]
    prerequisites: Annotated[list[Text], Meta(max_length=MOST_ITEMS)] = []
    references_sections: Annotated[list[Text | _SectionItem], Meta(max_length=MOST_ITEMS)] = []


class _FileItem(Struct, forbid_unknown_fields=True):
    nodes: Annotated[list[Any], Meta(min_length=1, max_length=MOST_NODES)]
    title: Text = ""
    level: Text = ""
    references: Annotated[list[_ReferenceItem], Meta(max_length=MOST_NODES)] = []


_FILE, _NODE = Converter(_FileItem), Converter(_NodeItem)


class GraphNode(Struct, frozen=True):
    id: str
    title: str
    objectives: tuple[Objective, ...]
    prerequisites: tuple[str, ...] = ()
    """Ids of nodes."""
    references: tuple[Reference, ...] = ()
    """With the section in `where`."""


class KnowledgeGraph(Struct, frozen=True):
    """What a file contains. Nodes come after their prerequisites; with faults, there are none."""

    title: str = ""
    level: str = ""
    """The learner's level in the domain, from the project brief."""
    nodes: tuple[GraphNode, ...] = ()
    faults: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """What prevents no session."""
    path: Path = Path()
    project: str = ""
    """The root of the project that it belongs to; "" for other graphs."""
    is_sample: bool = False

    @property
    def key(self) -> str:
        """Identifies the graph in the plans of sessions: the name of its file, with its project."""
        return f"{self.path.stem}@{self.project}" if self.project else self.path.stem

    def find_node(self, id: str) -> GraphNode | None:
        return next((node for node in self.nodes if node.id == id), None)

    def list_prerequisites(self, node: GraphNode) -> tuple[Objective, ...]:
        """The objectives of all direct prerequisites, with ids `node_id/id` (SPEC T-02)."""
        found = [one for id in node.prerequisites if (one := self.find_node(id)) is not None]
        return tuple(Objective(f"{one.id}/{each.id}", each.text) for one in found for each in one.objectives)

    def list_followers(self, id: str) -> tuple[GraphNode, ...]:
        """The nodes that have this one as a prerequisite."""
        return tuple(node for node in self.nodes if id in node.prerequisites)


def check_graph(document: object) -> KnowledgeGraph:
    """The graph that YAML or JSON contains, or its faults, each with its node. Scalars must be text."""
    try:
        file: _FileItem = _FILE.convert(document)
    except ValidationError as error:
        return KnowledgeGraph(faults=[_clean(describe_mismatch(error))[:LONGEST]])
    references = {_clean(one.id): one for one in file.references}
    ids = [item.get("node_id") if isinstance(item, dict) else None for item in file.nodes]
    nodes, faults = list[GraphNode](), list[str]()
    for number, (id, item) in enumerate(zip(ids, file.nodes, strict=True), 1):
        try:
            nodes.append(_make_node(_NODE.convert(item), references))
        except ValidationError as error:
            name = f"the node {_clean(id)[:LONGEST_ID]}" if isinstance(id, str) and id else f"node {number}"
            faults.append(f"{name}: {_clean(describe_mismatch(error))[:LONGEST]}")
    faults += _find_faults(nodes, ids, references)
    by_id, ordered = {node.id: node for node in nodes}, list[str]()
    edges = {id: [one for one in node.prerequisites if one in by_id] for id, node in by_id.items()}
    try:
        ordered = [*TopologicalSorter(edges).static_order()]
    except CycleError as error:
        faults.append(f"these nodes are prerequisites of each other: {' -> '.join(error.args[1])}")
    warnings = [
        f"the node {node.id} has {len(node.objectives)} objectives; {FEWEST} to {MOST} fit a session"
        for node in nodes
        if not FEWEST <= len(node.objectives) <= MOST
    ]
    if faults:
        return KnowledgeGraph(faults=faults, warnings=warnings)
    sorted_nodes = tuple(by_id[id] for id in ordered)
    return KnowledgeGraph(_clean(file.title), _clean(file.level), sorted_nodes, (), warnings)


def _clean(text: str) -> str:
    """One line without control characters. PyYAML does not join the two escapes of a character above U+FFFF."""
    return sanitize_line(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _make_node(item: _NodeItem, references: Mapping[str, _ReferenceItem]) -> GraphNode:
    objectives = []
    for one in item.objectives:
        raw, id = (one, "") if isinstance(one, str) else (one.text, one.id)
        text = _clean(raw)
        objectives.append(Objective(id or make_objective_id(text), text))
    sections = []
    for section in item.references_sections:
        rid, loc = (section, "") if isinstance(section, str) else (section.rid, section.loc)
        rid = _clean(rid)
        base = references.get(rid, _ReferenceItem(rid))
        where = _clean(f"{base.where} {loc}").strip()
        sections.append(Reference(rid, _clean(base.title), where))
    prerequisites = tuple(map(_clean, item.prerequisites))
    return GraphNode(item.node_id, _clean(item.title), tuple(objectives), prerequisites, tuple(sections))


def make_objective_id(text: str) -> str:
    """The id of an objective that has none: words of its text, and a digest, so that another text is another objective."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:32].strip("-")
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4]
    return f"{words}-{digest}" if words else f"o-{digest}"


def _find_faults(
    nodes: Sequence[GraphNode], known: Sequence[object], references: Collection[str]
) -> Iterator[str]:
    """What is empty, there twice, or not in the graph (SPEC T-01, T-02). `known`: the ids of all nodes, also of those with other faults."""
    yield from (f"the node {id} is there twice" for id in _find_repeated([node.id for node in nodes]))
    for node in nodes:
        where = f"the node {node.id}"
        if not node.title or not all(one.text for one in node.objectives):
            yield f"{where} has no title, or an objective without text"
        for id in _find_repeated([one.id for one in node.objectives]):
            yield f"{where} has the objective {id} twice"
        for id in node.prerequisites:
            if id not in known:
                yield f"{where} has the prerequisite {id}, which is not in the graph"
        for id in dict.fromkeys(one.id for one in node.references):
            if id not in references:
                yield f"{where} names the reference {id}, which is not in `references`"


def _find_repeated(ids: Sequence[str]) -> list[str]:
    return [id for id, count in Counter(ids).items() if count > 1]


# --- files


def find_graph_root(directory: Path) -> Path:
    """The nearest directory upwards that has a `.git` or a folder of graphs; the directory itself if none has.

    Other than the root of a project, this may be a folder inside a repository, and a linked worktree has its own.
    """
    for one in (directory, *directory.parents):
        if os.path.lexists(one / ".git") or _list_paths(one / GRAPHS):
            return one
    return directory


def list_graphs(own: Path, project: Path | None) -> list[KnowledgeGraph]:
    """The graphs of a project, of the data directory (`own`), and the samples, in this order. Raises nothing."""
    found = []
    # The data directory is itself called `tutor`, so the directory above it looks like a project with the same graphs.
    if project is not None and project / GRAPHS != own:
        found = [read_graph(path, project) for path in _list_paths(project / GRAPHS)]
    found += [read_graph(path) for path in _list_paths(own)]
    samples = Path(str(files("tacitd_handlers.tutor"))) / "samples"
    return [*found, *(read_graph(path, is_sample=True) for path in _list_paths(samples))]


def read_graph(path: Path, root: Path | None = None, *, is_sample: bool = False) -> KnowledgeGraph:
    """Read and check one file. `root`: it must be inside this project. Raises nothing: what is wrong is a fault."""
    try:
        if root is not None and leads_out(path, root):
            raise ValueError("it is a link that leads out of the project")
        data = read_plain_bytes(path, LARGEST + 1)
        if data is None:
            raise ValueError(os.strerror(errno.ENOENT))
        if len(data) > LARGEST:
            raise ValueError(f"the file has more than {LARGEST // 1024} KB")
        graph = check_graph(parse_document(data.decode("utf-8-sig"), is_json=path.suffix == ".json"))
    except (OSError, FileRefusedError, ValueError) as error:  # whoever prints it names the file
        graph = KnowledgeGraph(faults=[getattr(error, "strerror", None) or _clean(str(error))])
    project = str(root) if root is not None else ""
    return replace(graph, path=path, project=project, is_sample=is_sample)


def parse_document(text: str, *, is_json: bool = False) -> object:
    """The document that a YAML or JSON text contains: mappings, lists and texts. Raises ValueError with the reason.

    Numbers, dates and words such as `yes` are texts, as they are written. No tag of YAML has a meaning.
    """
    import yaml

    try:
        if is_json:
            return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
        return yaml.load(text, yaml.BaseLoader)
    except RecursionError:
        raise ValueError("the file is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        what = "JSON" if is_json else "YAML"
        raise ValueError(f"this is not {what}: {_clean(str(error))}") from None


def find_node(graphs: list[KnowledgeGraph], name: str) -> tuple[KnowledgeGraph, GraphNode]:
    """The node with this id, or `graph/id`, and its graph. Raises TacitdError, which names where it may be, or a fault."""
    wanted, _, id = name.rpartition("/")
    named = [graph for graph in graphs if wanted in ("", graph.path.stem)]
    found = [(graph, node) for graph in named if (node := graph.find_node(id)) is not None]
    # A graph of a project comes before the samples: its node is meant if both have one of this name.
    own = [one for one in found if not one[0].is_sample] or found
    if len(own) == 1:
        return own[0]
    if own:
        names = ", ".join(f"{graph.path.stem}/{id}" for graph, _ in own)
        raise UsageError(f"the node {id} is in several graphs", f"name one of: {names}")
    for graph in graphs:
        if graph.faults:
            what = f"there is no node {name}; {graph.path}: {graph.faults[0]}"
            raise TacitdError(what, "`tacitd tutor graph FILE` lists all faults")
    raise TacitdError(f"there is no node {name}", "`tacitd tutor map` lists the nodes")


def _list_paths(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("[!.]*") if path.suffix in SUFFIXES)[:MANY]
