"""Graphs: their faults with file and line, their order, and files of strangers (SPEC T-01, T-02)."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_tutor import GRAPH, make_store
from tacitd.errors import UsageError
from tacitd_handlers.tutor.graph_file import LARGEST, make_objective_id, parse_graph
from tacitd_handlers.tutor.graph_library import find_graph_root, find_node, list_graphs, read_graph
from tacitd_handlers.tutor.knowledge_graph import GraphNode, find_cycle, sort_nodes
from tacitd_handlers.tutor.session_model import Objective


def faults(text: str) -> list[tuple[int, str]]:
    return [(one.line, one.what) for one in parse_graph(text, "g").errors]


def test_a_graph_is_read() -> None:
    """SPEC T-01: nodes, objectives as text or with ids, prerequisites as the objectives of other nodes, references."""
    parsed = parse_graph(GRAPH, "g")
    graph = parsed.graph
    assert graph is not None and graph.level == "beginner"
    node = graph.find_node("two")
    assert node is not None and [one.id for one in node.objectives] == ["first", "second"]
    assert [one.text for one in graph.list_prerequisites(node)] == [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
    ]
    assert graph.list_prerequisites(node)[0].id.startswith("one/alpha-")
    assert [one.where for one in graph.list_references(node)] == ["shelf 3 page 7"]
    assert [one.what for one in parsed.faults if one.is_warning] == [
        "the node two has 2 objectives; 5 to 7 fit a session"
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("nodes:\n- {node_id: a, title: A, objectives: [x], prerequisites: [a]}", 2, "a -> a"),
        (
            "nodes:\n- {node_id: a, title: A, objectives: [x], prerequisites: [b]}\n"
            "- {node_id: b, title: B, objectives: [x], prerequisites: [a]}",
            2,
            "a -> b -> a",
        ),
        (
            "nodes:\n- {node_id: a, title: A, objectives: [x],\n   prerequisites: [zz]}",
            2,
            "the prerequisite zz",
        ),
        (
            "nodes:\n- {node_id: a, title: A, objectives: [x]}\n- {node_id: a, title: B, objectives: [x]}",
            3,
            "twice, first on line 2",
        ),
        ("nodes:\n- {node_id: a, title: A}", 2, "no objectives"),
        ("nodes:\n- {node_id: a, title: A, objectives: []}", 2, "no objectives"),
        (f"nodes:\n- {{node_id: a, title: A, objectives: [{'x' * 5000}]}}", 2, "5000 characters"),
        ("nodes:\n- {node_id: a, title: A, objectives: [x, x]}", 2, "twice"),
        ("nodes:\n- {node_id: a, objectives: [x]}", 2, "no title"),
        ("nodes:\n- {title: A, objectives: [x]}", 2, "no node_id"),
        ("nodes:\n- {node_id: ../a, title: A, objectives: [x]}", 2, "is not a node_id"),
        ("nodes:\n- {node_id: a, title: A, objectives: [x], references_sections: [r]}", 2, "the reference r"),
        ("nodes:\n- {node_id: a, title: A, objectives: [x], extra: 1}", 2, "unknown field 'extra'"),
        ("nodes:\n- {node_id: a, title: A, objectives: x}", 2, "`objectives` is not a list"),
        ("nodes: []", 0, "no nodes"),
        ("level: x", 1, "no list `nodes`"),
        ("- x", 1, "not a mapping"),
        ("", 0, "empty"),
        ("nodes: [\n", 2, "not YAML or JSON"),
        ("nodes: &n [*n]", 1, "anchors"),
        ("[" * 5000, 1, "nested too deeply"),
        ("x" * (LARGEST + 1), 0, "256 KB"),
        ("nodes: \x00", 0, "not YAML or JSON"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int, words: str) -> None:
    """SPEC T-02: cycles, dangling and duplicate ids, missing and long objectives; nothing raises."""
    assert any(at == line and words in what for at, what in faults(text)), faults(text)


def test_json_is_read_with_tabs_and_escapes() -> None:
    """SPEC T-01: a JSON file may be indented with tabs and have escaped characters."""
    node = {"node_id": "a", "title": "\U0001f600 A", "objectives": ["x"]}
    parsed = parse_graph(json.dumps({"nodes": [node]}, indent="\t"), "g", is_json=True)
    assert parsed.graph is not None and parsed.graph.nodes[0].title == "\U0001f600 A"


@given(st.text(max_size=300))
@examples(200)
def test_no_text_raises(text: str) -> None:
    """SPEC T-02: a graph of a cloned repository is a stranger's text."""
    assert parse_graph(text, "g").graph is None or "nodes" in text


def node(id: int, after: list[int]) -> GraphNode:
    return GraphNode(f"n{id}", "N", (Objective("o", "o"),), tuple(f"n{one}" for one in after))


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=10), st.randoms())
@examples(200)
def test_a_cycle_is_found_and_otherwise_the_order_is_right(edges: list[list[int]], order: object) -> None:
    """SPEC T-02: a found cycle is one; without one, each node comes after its prerequisites."""
    nodes = [node(at, [one for one in after if one < len(edges)]) for at, after in enumerate(edges)]
    by_id = {one.id: one for one in nodes}
    cycle = find_cycle(nodes)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(after in by_id[before].prerequisites for before, after in pairwise(cycle))
        return
    placed = [one.id for one in sort_nodes(nodes)]
    assert sorted(placed) == sorted(by_id)
    assert all(placed.index(id) < placed.index(one.id) for one in nodes for id in one.prerequisites)


def test_a_long_chain_is_no_problem() -> None:
    """SPEC T-02: without recursion."""
    assert find_cycle([node(at, [at + 1]) for at in range(5000)]) == ()


def test_another_text_is_another_objective() -> None:
    """SPEC T-04: an id is made of the text, so that a changed list of objectives does not move scores."""
    ids = [make_objective_id(one) for one in ("Name the parts", "Name the parts!", "名前", "name the parts")]
    assert len(set(ids)) == 4 and ids[0].startswith("name-the-parts-")


def test_the_samples_have_no_faults(tmp_path: Path) -> None:
    """SPEC T-01: two graphs come with the package, with five to seven objectives for each node."""
    graphs = list_graphs(make_store(tmp_path).paths, None)
    assert [one.path.stem for one in graphs] == ["git-internals", "http-semantics"]
    assert all(one.parsed.graph is not None and one.parsed.faults == () for one in graphs)
    assert find_node(graphs, "refs").node.title == "References and HEAD"


def project(box: Path, text: str = GRAPH) -> Path:
    root = box / "app"
    (root / "tutor").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "tutor" / "course.yaml").write_text(text)
    return root


def test_a_projects_graph_is_found_from_below(tmp_path: Path) -> None:
    """SPEC section T: the graphs are in `tutor/` of the project's root."""
    root = project(tmp_path)
    (root / "src" / "deep").mkdir(parents=True)
    assert find_graph_root(root / "src" / "deep") == root
    graphs = list_graphs(make_store(tmp_path).paths, root)
    assert graphs[0].key == f"course@{root}" and find_node(graphs, "course/two").node.id == "two"


def test_a_graph_outside_the_project_is_not_read(tmp_path: Path) -> None:
    """DESIGN "Priorities": a link out of a cloned repository, a FIFO or a directory is a fault and nothing is read."""
    root = project(tmp_path)
    (tmp_path / "outside.yaml").write_text(GRAPH)
    (root / "tutor" / "a.yaml").symlink_to(tmp_path / "outside.yaml")
    os.mkfifo(root / "tutor" / "b.yaml")
    (root / "tutor" / "c.yaml").mkdir()
    (root / "tutor" / "d.yaml").write_bytes(b"\xff\xfe")
    found = {one.path.name: one for one in list_graphs(make_store(tmp_path).paths, root) if one.project}
    said = {name: one.parsed.errors[0].what for name, one in found.items() if one.parsed.errors}
    assert set(said) == {"a.yaml", "b.yaml", "c.yaml", "d.yaml"}
    assert "leads out of the project" in said["a.yaml"] and "not an ordinary file" in said["b.yaml"]


def test_a_missing_node_names_the_fault_of_a_broken_graph(tmp_path: Path) -> None:
    """SPEC T-02: file and line."""
    root = project(tmp_path, "nodes:\n- {node_id: a, title: A, objectives: [x], prerequisites: [a]}")
    with pytest.raises(UsageError, match=r"course.yaml:2: .*a -> a"):
        find_node(list_graphs(make_store(tmp_path).paths, root), "a")
    with pytest.raises(UsageError, match="no node nowhere"):
        find_node(list_graphs(make_store(tmp_path).paths, None), "nowhere")


def test_a_file_that_is_missing_is_a_fault(tmp_path: Path) -> None:
    """STYLE habit 6: what happened, without a traceback."""
    assert "No such file" in read_graph(tmp_path / "none.yaml").parsed.errors[0].what


def test_a_prerequisite_that_is_named_twice() -> None:
    """Each repetition would add the same objectives to every prompt."""
    two = "{node_id: b, title: B, objectives: [x], prerequisites: [a, a]}"
    found = parse_graph(f"nodes:\n  - {{node_id: a, title: A, objectives: [x]}}\n  - {two}\n", "graph")
    assert [(one.what, one.line) for one in found.errors] == [("the node b has the prerequisite a twice", 3)]


def test_references_that_would_fill_every_prompt() -> None:
    """Each reference of a node is in every prompt: their length, their number and repetitions are limited."""
    node = "{node_id: a, title: A, objectives: [x], references_sections: %s}"
    text = "references:\n  - {id: r, title: R, where: %s}\nnodes:\n  - " + node
    many = "[" + ", ".join(f"{{rid: r, loc: {number}}}" for number in range(21)) + "]"
    for where, sections, what in (
        ("w" * 501, "[r]", "a reference has a field of more than 500 characters"),
        ("here", "[r, r]", "the node a names the reference r twice"),
        ("here", many, "the node a names 21 references; at most 20 are allowed"),
        (
            "here",
            "[{rid: r, loc: %s}]" % ("l" * 501),
            "a section of the reference r has more than 500 characters",
        ),
    ):
        found = parse_graph(text % (where, sections), "graph")
        assert [one.what for one in found.errors] == [what]
    assert parse_graph(text % ("here", "[r, {rid: r, loc: 2}]"), "graph").errors == ()


def test_the_data_directory_is_no_project(tmp_path: Path) -> None:
    """It is called `tutor` too: a graph of one's own is listed once, also if asked for from the directory above it."""
    store = make_store(tmp_path)
    store.paths.directory.mkdir(parents=True, exist_ok=True)
    (store.paths.directory / "own.yaml").write_text("nodes:\n- {node_id: zed, title: Z, objectives: [x]}\n")
    graphs = list_graphs(store.paths, store.paths.directory.parent)
    assert [file.key for file in graphs if not file.is_sample] == ["own"]
    assert find_node(graphs, "zed").node.id == "zed"
