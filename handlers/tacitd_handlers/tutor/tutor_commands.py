"""`tacitd tutor`: start, resume, discard, map, history, suggest, grade, graph.

Exit codes of what leads or grades a session: 0 the session is over or saved, 75 it waits for the model.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from tacitd.cli.common import (
    echo_json,
    echo_message,
    echo_table,
    escape_output,
    json_option,
    resolve_directory,
)
from tacitd.cli.program import OrderedGroup
from tacitd.clock import local_minutes
from tacitd.errors import FAILED, OK, PARKED, TacitdError, UsageError
from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter
from tacitd.model.port import NoAnswer
from tacitd.state.paths import data_dir
from tacitd_handlers.tutor.agents import UnusableAnswer
from tacitd_handlers.tutor.conversation import HELP, ModelAccess, Screen, lead_conversation, run_grading
from tacitd_handlers.tutor.knowledge_graph import (
    GraphNode,
    KnowledgeGraph,
    find_graph_root,
    find_node,
    list_graphs,
    read_graph,
)
from tacitd_handlers.tutor.mastery import (
    THRESHOLD,
    MasteryBook,
    collect_scores,
    compute_mean,
    measure_node,
    select_objectives,
    suggest_nodes,
)
from tacitd_handlers.tutor.session_log import TutorSession, TutorStore, format_results, no_session
from tacitd_handlers.tutor.session_model import (
    Closed,
    GradingFailed,
    SessionPlan,
    Step,
)

PROJECT_OPTION = click.option(
    "--project", metavar="DIR", help="A project with graphs in `tutor/`; default: the current directory."
)
JSON_OPTION = json_option("As JSON.")
LEGEND = (
    f"[x] mastered (mean {THRESHOLD:.2f} or more)  [~] begun  [ ] can be begun  [-] prerequisites are missing"
)
NEXT = 3
"""Next nodes that the closing names."""
HOUR = 3600.0
"""Seconds between tries to grade a test again that are not asked for: each is up to two calls of the accurate tier."""


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
    store = _open_store()
    graph, found = find_node(list_graphs(store.directory, find_graph_root(resolve_directory(project))), node)
    sessions, access, screen = store.list_sessions(), ModelAccess(os.environ, graph.project), Screen()
    plan = plan_session(graph, found, collect_scores(sessions), store.clock.now())
    for other in (one.state.plan for one in sessions if one.state.is_open):
        if (other.graph, other.node_id) == (plan.graph, plan.node_id):
            hint = "`tacitd tutor resume` continues it, `tacitd tutor discard` closes it"
            raise UsageError(f"the session {other.session} on {other.title} is open", hint)
    count, limit = len(plan.objectives), f"${access.usd_per_day:.2f}"
    screen.show_note(
        f"{plan.title}: {count} objectives, about half an hour. The tutor may spend {limit} a day."
    )
    screen.show_note(HELP)
    with store.start_session(plan) as session:
        ctx.exit(_lead(session, access, screen))


def plan_session(graph: KnowledgeGraph, node: GraphNode, book: MasteryBook, now: float) -> SessionPlan:
    """The plan of a session on a node; its id is made when it starts. `now`: seconds since 1970, UTC."""
    following = [
        one for one in graph.list_followers(node.id) if not measure_node(book, graph, one).is_mastered
    ]
    following += [one.node for one in suggest_nodes(book, graph, now) if one.node.id != node.id]
    return SessionPlan(
        session="",
        graph=graph.key,
        project=graph.project,
        node_id=node.id,
        title=node.title,
        objectives=select_objectives(book, graph, node),
        prerequisites=graph.list_prerequisites(node),
        references=node.references,
        level=graph.level,
        next_nodes=tuple(dict.fromkeys(one.title for one in following))[:NEXT],
    )


@tutor.command(epilog="\b\nExample: tacitd tutor resume")
@click.argument("session", required=False)
@click.pass_context
def resume(ctx: click.Context, session: str | None) -> None:
    """Continue the open session, or the one with this id, at the same question."""
    with _open_session(_open_store(), session) as found:
        plan, screen = found.state.plan, Screen()
        if found.found.bad:
            screen.show_note(f"{found.found.bad} damaged records of the session are skipped.")
        screen.show_note(f"Continuing: {plan.title}")
        ctx.exit(_lead(found, ModelAccess(os.environ, plan.project), screen))


@tutor.command(epilog="\b\nExample: tacitd tutor discard")
@click.argument("session", required=False)
def discard(session: str | None) -> None:
    """Close the open session without a test. Nothing is graded."""
    store = _open_store()
    with _open_session(store, session) as found:
        if found.state.step is Step.GRADE:
            what = "the test of this session is handed in and waits for its grade"
            raise UsageError(what, "`tacitd tutor grade`")
        found.record_event(Closed("discarded"))
    echo_message("closed without a test; mastery is unchanged")


@tutor.command(name="map", epilog="\b\nExample: tacitd tutor map --project ~/work/app")
@PROJECT_OPTION
@JSON_OPTION
def map_(project: str | None, as_json: bool) -> None:
    """Show the nodes of all graphs with their mastery, prerequisites first."""
    store = _open_store()
    book, rows = collect_scores(store.list_sessions()), []
    for graph in _list_usable(store, project):
        measured = {one.id: measure_node(book, graph, one) for one in graph.nodes}
        width, lines = max(map(len, measured)), list[str]()
        for node in graph.nodes:
            one = measured[node.id]
            row = {"graph": graph.key, "node": node.id, "title": node.title, "mean": one.mean}
            rows.append(row | {"graded": len(one.scores), "mastered": one.is_mastered})
            is_ready = all(measured[id].is_mastered for id in node.prerequisites)
            box = "[x]" if one.is_mastered else "[~]" if one.scores else "[ ]" if is_ready else "[-]"
            mean = f"{one.mean:.2f}" if one.scores else "  - "
            lines.append(f"  {box} {node.id:<{width}}  {mean}  {node.title}{_name_prerequisites(node)}")
        if not as_json:
            click.echo(escape_output(f"{graph.path.stem}: {graph.title}").removesuffix(": "))
            click.echo("\n".join(lines))
    if as_json:
        echo_json(rows)
    else:
        click.echo(f"\n{LEGEND}")


@tutor.command(epilog="\b\nExample: tacitd tutor history")
@JSON_OPTION
def history(as_json: bool) -> None:
    """List all sessions with their scores and the path of their readable log.

    A test without scores is graded first.
    """
    store = _open_store()
    rows, cells = list[dict[str, Any]](), list[tuple[str, ...]]()
    _grade_tests(store, pause=HOUR)
    for one in store.list_sessions():
        plan, scores, started = one.state.plan, one.state.scores, local_minutes(one.started)
        mean = compute_mean(list(scores.values())) if scores is not None else None
        row = {"id": plan.session, "session": plan.session, "title": plan.title, "started": started}
        scored = {"outcome": one.outcome, "mean": mean, "scores": dict(scores or {})}
        rows.append({**row, **scored, "log": str(store.write_copy(one))})
        shown = "-" if mean is None else f"{mean:.2f}"
        cells.append((started.replace("T", " "), one.outcome, shown, plan.session, plan.title))
    if store.bad:
        echo_message(f"{store.bad} records cannot be read and are skipped")
    if as_json:
        echo_json(rows)
        return
    head = ("STARTED", "OUTCOME", "MEAN", "SESSION", "TITLE")
    echo_table(head, cells, "no sessions yet; `tacitd tutor map` lists what can be learned", right=(2,))


@tutor.command(epilog="\b\nExample: tacitd tutor suggest")
@PROJECT_OPTION
def suggest(project: str | None) -> None:
    """Show what to learn or to repeat next, and why."""
    store = _open_store()
    book, rows = collect_scores(store.list_sessions()), list[tuple[str, ...]]()
    for graph in _list_usable(store, project):
        for one in suggest_nodes(book, graph, store.clock.now()):
            name = f"{graph.path.stem}/{one.node.id}"
            rows.append(("repeat" if one.is_retest else "learn", name, one.node.title, one.why))
    none = "there is nothing to learn or to repeat; `tacitd tutor map` lists all nodes"
    echo_table(("WHAT", "NODE", "TITLE", "WHY"), rows, none)


@tutor.command(epilog="\b\nExample: tacitd tutor grade")
@click.argument("session", required=False)
@click.pass_context
def grade(ctx: click.Context, session: str | None) -> None:
    """Try again to grade tests that have no scores: all of them, or one session's."""
    are_graded = _grade_tests(_open_store(), session)
    if not are_graded:
        echo_message("no test waits for its grade")
    ctx.exit(OK if all(are_graded) else PARKED)


@tutor.command(epilog="\b\nExample: tacitd tutor graph tutor/git.yaml")
@click.argument("file")
@click.pass_context
def graph(ctx: click.Context, file: str) -> None:
    """Check a graph file: list every fault, or its nodes with their objectives, prerequisites first."""
    checked = read_graph(Path(file))
    for kind, texts in (("", checked.faults), ("warning: ", checked.warnings)):
        for text in texts:
            click.echo(f"{escape_output(file)}: {kind}{escape_output(text)}", err=True)
    if checked.faults:
        ctx.exit(FAILED)
    for node in checked.nodes:
        click.echo(f"{node.id}: {node.title}{_name_prerequisites(node)}")
        for one in node.objectives:
            click.echo(f"  - {one.text}")


# --- stores and graphs


def _name_prerequisites(node: GraphNode) -> str:
    return f"  after: {', '.join(node.prerequisites)}" if node.prerequisites else ""


def _open_store() -> TutorStore:
    return TutorStore(data_dir(os.environ) / "tutor")


def _list_usable(store: TutorStore, project: str | None) -> Iterator[KnowledgeGraph]:
    """The graphs of a project, of one's own and the samples. Those with faults are named instead."""
    for graph in list_graphs(store.directory, find_graph_root(resolve_directory(project))):
        if graph.faults:
            echo_message(f"{escape_output(str(graph.path))}: {escape_output(graph.faults[0])}")
        else:
            yield graph


# --- leading and grading sessions


@contextmanager
def _open_session(store: TutorStore, id: str | None) -> Iterator[TutorSession]:
    """The session with this id, otherwise the open one that was used last. Raises UsageError if there is none."""
    if id is None:
        known = [one for one in store.list_sessions() if one.state.is_open]
        if not known:
            hint = "`tacitd tutor start NODE` starts one; `tacitd tutor map` lists the nodes"
            raise UsageError("no session is open", hint)
        id = max(known, key=lambda one: one.last).state.plan.session
    with store.open_session(id) as session:
        if not session.state.is_open:
            raise UsageError(f"the session {id} is over", "`tacitd tutor history` shows its scores")
        yield session


def _lead(session: TutorSession, ask: ModelAccess, screen: Screen) -> int:
    """Lead a session in a terminal; return the exit code."""
    with _ended_by_signals():
        waits = lead_conversation(session, ask, screen)
        ask.settle()
    if waits is not None:
        screen.show_note(f"The model does not answer: {_describe_refusal(waits)}")
    if session.state.is_open:
        screen.show_note("The session is saved: `tacitd tutor resume` continues here.")
    return PARKED if waits is not None else OK


def _describe_refusal(refused: NoAnswer) -> str:
    return refused.reason + (f" (hint: {refused.hint})" if refused.hint else "")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Meanwhile a closed terminal (SIGHUP) or SIGTERM ends the program with `SystemExit`, and so a call of the model."""

    def leave(number: int, frame: FrameType | None) -> None:
        for one in old:  # a second one must not interrupt what the first ends
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    old = {one: signal.signal(one, leave) for one in (signal.SIGHUP, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)


def _grade_tests(store: TutorStore, session: str | None = None, *, pause: float = 0.0) -> list[bool]:
    """Try again to grade tests that have no scores: all, or one session's; return whether each has scores now (SPEC T-21).

    `pause`: one that failed less than so many seconds ago is left out.
    """
    known, found = store.list_sessions(), list[bool]()
    if session is not None and session not in [one.state.plan.session for one in known]:
        raise no_session(session)
    for one in known:
        state, age = one.state, store.clock.now() - one.last
        if (
            state.needs_grading
            and session in (None, state.plan.session)
            and (not state.grading_tries or age >= pause)
        ):
            try:
                found.append(_grade(store, state.plan))
            except TacitdError as error:  # it is open in a terminal, or the store cannot be used
                echo_message(f"{state.plan.title}: not graded: {error.what}")
                found.append(False)
    return found


def _grade(store: TutorStore, plan: SessionPlan) -> bool:
    """Ask for the grade of one test, and print what came of it; return whether it has scores now."""
    with store.open_session(plan.session) as session:
        if not session.state.needs_grading:
            return True  # another process has graded it since the sessions were listed
        access = ModelAccess(os.environ, plan.project)
        outcome = run_grading(session.state, access)
        if isinstance(outcome, NoAnswer):
            echo_message(f"{plan.title}: not graded: {_describe_refusal(outcome)}")
            return False
        session.record_event(GradingFailed(outcome.fault) if isinstance(outcome, UnusableAnswer) else outcome)
        access.settle()
    for line in (f"{plan.title}:", *format_results(session.state)):
        echo_message(line)
    return session.state.scores is not None


# --- the same step by step, for an agent between the tutor and the learner

PROJECT = ToolParameter("project", "A project with graphs in `tutor/`; leave it out for the session's own.")

ANSWER = ToolParameter("answer", "In one line. `/skip` leaves a question out, `/end` ends with the test.")
TUTOR = AgentInterface(
    tools=(
        AgentTool(
            "list_topics",
            "What can be learned with the tutor: the nodes of all graphs with the learner's mastery.",
            ("tutor", "map", "--json"),
            (PROJECT,),
            is_rare=True,
        ),
        AgentTool(
            "suggest_topics",
            "What to learn or to repeat next, and why.",
            ("tutor", "suggest"),
            (PROJECT,),
            is_rare=True,
        ),
        AgentTool(
            "start_lesson",
            "Start a tutor's session on a topic, if the learner agreed: it lasts half an hour. Returns the first question, "
            "which you show to the learner as it is. Costs model calls, within the tutor's limit.",
            ("tutor", "start"),
            (ToolParameter("node", "The id of a node, or GRAPH/ID, from `list_topics`."), PROJECT),
            effect="adds",
            asks_model=True,
            is_rare=True,
        ),
        AgentTool(
            "answer_tutor",
            "Hand in the learner's own answer to the tutor's pending question, word for word, and get the next one. "
            "Never answer for the learner. Without an answer the pending question is shown again.",
            ("tutor", "resume"),
            (ANSWER, ToolParameter("session", "Leave it out for the session that was used last.")),
            effect="adds",
            typed="answer",
            asks_model=True,
            is_rare=True,
        ),
    )
)
