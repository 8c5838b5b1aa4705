"""`tacitd tutor`: start, resume, end, map, history, suggest, grade, graph.

Options and output only; what leads a session is in `session_commands`. Heavy imports are inside the commands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.common import echo_json, echo_message, escape_output, resolve_directory
from tacitd.clock import SystemClock, local_minutes
from tacitd.errors import FAILED
from tacitd.text.text_table import format_table

if TYPE_CHECKING:
    from tacitd_handlers.tutor.store import TutorStore

PROJECT_OPTION = click.option(
    "--project", metavar="DIR", help="A project with graphs in `tutor/`; default: the current directory."
)
PLAIN_OPTION = click.option("--plain", is_flag=True, help="Without the line editor, for screen readers.")
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="As JSON.")
COLOURS = {"mastered": "green", "begun": "yellow", "ready": None, "locked": "bright_black"}


@click.group(epilog="\b\nExample: tacitd tutor start objects")
def tutor() -> None:
    """Learn a topic: a session on one node of a graph, with a test at its end."""


@tutor.command(
    epilog="\b\nExample: tacitd tutor start objects\nExample: tacitd tutor start http-semantics/caching --plain"
)
@click.argument("node")
@PROJECT_OPTION
@click.option("--new", is_flag=True, help="Start another session although one on this node is open.")
@PLAIN_OPTION
@click.pass_context
def start(ctx: click.Context, node: str, project: str | None, new: bool, plain: bool) -> None:
    """Start a session on NODE: the id of a node, or GRAPH/ID. `tacitd tutor map` lists the nodes."""
    from tacitd_handlers.tutor.session_commands import start_session

    ctx.exit(start_session(node, _find_root(project), is_new=new, plain=plain))


@tutor.command(epilog="\b\nExample: tacitd tutor resume")
@click.argument("session", required=False)
@PLAIN_OPTION
@click.pass_context
def resume(ctx: click.Context, session: str | None, plain: bool) -> None:
    """Continue the open session, or the one with this id, at the same question."""
    from tacitd_handlers.tutor.session_commands import resume_session

    ctx.exit(resume_session(session, plain=plain))


@tutor.command(epilog="\b\nExample: tacitd tutor end --discard")
@click.argument("session", required=False)
@click.option("--discard", is_flag=True, help="Close it without a test. Nothing is graded.")
@PLAIN_OPTION
@click.pass_context
def end(ctx: click.Context, session: str | None, discard: bool, plain: bool) -> None:
    """End the open session with its test over what was covered."""
    from tacitd_handlers.tutor.session_commands import discard_session, resume_session

    ctx.exit(discard_session(session) if discard else resume_session(session, plain=plain, is_ending=True))


@tutor.command(name="map", epilog="\b\nExample: tacitd tutor map --project ~/work/app")
@PROJECT_OPTION
@JSON_OPTION
def map_(project: str | None, as_json: bool) -> None:
    """Show the nodes of all graphs with their mastery, prerequisites first."""
    from tacitd_handlers.tutor.graph_library import list_graphs
    from tacitd_handlers.tutor.mastery import measure_node
    from tacitd_handlers.tutor.render import LEGEND, format_map

    store = _open_store()
    book, rows = store.read_mastery(), []
    for file in list_graphs(store.paths, _find_root(project)):
        graph = file.parsed.graph
        if graph is None:
            fault = file.parsed.errors[0]
            echo_message(f"{escape_output(str(file.path))}:{fault.line}: {escape_output(fault.what)}")
            continue
        if as_json:
            for node in graph.nodes:
                one = measure_node(book, file.key, node)
                row = {"graph": file.key, "node": node.id, "title": node.title, "mean": one.mean}
                rows.append(row | {"graded": one.graded, "mastered": one.is_mastered})
            continue
        click.secho(f"{escape_output(file.path.stem)}{': ' if graph.title else ''}{graph.title}", bold=True)
        for line, mark in format_map(book, file.key, graph):
            click.secho(f"  {line}", fg=COLOURS[mark])
    if as_json:
        echo_json(rows)
    else:
        click.echo(f"\n{LEGEND}")


@tutor.command(epilog="\b\nExample: tacitd tutor history")
@JSON_OPTION
def history(as_json: bool) -> None:
    """List all sessions with their scores and the path of their readable log."""
    from tacitd_handlers.tutor.mastery import compute_mean

    store = _open_store()
    rows: list[dict[str, Any]] = []
    for one in store.list_sessions():
        plan, state = one.state.plan, one.state
        mean = compute_mean(list(state.scores.values())) if state.scores is not None else None
        outcome = "ungraded" if state.needs_grading else state.outcome or "open"
        log = str(store.paths.sessions / f"{plan.session}.md")
        rows.append(
            {
                "id": plan.session,
                "session": plan.session,
                "title": plan.title,
                "started": local_minutes(one.started),
            }
            | {"outcome": outcome, "mean": mean, "scores": dict(state.scores or {}), "log": log}
        )
    if as_json:
        echo_json(rows)
        return
    head = ("STARTED", "OUTCOME", "MEAN", "SESSION", "TITLE")
    for line in format_table(head, map(_list_cells, rows), right=(2,)):
        click.echo(line)
    if not rows:
        echo_message("no sessions yet; `tacitd tutor map` lists what can be learned")
    if store.bad:
        echo_message(f"{store.bad} records cannot be read and are skipped")


@tutor.command(epilog="\b\nExample: tacitd tutor suggest")
@PROJECT_OPTION
def suggest(project: str | None) -> None:
    """Show what to learn or to repeat next, and why."""
    from tacitd_handlers.tutor.graph_library import list_graphs
    from tacitd_handlers.tutor.mastery import suggest_nodes

    store = _open_store()
    book = store.read_mastery()
    rows: list[tuple[str, ...]] = []
    for file in list_graphs(store.paths, _find_root(project)):
        if file.parsed.graph is not None:
            for one in suggest_nodes(book, file.key, file.parsed.graph, store.clock.now()):
                kind = "repeat" if one.is_retest else "learn"
                name = f"{escape_output(file.path.stem)}/{one.node.id}"
                rows.append((kind, name, one.node.title, one.why))
    for line in format_table(("WHAT", "NODE", "TITLE", "WHY"), rows):
        click.echo(line)
    if not rows:
        echo_message("there is nothing to learn or to repeat; `tacitd tutor map` lists all nodes")


@tutor.command(epilog="\b\nExample: tacitd tutor grade")
@click.argument("session", required=False)
@click.pass_context
def grade(ctx: click.Context, session: str | None) -> None:
    """Try again to grade tests that have no scores: all of them, or one session's."""
    from tacitd_handlers.tutor.session_commands import grade_sessions

    ctx.exit(grade_sessions(session))


@tutor.group()
def graph() -> None:
    """Check and show graph files."""


@graph.command(epilog="\b\nExample: tacitd tutor graph check tutor/git.yaml")
@click.argument("file")
@click.pass_context
def check(ctx: click.Context, file: str) -> None:
    """Check a graph file; every fault is listed with its line."""
    from tacitd_handlers.tutor.graph_library import read_graph

    found = read_graph(Path(file))
    for fault in found.parsed.faults:
        kind = "warning: " if fault.is_warning else ""
        click.echo(f"{escape_output(file)}:{fault.line}: {kind}{escape_output(fault.what)}")
    if found.parsed.graph is None:
        ctx.exit(FAILED)
    nodes = found.parsed.graph.nodes
    echo_message(f"{len(nodes)} nodes, {sum(len(one.objectives) for one in nodes)} objectives: can be used")


@graph.command(epilog="\b\nExample: tacitd tutor graph show tutor/git.yaml")
@click.argument("file")
@click.pass_context
def show(ctx: click.Context, file: str) -> None:
    """Draw a graph file as a map with its mastery, and list each node's objectives."""
    from tacitd_handlers.tutor.graph_library import find_graph_root, read_graph
    from tacitd_handlers.tutor.render import LEGEND, format_map
    from tacitd_handlers.tutor.tutor_paths import GRAPHS

    path = Path(file).absolute()
    root, store = find_graph_root(path.parent), _open_store()
    is_project_s = path.parent == root / GRAPHS != store.paths.directory
    found = read_graph(path, root if is_project_s else None)
    known = found.parsed.graph
    if known is None:
        for fault in found.parsed.errors:
            echo_message(f"{escape_output(file)}:{fault.line}: {escape_output(fault.what)}")
        ctx.exit(FAILED)
        return
    for line, mark in format_map(store.read_mastery(), found.key, known):
        click.secho(line, fg=COLOURS[mark])
    for node in known.nodes:
        click.echo(f"\n{node.id}: {node.title}")
        for one in node.objectives:
            click.echo(f"  - {one.text}")
    click.echo(f"\n{LEGEND}")


def _list_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of one session in `tutor history`."""
    mean = "-" if row["mean"] is None else f"{row['mean']:.2f}"
    started = str(row["started"]).replace("T", " ")
    return started, str(row["outcome"]), mean, str(row["session"]), escape_output(str(row["title"]))


def _open_store() -> TutorStore:
    from tacitd_handlers.tutor.store import TutorStore
    from tacitd_handlers.tutor.tutor_paths import find_tutor_paths

    return TutorStore(find_tutor_paths(os.environ), SystemClock())


def _find_root(project: str | None) -> Path:
    from tacitd_handlers.tutor.graph_library import find_graph_root

    return find_graph_root(resolve_directory(project))
