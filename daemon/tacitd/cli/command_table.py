"""The engine's commands: where each one is, its help and its group in the list of commands; and those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tacitd.plugin import PluginSpec
    from tacitd.plugins import FoundPlugins


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
        ("spend", "spend_command:spend", "Show what the model calls cost.", SEE),
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
        ("context", "context_command:context", "Print what a session gets at its start.", REST),
        ("statusline", "client_commands:statusline", "Print one line for the client's status bar.", REST),
        ("accept", "decide_commands:accept", "Store a withheld or refused line after all.", REST),
        ("resume", "control_commands:resume", "Resume learning.", REST),
        ("rescue", "rescue_command:rescue", "List, retry or drop prompts that wait or were rejected.", REST),
        ("sync", "control_commands:sync", "Handle everything now, and wait until it is done.", REST),
        ("restart", "service_commands:restart", "Stop the daemon and start it again.", REST),
        ("reload", "service_commands:reload", "Reload the configuration.", REST),
        ("project", "project_command:project", "Say which project a container's directory is.", REST),
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
    """The table of the installed plugins."""
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


def load_plugin_rows() -> Mapping[str, CommandRow]:
    """The rows of the installed plugins' commands."""
    return load_plugin_table().commands
