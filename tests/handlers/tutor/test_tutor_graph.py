"""Graphs: their faults with the node, their order, and files of strangers (SPEC T-01, T-02)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_tutor import GRAPH, make_store
from tacitd.errors import TacitdError
from tacitd_handlers.tutor.knowledge_graph import (
    LARGEST,
    KnowledgeGraph,
    check_graph,
    find_graph_root,
    find_node,
    list_graphs,
    make_objective_id,
    parse_document,
    read_graph,
)


def check(text: str) -> KnowledgeGraph:
    return check_graph(parse_document(text))


def faults(text: str) -> Sequence[str]:
    try:
        return check(text).faults
    except ValueError as error:
        return [str(error)]


def test_a_graph_is_read() -> None:
    """SPEC T-01: nodes, objectives as text or with ids, prerequisites as the objectives of other nodes, references."""
    graph = check(GRAPH)
    assert graph.level == "beginner"
    node = graph.find_node("two")
    assert node is not None and [one.id for one in node.objectives] == ["first", "second"]
    before = graph.list_prerequisites(node)
    assert [one.text for one in before] == ["alpha", "beta", "gamma", "delta", "epsilon"]
    assert before[0].id.startswith("one/alpha-")
    assert [one.where for one in node.references] == ["shelf 3 page 7"]
    assert graph.warnings == ["the node two has 2 objectives; 5 to 7 fit a session"]


A = "nodes:\n- {node_id: a, title: A, objectives: [x]%s}\n"
MANY = "[" + ", ".join(f"i{number}" for number in range(21)) + "]"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (A % ", prerequisites: [a]", "these nodes are prerequisites of each other: a -> a"),
        (
            A % ", prerequisites: [b]" + "- {node_id: b, title: B, objectives: [x], prerequisites: [a]}",
            "these nodes are prerequisites of each other: a -> b -> a",
        ),
        (A % ", prerequisites: [zz]", "the node a has the prerequisite zz, which is not in the graph"),
        (A % "" + "- {node_id: a, title: B, objectives: [x]}", "the node a is there twice"),
        ("nodes:\n- {node_id: a, title: A}", "the node a: Object missing required field `objectives`"),
        ("nodes:\n- {node_id: a, title: A, objectives: [x, x]}", "the node a has the objective x-2d71 twice"),
        (
            "nodes:\n- {node_id: a, title: A, objectives: [{id: ../x, text: x}]}",
            "the node a: objectives[0].id: Expected `str` matching regex",
        ),
        (A % f", prerequisites: {MANY}", "the node a: prerequisites: Expected `array` of length <= 20"),
        (
            f"references: [{{id: r, where: {'w' * 501}}}]\n{A % ''}",
            "references[0].where: Expected `str` of length <= 500",
        ),
        (
            "nodes:\n- {node_id: ../a, title: A, objectives: [x]}",
            "the node ../a: node_id: Expected `str` matching",
        ),
        ("nodes:\n- {title: A, objectives: [x]}", "node 1: Object missing required field `node_id`"),
        (A % ", references_sections: [r]", "the node a names the reference r, which is not in `references`"),
        ("nodes:\n- {node_id: a, title: '\u200b', objectives: [x]}", "the node a has no title"),
        (A % ", extra: 1", "the node a: Object contains unknown field `extra`"),
        ("nodes: []", "nodes: Expected `array` of length >= 1"),
        ("level: x", "Object missing required field `nodes`"),
        ("- x", "Expected `object`, got `array`"),
        ("[" * 5000, "the file is nested too deeply"),
    ],
)
def test_a_fault_names_its_node(text: str, fault: str) -> None:
    """SPEC T-02: cycles, dangling and duplicate ids, missing and long objectives; nothing raises."""
    assert any(one.startswith(fault) for one in faults(text)), faults(text)


@pytest.mark.parametrize("text", ["nodes: [\n", "nodes: &n [*n]", "nodes: \x00", "? [a]\n: b"])
def test_what_is_not_yaml(text: str) -> None:
    """SPEC T-02: the parser's reason on one line."""
    (fault,) = faults(text)
    assert fault.startswith("this is not YAML: ") and "\n" not in fault


def test_an_alias_does_not_make_a_small_file_grow() -> None:
    """DESIGN "Priorities": a cloned repository's graph. What an alias repeats is limited like what is written out."""
    many = "nodes:\n- &n {node_id: a, title: A, objectives: [a, b, c]}\n" + "- *n\n" * 600
    assert faults(many) == ["nodes: Expected `array` of length <= 500"]
    levels = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    assert faults(f"{levels}{A % ''}")[0].startswith("Object contains unknown field")
    wide = "".join(f"- &b{n} [*b{n - 1}, *b{n - 1}]\n" for n in range(1, 60))
    wide = f"nodes:\n- &b0 [x, x]\n{wide}- {{node_id: a, title: A, objectives: *b59}}"
    assert len(faults(wide)) == 61


def test_every_scalar_is_text_as_it_is_written() -> None:
    """SPEC T-01: numbers, dates, `yes` and tags of YAML mean nothing; JSON gives the same."""
    node = "{node_id: 2024-01-31, title: yes, objectives: [!!int 0012, 1.10, !!python/name:os.system x]}"
    checked = check(f"nodes: [{node}]")
    assert checked.nodes[0].title == "yes"
    assert [one.text for one in checked.nodes[0].objectives] == ["0012", "1.10", "x"]
    json_node = '{"node_id": "a", "title": 1.10, "objectives": [12]}'
    same = check_graph(parse_document(f'{{"nodes": [{json_node}]}}', is_json=True))
    assert same.nodes[0].title == "1.10"


def test_json_is_read_with_tabs_and_escapes() -> None:
    """SPEC T-01: a JSON file may be indented with tabs and have escaped characters; so may JSON in a YAML file."""
    node = {"node_id": "a", "title": "\U0001f600 A", "objectives": ["x"]}
    for document in (
        parse_document(json.dumps({"nodes": [node]}, indent="\t"), is_json=True),
        parse_document(json.dumps({"nodes": [node]})),
    ):
        graph = check_graph(document)
        assert graph.nodes[0].title == "\U0001f600 A"
    with pytest.raises(ValueError, match=r"this is not JSON: Expecting .*line 1"):
        parse_document("{nodes", is_json=True)


def test_faults_of_a_strangers_graph_are_printable() -> None:
    """DESIGN "Priorities": names of fields, ids and references reach the terminal without control characters."""
    esc = "\x1b[2J"
    nodes = [{f"x{esc}": "1"}, {"node_id": esc, "title": "A", "objectives": ["x"]}]
    nodes.append({"node_id": "c", "title": "C", "objectives": ["x"], "references_sections": [esc]})
    found = [one for node in nodes for one in check_graph({"nodes": [node]}).faults]
    found += check_graph({"nodes": nodes, esc: "1"}).faults
    assert len(found) == 4 and all(one.isprintable() for one in found)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["nodes", "node_id", "objectives", "id", "rid", "references"]), inner
        )
    ),
    max_leaves=20,
)


@given(JSON)
@examples(200)
def test_no_document_raises(document: object) -> None:
    """SPEC T-02: whatever a file contains, it is a graph or has faults."""
    checked = check_graph(document)
    assert bool(checked.nodes) != bool(checked.faults)


@given(st.lists(st.lists(st.integers(0, 9), max_size=4, unique=True), min_size=1, max_size=10))
@examples(200)
def test_a_cycle_is_found_and_otherwise_the_order_is_right(edges: list[list[int]]) -> None:
    """SPEC T-02: a found cycle is one; without one, each node comes after its prerequisites."""
    needs = {f"n{at}": [f"n{one}" for one in after if one < len(edges)] for at, after in enumerate(edges)}
    nodes = [
        {"node_id": id, "title": "N", "objectives": ["o"], "prerequisites": after}
        for id, after in needs.items()
    ]
    checked = check_graph({"nodes": nodes})
    if checked.faults:
        (fault,) = checked.faults
        cycle = fault.partition(": ")[2].split(" -> ")
        assert cycle[0] == cycle[-1] and all(before in needs[after] for before, after in pairwise(cycle))
        return
    placed = [one.id for one in checked.nodes]
    assert sorted(placed) == sorted(needs)
    assert all(placed.index(id) < placed.index(one.id) for one in checked.nodes for id in one.prerequisites)


def test_all_wrong_nodes_are_named() -> None:
    """SPEC T-02: also a dangling id beside a node whose form is wrong, which is itself known."""
    text = A % ", prerequisites: [c, zz]" + "- {node_id: c, title: C, objectives: 5}\n- {node_id: d}\n"
    assert [one.partition(":")[0] for one in faults(text)] == [
        "the node c", "the node d", "the node a has the prerequisite zz, which is not in the graph",
    ]  # fmt: skip


def test_another_text_is_another_objective() -> None:
    """SPEC T-04: an id is made of the text, so that a changed list of objectives does not move scores."""
    ids = [make_objective_id(one) for one in ("Name the parts", "Name the parts!", "名前", "name the parts")]
    assert len(set(ids)) == 4 and ids[0].startswith("name-the-parts-")


def test_the_samples_have_no_faults(tmp_path: Path) -> None:
    """SPEC T-01: two graphs come with the package, with five to seven objectives for each node."""
    graphs = list_graphs(make_store(tmp_path).directory, None)
    assert [one.path.stem for one in graphs] == ["git-internals", "http-semantics"]
    assert all(one.nodes and not one.faults and not one.warnings for one in graphs)
    assert find_node(graphs, "refs")[1].title == "References and HEAD"


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
    graphs = list_graphs(make_store(tmp_path).directory, root)
    assert graphs[0].key == f"course@{root}" and find_node(graphs, "course/two")[1].id == "two"
    (root / "tutor" / "course.yaml").write_text(GRAPH.replace("node_id: two", "node_id: refs"))
    found = find_node(list_graphs(make_store(tmp_path).directory, root), "refs")
    assert found[0].project == str(root), "before the node of a sample"


def test_a_graph_outside_the_project_is_not_read(tmp_path: Path) -> None:
    """DESIGN "Priorities": a link out of a cloned repository, a FIFO or a directory is a fault and nothing is read."""
    root = project(tmp_path)
    (tmp_path / "outside.yaml").write_text(GRAPH)
    (root / "tutor" / "a.yaml").symlink_to(tmp_path / "outside.yaml")
    os.mkfifo(root / "tutor" / "b.yaml")
    (root / "tutor" / "c.yaml").mkdir()
    (root / "tutor" / "d.yaml").write_bytes(b"\xff\xfe")
    found = {one.path.name: one for one in list_graphs(make_store(tmp_path).directory, root) if one.project}
    said = {name: one.faults[0] for name, one in found.items() if one.faults}
    assert set(said) == {"a.yaml", "b.yaml", "c.yaml", "d.yaml"}
    assert "leads out of the project" in said["a.yaml"] and "not an ordinary file" in said["b.yaml"]


def test_a_missing_node_names_the_fault_of_a_broken_graph(tmp_path: Path) -> None:
    """SPEC T-02: the file and the fault."""
    root = project(tmp_path, "nodes:\n- {node_id: a, title: A, objectives: [x], prerequisites: [a]}")
    with pytest.raises(TacitdError, match=r"course.yaml: .*a -> a"):
        find_node(list_graphs(make_store(tmp_path).directory, root), "a")
    with pytest.raises(TacitdError, match="no node nowhere"):
        find_node(list_graphs(make_store(tmp_path).directory, None), "nowhere")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """SPEC T-02: at most 256 KB."""
    (tmp_path / "large.yaml").write_text(f"level: {'x' * LARGEST}")
    assert read_graph(tmp_path / "large.yaml").faults == ["the file has more than 256 KB"]


def test_the_data_directory_is_no_project(tmp_path: Path) -> None:
    """It is called `tutor` too: a graph of one's own is listed once, also if asked for from the directory above it."""
    store = make_store(tmp_path)
    store.directory.mkdir(parents=True, exist_ok=True)
    (store.directory / "own.yaml").write_text("nodes:\n- {node_id: zed, title: Z, objectives: [x]}\n")
    graphs = list_graphs(store.directory, store.directory.parent)
    assert [graph.key for graph in graphs if not graph.is_sample] == ["own"]
    assert find_node(graphs, "zed")[1].id == "zed"
