"""The command line: commands by a table (`COMMANDS`), each imported when it is called, and how the process ends.

Plugins add theirs; they are looked for only if the engine has no command of a name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from tacitd import __version__
from tacitd.cli.common import (
    ReaderGoneError,
    echo_error,
    flush_streams,
    open_streams,
    silence_stream,
)
from tacitd.errors import FAILED, TacitdError, describe_os_error

if TYPE_CHECKING:
    from tacitd.plugin import PluginSpec
    from tacitd.plugins import FoundPlugins

LIST_ALL = "tacitd.list_all"
"""The key of a context by which all commands are listed."""


class OrderedGroup(click.Group):
    """Lists its commands as they were added. A closed stdout is no error. `alone`: the command that runs if
    none is named; "": its help is shown."""

    def __init__(self, *args: Any, alone: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.alone = alone

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and self.alone and not ctx.resilient_parsing:  # otherwise its commands are completed
            args = [self.alone]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error


class Program(OrderedGroup):
    """All commands: names and help come from tables, and a command is imported when it is called.

    Without a table it has the engine's, and those of plugins, which are looked for only if the engine has no command of a name."""

    def __init__(self, table: Mapping[str, CommandRow] | None = None) -> None:
        super().__init__(
            "tacitd",
            help="Learn from your sessions with Claude Code, and keep what was learned in plain files.",
            epilog=EPILOG,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )
        self._table = COMMANDS if table is None else table
        self._has_plugins = table is None
        click.version_option(__version__, message="tacitd %(version)s")(self)

    def _list_rows(self) -> dict[str, CommandRow]:
        return {**self._table, **(load_plugin_table().commands if self._has_plugins else {})}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._list_rows())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; None if no table names it. Raises TacitdError if a plugin's cannot be imported."""
        row = self._table.get(cmd_name) or self._list_rows().get(cmd_name)
        if row is None:
            return None
        module, _, name = row[0].partition(":")
        try:
            command = getattr(import_module(module), name)
            if not isinstance(command, click.Command):
                raise TypeError("it is not a click command")
        except Exception as error:  # a third-party package may raise anything when it is imported
            what = f"the command {cmd_name} ({row[0]}) cannot be loaded: {type(error).__name__}: {error}"
            raise TacitdError(what, "update or remove the package that brings it") from error
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but the error for an unknown name suggests similar ones. Raises click.UsageError."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if similar := get_close_matches(args[0], self.list_commands(ctx)):
                what = f"{error.message} Did you mean {' or '.join(map(repr, similar))}?"
                raise click.UsageError(what, ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them by group, from the tables: with `LIST_ALL` in the context all, otherwise those of the four groups."""
        every = bool(ctx.meta.get(LIST_ALL))
        left_out = () if every or not self._has_plugins else find_empty_commands()
        listed = [(name, row) for name, row in self._list_rows().items() if name not in left_out]
        for group in (SEE, DECIDE, RUN, MORE, REST)[: 5 if every else 4]:
            if rows := [(name, about) for name, (_, about, its) in listed if its == group]:
                with formatter.section(group):
                    formatter.write_dl(rows)


def load_command(name: str, path: Sequence[str] = ()) -> click.Command:
    """Import a command: its name, and those of the commands below it. Raises ValueError if there is none."""
    program = Program()
    found: click.Command | None = program
    for one in (name, *path):
        found = found.get_command(click.Context(program), one) if isinstance(found, click.Group) else None
    if found is None:
        raise ValueError(f"there is no command {' '.join((name, *path))}")
    return found


@click.command("help", epilog="\b\nExample: tacitd help learned\nExample: tacitd help --all")
@click.argument("topic", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="List every command.")
@click.pass_context
def show_help(ctx: click.Context, topic: tuple[str, ...], everything: bool) -> None:
    """Show the help of a command, as `--help` does; without TOPIC the list of commands."""
    context = ctx.parent or ctx
    context.meta[LIST_ALL] = everything
    command = context.command
    for name in topic:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{context.command_path} has no commands", ctx)
        _, found, _ = command.resolve_command(context, [name])
        assert found is not None  # it raises UsageError for an unknown name
        command, context = found, click.Context(found, parent=context, info_name=name)
    click.echo(command.get_help(context))


@click.command(
    epilog="\b\nExample: echo 'eval \"$(tacitd completion bash)\"' >> ~/.bashrc"
    "\nExample: tacitd completion fish > ~/.config/fish/completions/tacitd.fish"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell: commands, options and their values."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    program = ctx.find_root().command
    maker = kind(program, {}, "tacitd", "_TACITD_COMPLETE")
    # Not `source()`: for bash it runs `bash --version`, and the script works in each version that is still maintained.
    click.echo(maker.source_template % maker.source_vars())


EPILOG = """\b
Exit codes: 0 done, 1 failed, 2 usage error, 69 another daemon runs, none does, or it does
not answer, 75 something is parked or waits, 78 the configuration is wrong."""


def main() -> None:
    """Run the program with the commands of the engine and of all plugins, and end the process with its exit code."""
    run_and_exit(Program(), "tacitd")


def run_and_exit(command: click.Command, name: str) -> NoReturn:
    """Run a click program called `name` and end the process with the exit code that it returns; 0 if it returns no number.

    A TacitdError ends it with its own code, an OSError and an interrupt with 1, a closed stdout with 0.
    """
    open_streams()
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except (click.exceptions.Abort, EOFError, KeyboardInterrupt):
        with suppress(OSError):
            click.echo("aborted", err=True)
        code = FAILED
    except click.exceptions.NoArgsIsHelpError as error:
        with suppress(OSError):
            click.echo(error.ctx.get_help() if error.ctx else error.message)
        code = 0
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        code = error.exit_code
    except TacitdError as error:
        echo_error(error, name)
        code = error.code
    except (BrokenPipeError, ReaderGoneError):
        silence_stream(sys.stdout)
        code = 0
    except OSError as error:
        echo_error(TacitdError(*describe_os_error(error)), name)
        code = FAILED
    sys.exit(flush_streams(code if isinstance(code, int) else 0, name))


# --- the table of commands


CommandRow = tuple[str, str, str]
"""One command in the list of commands: its location (`module:name`), help and group."""

SEE, DECIDE, RUN, MORE = "See it", "Decide", "Run it", "More"
"""The groups of the list of commands, in this order."""
REST = "Others"
"""The group that only `tacitd help --all` lists."""

COMMANDS: dict[str, CommandRow] = {
    name: (f"tacitd.cli.{where}", about, group)
    for name, where, about, group in (
        ("status", "status_command:status", "Show what tacitd does, what waits and what it cost.", SEE),
        ("log", "log_command:log", "Show what happened: read, learned, changed, refused.", SEE),
        ("why", "why_command:why", "Show which of your words a line or a lesson came from.", SEE),
        ("history", "history_commands:history", "Show what tacitd changed in a project's files.", SEE),
        ("spend", "log_command:spend", "Show what the model calls cost.", SEE),
        ("review", "decide_commands:review", "Decide about what needs a decision.", DECIDE),
        ("forget", "decide_commands:forget", "Remove what was learned, and never learn it again.", DECIDE),
        ("undo", "history_commands:undo", "Undo one change.", DECIDE),
        (
            "pause",
            "control_commands:pause",
            "Pause learning: everywhere, in a project or in a session.",
            DECIDE,
        ),
        ("run", "run_command:run", "Watch and learn, in the foreground.", RUN),
        ("start", "service_commands:start", "Start the service, or a daemon in the background.", RUN),
        ("stop", "control_commands:stop", "Stop the running daemon.", RUN),
        ("service", "service_commands:service", "Install tacitd as a service that starts at login.", RUN),
        ("plugin", "client_commands:plugin", "tacitd inside Claude Code: hooks, tools, commands.", RUN),
        ("doctor", "setup_commands:doctor", "Check what the daemon needs, and name each fix.", RUN),
        ("help", "program:show_help", "Show the help of a command; --all lists every command.", MORE),
        ("report", "report_command:report", "Show what was learned, and whether it helps, as a page.", REST),
        ("prompts", "prompts_command:prompts", "Show what a person typed in transcripts.", REST),
        ("show", "history_commands:show", "Show one change whole.", REST),
        ("context", "why_command:context", "Print what a session gets at its start.", REST),
        ("statusline", "client_commands:statusline", "Print one line for the client's status bar.", REST),
        ("accept", "decide_commands:accept", "Store a withheld or refused line after all.", REST),
        ("resume", "control_commands:resume", "Resume learning.", REST),
        (
            "rescue",
            "control_commands:rescue",
            "List, retry or drop prompts that wait or were rejected.",
            REST,
        ),
        ("sync", "control_commands:sync", "Handle everything now, and wait until it is done.", REST),
        ("restart", "service_commands:restart", "Stop the daemon and start it again.", REST),
        ("reload", "service_commands:reload", "Reload the configuration.", REST),
        ("project", "control_commands:project", "Say which project a container's directory is.", REST),
        ("config", "setup_commands:config", "Show, check and locate the configuration.", REST),
        ("mcp", "client_commands:mcp", "Serve tools for agents, over MCP.", REST),
        ("completion", "program:completion", "Print the completion script for a shell.", REST),
        ("uninstall", "service_commands:uninstall_all", "Remove service, daemon, socket and plugin.", REST),
    )
}


class PluginTable(NamedTuple):
    """What the plugins offer to the command line."""

    plugins: tuple[PluginSpec, ...]
    """In the order in which commands use them."""
    commands: Mapping[str, CommandRow]
    broken: tuple[str, ...]
    """What is wrong with plugins and commands that are left out."""


def load_plugin_table() -> PluginTable:
    from tacitd.plugins import find_declarations

    return make_plugin_table(find_declarations())


def make_plugin_table(found: FoundPlugins) -> PluginTable:
    """The table of these plugins. A command that the engine or another plugin has is left out."""
    plugins = sorted(found.plugins, key=lambda one: (one.order, one.name))
    broken = [one.what for one in found.failed]
    commands = dict[str, CommandRow]()
    for one in plugins:
        for name, row in one.commands.items():
            if name in COMMANDS or name in commands:
                broken.append(f"the command {name} of {one.name} is left out: there is another of this name")
            else:
                where, about, group = row
                commands[name] = where, about, group if group in (SEE, DECIDE, RUN, REST) else MORE
    return PluginTable(tuple(plugins), commands, tuple(broken))


def find_empty_commands() -> set[str]:
    """The further commands of plugins that have no data: `tacitd help --all` lists them."""
    plugins = load_plugin_table().plugins
    further = {name: one for one in plugins for name, row in one.commands.items() if row[2] == MORE}
    return {name for name, one in further.items() if not has_data(one)}


def has_data(plugin: PluginSpec) -> bool:
    """Whether a plugin has data of the person: there is one of the files that its footprint keeps, or it names none."""
    from tacitd.handler import load_hook

    try:
        kept = load_hook(plugin.footprint)(os.environ).kept if plugin.footprint else ()
        return not kept or any(path.is_file() or (path.is_dir() and any(path.iterdir())) for path in kept)
    except Exception:  # noqa: BLE001  a third-party plugin may raise anything; what is not known is shown
        return True
