"""Where graphs are found, and reading them: a project's `tutor/`, the data directory, the two samples of the package.

A graph of a cloned repository is a stranger's file: only regular files inside the project are read, and only so much.
"""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from tacitd.errors import UsageError
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.tutor.knowledge_graph import GraphNode, KnowledgeGraph, check_graph
from tacitd_handlers.tutor.session_log import read_plain_file

GRAPHS = "tutor"
"""The directory of a project that contains its graphs."""
SUFFIXES = (".yaml", ".yml", ".json")
LARGEST = 256 * 1024
"""Bytes of a graph file: PyYAML takes about two seconds for so much."""
MANY = 50
"""Graph files of one directory that are read."""


class GraphFile(Struct, frozen=True):
    """A graph file, read and checked."""

    path: Path
    project: str
    """The root of the project that it belongs to; "" for other graphs."""
    graph: KnowledgeGraph
    """Without nodes if the file has faults."""
    is_sample: bool = False

    @property
    def key(self) -> str:
        """Identifies the graph in the records of mastery: the name of its file, with its project."""
        return f"{self.path.stem}@{self.project}" if self.project else self.path.stem


def find_graph_root(directory: Path) -> Path:
    """The nearest directory upwards that has a `.git` or a folder of graphs; the directory itself if none has.

    Other than the root of a project, this may be a folder inside a repository, and a linked worktree has its own.
    """
    for one in (directory, *directory.parents):
        if os.path.lexists(one / ".git") or _list_paths(one / GRAPHS):
            return one
    return directory


def list_graphs(own: Path, project: Path | None) -> list[GraphFile]:
    """The graphs of a project, of the data directory (`own`), and the samples, in this order. Raises nothing."""
    found = []
    # The data directory is itself called `tutor`, so the directory above it looks like a project with the same graphs.
    if project is not None and project / GRAPHS != own:
        found = [read_graph(path, project) for path in _list_paths(project / GRAPHS)]
    found += [read_graph(path) for path in _list_paths(own)]
    samples = Path(str(files("tacitd_handlers.tutor"))) / "samples"
    return [*found, *(read_graph(path, is_sample=True) for path in _list_paths(samples))]


def read_graph(path: Path, root: Path | None = None, *, is_sample: bool = False) -> GraphFile:
    """Read and check one file. `root`: it must be inside this project. Raises nothing: what is wrong is a fault."""
    try:
        if root is not None and not path.resolve(strict=True).is_relative_to(root.resolve()):
            raise OSError(0, "it is a link that leads out of the project", str(path))
        graph = check_graph(parse_document(_read_text(path), is_json=path.suffix == ".json"))
    except OSError as error:
        graph = KnowledgeGraph(faults=[error.strerror or str(error)])  # whoever prints it names the file
    except ValueError as error:
        graph = KnowledgeGraph(faults=[str(error)])
    return GraphFile(path, str(root) if root is not None else "", graph, is_sample)


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
        raise ValueError(f"this is not {what}: {sanitize_line(str(error))}") from None


def find_node(graphs: list[GraphFile], name: str) -> tuple[GraphFile, GraphNode]:
    """The node with this id, or `graph/id`, and its file. Raises UsageError, which names where it may be, or a fault."""
    wanted, _, id = name.rpartition("/")
    named = [file for file in graphs if wanted in ("", file.path.stem)]
    found = [(file, node) for file in named if (node := file.graph.find_node(id)) is not None]
    # A graph of a project comes before the samples: its node is meant if both have one of this name.
    own = [one for one in found if not one[0].is_sample] or found
    if len(own) == 1:
        return own[0]
    if own:
        names = ", ".join(f"{file.path.stem}/{id}" for file, _ in own)
        raise UsageError(f"the node {id} is in several graphs", f"name one of: {names}")
    for file in graphs:
        if file.graph.faults:
            what = f"there is no node {name}; {file.path}: {file.graph.faults[0]}"
            raise UsageError(what, "`tacitd tutor graph FILE` lists all faults")
    raise UsageError(f"there is no node {name}", "`tacitd tutor map` lists the nodes")


def _list_paths(directory: Path) -> list[Path]:
    try:
        names = sorted(path.name for path in directory.iterdir() if path.suffix in SUFFIXES)
    except OSError:
        return []
    return [directory / name for name in names[:MANY] if not name.startswith(".")]


def _read_text(path: Path) -> str:
    """The text of a regular file. Raises OSError, and ValueError if it is too large or not UTF-8."""
    data = read_plain_file(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"the file has more than {LARGEST // 1024} KB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None
