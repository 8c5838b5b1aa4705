"""Hooks that read, and the fold of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, Field

from tacitd.contract import Batch, Tx
from tacitd.files.formats import Bullets
from tacitd.handler import Footprint
from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter
from tacitd.plugin import GatherRule
from tacitd.report.sections import ReportScope, ReportSection, ReportTable
from tacitd.session_context.context_request import ContextRequest

LIST = Bullets("Reminders")
HEADING = "Open"
NAME = "REMINDERS.md"
TONE = "Be brief."
AGENTS = AgentInterface(
    (AgentTool("add_reminder", "Adds a reminder.", ("remind",), (ToolParameter("text"),), effect="adds"),)
)
FAULT: list[BaseException] = []
"""What `observe` raises, for tests."""


class Settings(BaseModel):
    """The section of the configuration."""

    quiet: float = Field(60.0, description="Seconds of silence.")


def gather(settings: Mapping[str, Any]) -> GatherRule:
    return GatherRule(quiet=settings["reminders"].quiet)


def observe(batch: Batch, tx: Tx, settings: Mapping[str, Any]) -> None:
    tx.execute(
        "INSERT INTO reminders_seen VALUES(?, ?) ON CONFLICT(session) DO UPDATE SET records = records + excluded.records",
        batch.session,
        len(batch.records),
    )
    if FAULT:
        raise FAULT[0]


def list_paths(rows: Any, environ: Mapping[str, str], root: Path | None) -> Iterable[Path]:
    return [root / NAME] if root is not None else []


@click.command()
@click.argument("text")
def remind(text: str) -> None:
    """Add a reminder."""
    from tacitd.cli.common import connect_or_run

    with connect_or_run() as call:
        done = call("task", plugin="reminders", key=text, data={"text": text}, project=str(Path.cwd()))
    click.echo(done["made"][0]["text"])


def make_session_text(request: ContextRequest) -> str:
    found = request.rows("SELECT text FROM reminders_line WHERE state = 'open' ORDER BY number")
    if request.occasion == "failure":
        return f"You have {len(found)} reminders" if "reminder" in request.error else ""
    return "\n".join(["## Reminders", *(f"- {text}" for (text,) in found)]) if found else ""


def report_status(rows: Any, now: float) -> Mapping[str, Any]:
    ((count,),) = rows("SELECT count(*) FROM reminders_line WHERE state = 'open'")
    ((compacted,),) = rows("SELECT count(*) FROM reminders_event WHERE kind = 'compaction'")
    return {"open": count, "compacted": compacted, "lines": [f"{count} open"]} if count else {}


def explain(rows: Any, text: str, root: Path | None) -> Iterator[Mapping[str, Any]]:
    for found, words in rows(
        "SELECT l.text, l.words FROM reminders_line l JOIN project p ON p.number = l.project "
        "WHERE instr(l.text, ?) AND p.root = ?",
        text,
        str(root),
    ):
        yield {"what": found, "where": NAME, "at": "", "sessions": [], "words": [words]}


def report(rows: Any, scope: ReportScope) -> Iterator[ReportSection]:
    found = rows("SELECT text, state FROM reminders_line ORDER BY number")
    yield ReportSection("Reminders", (ReportTable("All", ("Text", "State"), tuple(found)),))


def find_footprint(environ: Mapping[str, str]) -> Footprint:
    return Footprint(own=[Path(environ["HOME"]) / ".reminders"])
