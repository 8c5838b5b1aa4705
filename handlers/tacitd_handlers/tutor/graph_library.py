"""Where graphs are found, and reading them: a project's `tutor/`, the data directory, the two samples of the package.

A graph of a cloned repository is a stranger's file: only regular files inside the project are read, and only so much.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from tacitd.errors import UsageError, describe_os_error
from tacitd_handlers.tutor.graph_file import LARGEST, ParsedGraph, parse_graph
from tacitd_handlers.tutor.knowledge_graph import GraphFault, GraphNode, KnowledgeGraph
from tacitd_handlers.tutor.tutor_paths import GRAPHS, SUFFIXES, TutorPaths

MANY = 50
"""Graph files of one directory that are read."""


class GraphFile(Struct, frozen=True):
    """A graph file, read and parsed."""

    path: Path
    project: str
    """The root of the project that it belongs to; "" for other graphs."""
    parsed: ParsedGraph
    is_sample: bool = False

    @property
    def key(self) -> str:
        """Identifies the graph in the records of mastery: the name of its file, with its project."""
        return f"{self.path.stem}@{self.project}" if self.project else self.path.stem


class FoundNode(Struct, frozen=True):
    """A node with the graph that it is in."""

    file: GraphFile
    graph: KnowledgeGraph
    node: GraphNode


def find_graph_root(directory: Path) -> Path:
    """The nearest directory upwards that has a `.git` or a folder of graphs; the directory itself if none has.

    Other than the root of a project, this may be a folder inside a repository, and a linked worktree has its own.
    """
    for one in (directory, *directory.parents):
        if os.path.lexists(one / ".git") or _graph_paths(one / GRAPHS):
            return one
    return directory


def list_graphs(paths: TutorPaths, project: Path | None) -> list[GraphFile]:
    """The graphs of a project, of the data directory, and the samples, in this order. Raises nothing."""
    # The data directory is itself called `tutor`, so the directory above it looks like a project with the same graphs.
    is_own = project is not None and project / GRAPHS == paths.directory
    found = list(_read_project(project)) if project is not None and not is_own else []
    found += [read_graph(path) for path in _graph_paths(paths.directory)]
    return [*found, *_read_samples()]


def read_graph(path: Path, root: Path | None = None) -> GraphFile:
    """Read and parse one file. `root`: it must be inside this project. Raises nothing: what is wrong is a fault."""
    project = str(root) if root is not None else ""
    try:
        if root is not None and not path.resolve(strict=True).is_relative_to(root.resolve()):
            raise OSError(0, "it is a link that leads out of the project", str(path))
        text = _read_text(path)
    except OSError as error:
        what = describe_os_error(error)[0] if error.errno else str(error.strerror)
        return GraphFile(path, project, ParsedGraph(None, (GraphFault(what, 0),)))
    except UnicodeDecodeError:
        return GraphFile(path, project, ParsedGraph(None, (GraphFault("the file is not UTF-8", 0),)))
    return GraphFile(path, project, parse_graph(text, path.stem, is_json=path.suffix == ".json"))


def find_node(graphs: list[GraphFile], name: str) -> FoundNode:
    """The node with this id, or `graph/id`. Raises UsageError, which names the nodes that there are, or each fault."""
    wanted_graph, _, id = name.rpartition("/")
    found = []
    for file in graphs:
        graph = file.parsed.graph
        if graph is not None and wanted_graph in ("", file.path.stem, graph.name):
            node = graph.find_node(id)
            found += [FoundNode(file, graph, node)] if node is not None else []
    # A graph of a project comes before the samples: its node is meant if both have one of this name.
    own = [one for one in found if not one.file.is_sample] or found
    if len(own) == 1:
        return own[0]
    if own:
        names = ", ".join(f"{one.file.path.stem}/{id}" for one in own)
        raise UsageError(f"the node {id} is in several graphs", f"name one of: {names}")
    broken = [file for file in graphs if file.parsed.graph is None]
    if broken:
        fault = broken[0].parsed.errors[0]
        place = f"{broken[0].path}:{fault.line}" if fault.line else str(broken[0].path)
        raise UsageError(
            f"there is no node {name}; {place}: {fault.what}", "`tacitd tutor graph check FILE` checks it"
        )
    raise UsageError(f"there is no node {name}", "`tacitd tutor map` lists the nodes")


def _read_project(root: Path) -> Iterator[GraphFile]:
    for path in _graph_paths(root / GRAPHS):
        yield read_graph(path, root)


def _read_samples() -> Iterator[GraphFile]:
    directory = Path(str(files("tacitd_handlers.tutor"))) / "samples"
    for path in _graph_paths(directory):
        file = read_graph(path)
        yield GraphFile(path, "", file.parsed, is_sample=True)


def _graph_paths(directory: Path) -> list[Path]:
    try:
        names = sorted(path.name for path in directory.iterdir() if path.suffix in SUFFIXES)
    except OSError:
        return []
    # The overview is a JSON file of tacitd's own in the data directory.
    return [directory / name for name in names[:MANY] if not name.startswith(".") and name != "overview.json"]


def _read_text(path: Path) -> str:
    """The text of a regular file, at most a byte more than is parsed. Raises OSError, UnicodeDecodeError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not an ordinary file", str(path))
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        return data.decode("utf-8", "replace") + " "
    return data.decode("utf-8-sig")
