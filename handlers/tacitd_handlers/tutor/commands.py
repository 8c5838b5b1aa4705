"""`tacitd tutor`: start, resume, end, map, history, suggest, grade, graph.

Options and output only; what leads a session is in `session_commands`. Heavy imports are inside the commands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.common import echo_json, echo_message, escape_output, resolve_directory
from tacitd.cli.program import OrderedGroup
from tacitd.clock import local_minutes
from tacitd.errors import FAILED
from tacitd.state.paths import data_dir
from tacitd.text.text_table import format_table

if TYPE_CHECKING:
    from tacitd_handlers.tutor.graph_files import GraphFile
    from tacitd_handlers.tutor.session_log import TutorStore
    from tacitd_handlers.tutor.session_model import ReplayedSession

PROJECT_OPTION = click.option(
    "--project", metavar="DIR", help="A project with graphs in `tutor/`; default: the current directory."
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group(cls=OrderedGroup, alone="map", epilog="\b\nExample: tacitd tutor start objects")
def tutor() -> None:
    """Learn a topic: a session on one node of a graph, with a test at its end."""


@tutor.command(
    epilog="\b\nExample: tacitd tutor start objects\nExample: tacitd tutor start http-semantics/caching"
)
@click.argument("node")
@PROJECT_OPTION
@click.pass_context
def start(ctx: click.Context, node: str, project: str | None) -> None:
    """Start a session on NODE: the id of a node, or GRAPH/ID. `tacitd tutor map` lists the nodes."""
    from tacitd_handlers.tutor.session_commands import start_session

    ctx.exit(start_session(_open_store(), node, _find_root(project)))


@tutor.command(epilog="\b\nExample: tacitd tutor resume")
@click.argument("session", required=False)
@click.pass_context
def resume(ctx: click.Context, session: str | None) -> None:
    """Continue the open session, or the one with this id, at the same question."""
    from tacitd_handlers.tutor.session_commands import resume_session

    ctx.exit(resume_session(_open_store(), session))


@tutor.command(epilog="\b\nExample: tacitd tutor end --discard")
@click.argument("session", required=False)
@click.option("--discard", is_flag=True, help="Close it without a test. Nothing is graded.")
@click.pass_context
def end(ctx: click.Context, session: str | None, discard: bool) -> None:
    """End the open session with its test over what was covered."""
    from tacitd_handlers.tutor.session_commands import discard_session, resume_session

    store = _open_store()
    ctx.exit(discard_session(store, session) if discard else resume_session(store, session, is_ending=True))


@tutor.command(name="map", epilog="\b\nExample: tacitd tutor map --project ~/work/app")
@PROJECT_OPTION
@JSON_OPTION
def map_(project: str | None, as_json: bool) -> None:
    """Show the nodes of all graphs with their mastery, prerequisites first."""
    from tacitd_handlers.tutor.mastery import measure_node
    from tacitd_handlers.tutor.texts import LEGEND, format_map

    store = _open_store()
    book, rows = store.read_mastery(), []
    for file in _list_usable(store, project):
        if as_json:
            for node in file.graph.nodes:
                one = measure_node(book, file.key, node)
                row = {"graph": file.key, "node": node.id, "title": node.title, "mean": one.mean}
                rows.append(row | {"graded": len(one.scores), "mastered": one.is_mastered})
            continue
        title = f": {file.graph.title}" if file.graph.title else ""
        click.echo(f"{escape_output(file.path.stem)}{title}")
        for line in format_map(book, file.key, file.graph):
            click.echo(f"  {line}")
    if as_json:
        echo_json(rows)
    else:
        click.echo(f"\n{LEGEND}")


@tutor.command(epilog="\b\nExample: tacitd tutor history")
@JSON_OPTION
def history(as_json: bool) -> None:
    """List all sessions with their scores and the path of their readable log.

    A test without scores is graded first. What nobody continued for thirty days is closed.
    """
    from tacitd_handlers.tutor.session_commands import list_graded

    store = _open_store()
    rows = [_describe(store, one) for one in list_graded(store)]
    if store.bad:
        echo_message(f"{store.bad} records cannot be read and are skipped")
    if as_json:
        echo_json(rows)
        return
    head = ("STARTED", "OUTCOME", "MEAN", "SESSION", "TITLE")
    for line in format_table(head, map(_list_cells, rows), right=(2,)):
        click.echo(line)
    if not rows:
        echo_message("no sessions yet; `tacitd tutor map` lists what can be learned")


@tutor.command(epilog="\b\nExample: tacitd tutor suggest")
@PROJECT_OPTION
def suggest(project: str | None) -> None:
    """Show what to learn or to repeat next, and why."""
    from tacitd_handlers.tutor.mastery import suggest_nodes

    store = _open_store()
    book = store.read_mastery()
    rows: list[tuple[str, ...]] = []
    for file in _list_usable(store, project):
        for one in suggest_nodes(book, file.key, file.graph, store.clock.now()):
            name = f"{escape_output(file.path.stem)}/{one.node.id}"
            rows.append(("repeat" if one.is_retest else "learn", name, one.node.title, one.why))
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

    ctx.exit(grade_sessions(_open_store(), session))


@tutor.command(epilog="\b\nExample: tacitd tutor graph tutor/git.yaml")
@click.argument("file")
@click.pass_context
def graph(ctx: click.Context, file: str) -> None:
    """Check a graph file: list every fault, or its nodes with their objectives, prerequisites first."""
    from tacitd_handlers.tutor.graph_files import read_graph

    checked = read_graph(Path(file)).checked
    for kind, texts in (("", checked.faults), ("warning: ", checked.warnings)):
        for text in texts:
            click.echo(f"{escape_output(file)}: {kind}{escape_output(text)}", err=True)
    if checked.faults:
        ctx.exit(FAILED)
    for node in checked.graph.nodes:
        after = f"  after: {', '.join(node.prerequisites)}" if node.prerequisites else ""
        click.echo(f"{node.id}: {node.title}{after}")
        for one in node.objectives:
            click.echo(f"  - {one.text}")


def _list_usable(store: TutorStore, project: str | None) -> Iterator[GraphFile]:
    """The graphs of a project, of one's own and the samples. Those with faults are named instead."""
    from tacitd_handlers.tutor.graph_files import list_graphs

    for file in list_graphs(store.directory, _find_root(project)):
        if file.checked.faults:
            echo_message(f"{escape_output(str(file.path))}: {escape_output(file.checked.faults[0])}")
        else:
            yield file


def _describe(store: TutorStore, found: ReplayedSession) -> dict[str, Any]:
    """One session of `tutor history --json`."""
    from tacitd_handlers.tutor.mastery import compute_mean

    plan, state = found.state.plan, found.state
    return {
        "id": plan.session,
        "session": plan.session,
        "title": plan.title,
        "started": local_minutes(found.started),
        "outcome": found.outcome,
        "mean": compute_mean(list(state.scores.values())) if state.scores is not None else None,
        "scores": dict(state.scores or {}),
        "log": str(store.sessions / f"{plan.session}.md"),
    }


def _list_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """The columns of one session in `tutor history`."""
    mean = "-" if row["mean"] is None else f"{row['mean']:.2f}"
    started = row["started"].replace("T", " ")
    return started, row["outcome"], mean, row["session"], escape_output(row["title"])


def _open_store() -> TutorStore:
    from tacitd_handlers.tutor.session_log import TutorStore

    return TutorStore(data_dir(os.environ) / "tutor")


def _find_root(project: str | None) -> Path:
    from tacitd_handlers.tutor.graph_files import find_graph_root

    return find_graph_root(resolve_directory(project))
