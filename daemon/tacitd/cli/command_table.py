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
    "status": (
        "tacitd.cli.status_command:status",
        "Show what tacitd does, what waits and what it cost.",
        SEE,
    ),
    "log": ("tacitd.cli.log_command:log", "Show what happened: read, learned, changed, refused.", SEE),
    "why": ("tacitd.cli.why_command:why", "Show which of your words a line or a lesson came from.", SEE),
    "history": ("tacitd.cli.history_commands:history", "Show what tacitd changed in a project's files.", SEE),
    "spend": ("tacitd.cli.spend_command:spend", "Show what the model calls cost.", SEE),
    "review": ("tacitd.cli.review_command:review", "Decide about what needs a decision.", DECIDE),
    "forget": (
        "tacitd.cli.decide_commands:forget",
        "Remove what was learned, and never learn it again.",
        DECIDE,
    ),
    "undo": ("tacitd.cli.undo_command:undo", "Undo one change.", DECIDE),
    "pause": (
        "tacitd.cli.control_commands:pause",
        "Pause learning: everywhere, in a project or in a session.",
        DECIDE,
    ),
    "run": ("tacitd.cli.run_command:run", "Watch and learn, in the foreground.", RUN),
    "start": ("tacitd.cli.service_commands:start", "Start the service, or a daemon in the background.", RUN),
    "stop": ("tacitd.cli.control_commands:stop", "Stop the running daemon.", RUN),
    "service": (
        "tacitd.cli.service_commands:service",
        "Install tacitd as a service that starts at login.",
        RUN,
    ),
    "plugin": ("tacitd.cli.plugin_command:plugin", "tacitd inside Claude Code: hooks, tools, commands.", RUN),
    "doctor": ("tacitd.cli.doctor_command:doctor", "Check what the daemon needs, and name each fix.", RUN),
    "help": (
        "tacitd.cli.help_commands:show_help",
        "Show the help of a command; --all lists every command.",
        MORE,
    ),
    "report": (
        "tacitd.cli.report_command:report",
        "Show what was learned, and whether it helps, as a page.",
        REST,
    ),
    "prompts": ("tacitd.cli.prompts_command:prompts", "Show what a person typed in transcripts.", REST),
    "show": ("tacitd.cli.history_commands:show", "Show one change whole.", REST),
    "context": ("tacitd.cli.context_command:context", "Print what a session gets at its start.", REST),
    "statusline": (
        "tacitd.cli.statusline_command:statusline",
        "Print one line for the client's status bar.",
        REST,
    ),
    "accept": ("tacitd.cli.decide_commands:accept", "Store a withheld or refused line after all.", REST),
    "resume": ("tacitd.cli.control_commands:resume", "Resume learning.", REST),
    "rescue": (
        "tacitd.cli.rescue_command:rescue",
        "List, retry or drop prompts that wait or were rejected.",
        REST,
    ),
    "sync": ("tacitd.cli.control_commands:sync", "Handle everything now, and wait until it is done.", REST),
    "restart": ("tacitd.cli.service_commands:restart", "Stop the daemon and start it again.", REST),
    "reload": ("tacitd.cli.service_commands:reload", "Reload the configuration.", REST),
    "config": ("tacitd.cli.config_command:config", "Show, check and locate the configuration.", REST),
    "mcp": ("tacitd.cli.mcp_command:mcp", "Serve tools for agents, over MCP.", REST),
    "completion": ("tacitd.cli.help_commands:completion", "Print the completion script for a shell.", REST),
    "uninstall": (
        "tacitd.cli.service_commands:uninstall_all",
        "Remove service, daemon, socket and plugin.",
        REST,
    ),
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
