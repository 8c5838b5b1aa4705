"""The command line: a static table of commands, each imported when it is asked for.

`status` must feel instant, so nothing heavy is imported here: no pydantic, no rich, no scan of entry points. A
command is a click command in a module of its own; the table says where. Slices bring further rows through
`tacitd_handlers.commands`, which `tacitd_handlers.entry_point` runs as the `tacitd` program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn, TextIO

import click

from tacitd.errors import FAILED, TacitdError, said_by_system


@dataclass(frozen=True, slots=True)
class Row:
    """Where a command is, and what the list of commands says of it."""

    where: str
    """`module:name`."""
    help: str
    group: str


WORK, LOOK, CARE = "Running", "Looking", "Care"

COMMANDS: dict[str, Row] = {
    "run": Row("tacitd.cli.run:run", "Watch and learn, in the foreground.", WORK),
    "start": Row("tacitd.cli.service:start", "Run it in the background, without systemd or launchd.", WORK),
    "stop": Row("tacitd.cli.control:stop", "Stop the running daemon.", WORK),
    "restart": Row("tacitd.cli.service:restart", "Stop it and start it again.", WORK),
    "reload": Row("tacitd.cli.service:reload", "Have it read its configuration again.", WORK),
    "service": Row("tacitd.cli.service:service", "Keep it running, at every login.", WORK),
    "sync": Row("tacitd.cli.control:sync", "Have everything handled now, and wait for it.", WORK),
    "pause": Row(
        "tacitd.cli.control:pause", "Stop learning for a while: from all, a project or a session.", WORK
    ),
    "resume": Row("tacitd.cli.control:resume", "Go on learning.", WORK),
    "status": Row("tacitd.cli.status:status", "What it does, what it waits for, what it cost.", LOOK),
    "prompts": Row("tacitd.cli.prompts:prompts", "What a person typed in transcripts, and why.", LOOK),
    "config": Row("tacitd.cli.config:config", "Show, check and find the configuration.", CARE),
    "doctor": Row("tacitd.cli.doctor:doctor", "Try what the daemon needs, and name the cures.", CARE),
    "uninstall": Row("tacitd.cli.service:uninstall_all", "Remove service, daemon and socket.", CARE),
    "rescue": Row(
        "tacitd.cli.rescue:rescue", "Words that wait or were rejected: list them, drop them.", CARE
    ),
}


class EnoughError(Exception):
    """Whoever reads our output has enough of it. click would take it for a failure of ours."""


class Ordered(click.Group):
    """A group that lists its commands in the order in which they were given, and knows a reader who has enough."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise EnoughError from error


class Commands(Ordered):
    """A group that knows its commands' names and help without importing them."""

    def __init__(self, table: Mapping[str, Row], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        row = self.table.get(cmd_name)
        if row is None:
            return None
        module, _, name = row.where.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them by group, from the table."""
        for group in dict.fromkeys(row.group for row in self.table.values()):
            with formatter.section(group):
                rows = [(name, row.help) for name, row in self.table.items() if row.group == group]
                formatter.write_dl(rows)


EPILOG = """\b
Exit codes: 0 done, 1 failed, 2 wrong use, 69 another daemon runs or none does,
75 something is parked or waits, 78 the configuration is wrong."""


def program(table: Mapping[str, Row]) -> Commands:
    """The `tacitd` program with these commands."""
    made = Commands(
        table,
        name="tacitd",
        help="Learns from your sessions with Claude Code, and keeps what it learned in plain files.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(package_name="tacitd", message="tacitd %(version)s")(made)


def main(table: Mapping[str, Row] = COMMANDS) -> None:
    """Run the program and end the process with its exit code."""
    end(program(table), "tacitd")


def end(command: click.Command, name: str) -> NoReturn:
    """Run a click program called `name` and end the process with its exit code: our errors, the system's, and a reader who
    has enough are each told apart."""
    _opened()
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except click.exceptions.Abort:
        with suppress(OSError):
            click.echo("aborted", err=True)
        code = FAILED
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        code = error.exit_code
    except TacitdError as error:
        say(error, name)
        code = error.code
    except EnoughError:
        _quiet(sys.stdout)
        code = 0
    except OSError as error:
        say(TacitdError(*said_by_system(error)), name)
        code = FAILED
    sys.exit(_flushed(code if isinstance(code, int) else 0, name))


def _flushed(code: int, name: str) -> int:
    """What stands in the buffers goes out now: at the interpreter's end it would be too late to say what is wrong."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _quiet(stream)
        except OSError as error:
            _quiet(stream)
            if not code:  # else it was said already what went wrong
                say(TacitdError(f"what was to be printed is lost: {error.strerror}"), name)
            code = code or FAILED
    return code


def _quiet(stream: TextIO) -> None:
    """`tacitd prompts | head`: the reader has enough. Ending without a word is what every program does."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _opened() -> None:
    """Trigger: started with a standard stream closed (`>&-`, some supervisors). Why: Python has None for it then, and the
    next file that is opened gets its number, so that a child's words would end up in a log. Outcome: nothing is read
    from it, and what is written to it is gone."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - for life


def say(error: TacitdError, name: str = "tacitd") -> None:
    """What happened and its cure, on stderr."""
    with suppress(OSError):  # nobody can be told that nobody can be told
        click.echo(f"{name}: {error.what}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
