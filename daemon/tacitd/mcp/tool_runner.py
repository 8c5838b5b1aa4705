"""Run the command of a tool in this process, and return what it printed.

Standard streams belong to the whole process, so only one tool runs at a time. A command cannot end the process, and
cannot ask: its standard input is empty, or what the tool says.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import click
from msgspec import Struct

from tacitd.errors import FAILED, OK, TacitdError, UsageError, describe_os_error
from tacitd.mcp.agent_caller import run_as_agent
from tacitd.mcp.agent_tools import AgentTool
from tacitd.mcp.bounded_output import bound_output
from tacitd.mcp.tool_schema import CONFIRM, Schema, build_command_line, build_schema, check_arguments
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_text


class ToolOutput(Struct, frozen=True):
    """What a tool answers."""

    text: str
    is_error: bool = False


class BoundTool(Struct, frozen=True):
    """A tool with its command and the schema of its arguments."""

    tool: AgentTool
    command: click.Command
    schema: Schema
    fixed: tuple[str, ...]
    """The options that are always given."""


def bind_tool(tool: AgentTool, find_command: Callable[[str, Sequence[str]], click.Command]) -> BoundTool:
    """Find the command of a tool. Raises ValueError if it or one of its parameters does not exist."""
    names = [one for one in tool.command if not one.startswith("-")]
    command = find_command(names[0], names[1:])
    return BoundTool(tool, command, build_schema(tool, command), tuple(tool.command[len(names) :]))


def run_tool(bound: BoundTool, arguments: Mapping[str, Any]) -> ToolOutput:
    """Run a tool. Everything that goes wrong is an answer for the model: what happened, and what helps."""
    tool = bound.tool
    try:
        check_arguments(bound.schema, arguments)
    except UsageError as error:
        return ToolOutput(_describe_error(error), is_error=True)
    if tool.effect == "removes" and arguments.get(CONFIRM) is not True:
        asked = "Ask the person whether they want exactly this; then call it again with `confirm`: true."
        return ToolOutput(f"Nothing was done: {tool.name} removes something. {asked}", is_error=True)
    if tool.effect != "reads":
        arguments = {name: _clean_value(value) for name, value in arguments.items()}
    line = [*bound.fixed, *build_command_line(tool, bound.command, arguments)]
    typed = str(arguments.get(tool.typed) or "") if tool.typed else ""
    with run_as_agent():
        return run_command(bound.command, f"tacitd {' '.join(tool.command)}", line, typed)


def _clean_value(value: Any) -> Any:
    """A value that a command may store: without hidden characters, and with secrets blanked."""
    if isinstance(value, list):
        return [_clean_value(one) for one in value]
    return redact_secrets(sanitize_text(value))[0] if isinstance(value, str) else value


def run_command(command: click.Command, name: str, line: Sequence[str], typed: str = "") -> ToolOutput:
    """Run a click command with its streams captured. `typed`: its standard input. Raises nothing that it raises."""
    with _captured(typed) as (out, err):
        code, problem = _call_command(command, name, line)
    printed, said = _read(out), "\n".join(part for part in (_read(err), problem) if part)
    text = "\n".join(part for part in (bound_output(printed), bound_output(said, 2_000)) if part)
    return ToolOutput(text or ("done" if code == OK else f"it ended with {code}"), is_error=code != OK)


def _call_command(command: click.Command, name: str, line: Sequence[str]) -> tuple[int, str]:
    """The exit code, and an error in words."""
    try:
        code = command.main(list(line), prog_name=name, standalone_mode=False)
        return (code if isinstance(code, int) else OK), ""
    except TacitdError as error:
        return error.code, _describe_error(error)
    except click.ClickException as error:
        return error.exit_code, error.format_message()
    except click.exceptions.Abort:
        return FAILED, "it asks a person, so a person has to run it in a terminal"
    except OSError as error:
        return FAILED, _describe_error(TacitdError(*describe_os_error(error)))
    except SystemExit as ended:
        return (ended.code if isinstance(ended.code, int) else FAILED), ""
    except Exception as error:  # noqa: BLE001  a plugin's command may raise anything, and the server goes on
        return FAILED, f"{type(error).__name__}: {error}"


def _describe_error(error: TacitdError) -> str:
    return f"{error.what}\nhint: {error.hint}" if error.hint else error.what


@contextmanager
def _captured(typed: str) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Replace the process's standard streams until the block ends."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(2))
    old, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield out, err
    finally:
        sys.stdin = old


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace").strip()
