"""A server of two tools and a resource, run as a program: `python counting_server.py`, in the session's directory."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tacitd.mcp.agent_tools import AgentResource, AgentTool, ToolParameter
from tacitd.mcp.mcp_server import Offer, serve
from tacitd.mcp.tools import bind_tool

COUNT: list[int] = []
GATE = "gate"
"""A FIFO in the directory, which the tool `wait` reads."""


@click.command("count")
@click.option("--by", type=int, default=1)
def count(by: int) -> None:
    COUNT.append(by)
    os.system("echo 'a child of the command prints'; cat")
    click.echo(f"{len(COUNT)} {by}")


@click.command("wait")
def wait() -> None:
    click.echo(Path(GATE).read_text())


@click.command("many")
def many() -> None:
    click.echo("[" + ",".join('{"line": "' + "x" * 60 + '"}' for _ in range(1000)) + "]")
    click.echo("a message", err=True)


TOOL = AgentTool("count_up", "Count.", ("count",), (ToolParameter("by"),), effect="adds")
RARE = AgentTool("count_rarely", "Count.", ("count",), effect="removes", is_rare=True, asks_model=True)
WAIT = AgentTool("wait", "Wait.", ("wait",))
MANY = AgentTool("list_many", "Many.", ("many",))
NOTES = AgentResource("notes", "Notes", "Some notes.", "nowhere:read")


def read(resource: AgentResource, cwd: Path, budget: int) -> str:
    if cwd.name == "broken":
        raise ValueError("damaged")
    return f"{resource.name} in {cwd.name}"


def main() -> None:
    commands = {"count": count, "wait": wait, "many": many}
    tools = [bind_tool(one, lambda name, path: commands[name]) for one in (TOOL, RARE, WAIT, MANY)]
    serve(Offer({one.tool.name: one for one in tools}, {"notes": NOTES}, read), Path.cwd())


if __name__ == "__main__":
    main()
