"""The engine's commands: where each one is, its help and its group in the list of commands; and those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tacitd.handler import Plugin
    from tacitd.plugins import FoundPlugins


CommandRow = tuple[str, str, str]
"""One command in the list of commands: its location (`module:name`), help and group."""

WORK, LOOK, CARE = "Running", "Looking", "Care"

COMMANDS: dict[str, CommandRow] = {
    "run": ("tacitd.cli.run_command:run", "Watch and learn, in the foreground.", WORK),
    "start": (
        "tacitd.cli.service_commands:start",
        "Start in the background, without systemd or launchd.",
        WORK,
    ),
    "stop": ("tacitd.cli.control_commands:stop", "Stop the running daemon.", WORK),
    "restart": ("tacitd.cli.service_commands:restart", "Stop the daemon and start it again.", WORK),
    "reload": ("tacitd.cli.service_commands:reload", "Reload the configuration.", WORK),
    "service": (
        "tacitd.cli.service_commands:service",
        "Install tacitd as a service that starts at login.",
        WORK,
    ),
    "sync": ("tacitd.cli.control_commands:sync", "Handle everything now, and wait until it is done.", WORK),
    "pause": (
        "tacitd.cli.control_commands:pause",
        "Pause learning: everywhere, in a project or in a session.",
        WORK,
    ),
    "resume": ("tacitd.cli.control_commands:resume", "Resume learning.", WORK),
    "status": (
        "tacitd.cli.status_command:status",
        "Show what tacitd does, what waits and what it cost.",
        LOOK,
    ),
    "log": ("tacitd.cli.log_command:log", "Show what happened: read, learned, changed, parked.", LOOK),
    "prompts": ("tacitd.cli.prompts_command:prompts", "Show what a person typed in transcripts.", LOOK),
    "why": ("tacitd.cli.why_command:why", "Show which of your words a line or a lesson came from.", LOOK),
    "history": (
        "tacitd.cli.history_commands:history",
        "Show what tacitd changed in a project's files.",
        LOOK,
    ),
    "show": ("tacitd.cli.history_commands:show", "Show one change whole.", LOOK),
    "undo": ("tacitd.cli.undo_command:undo", "Undo one change.", LOOK),
    "forget": (
        "tacitd.cli.decide_commands:forget",
        "Remove what was learned, and never learn it again.",
        LOOK,
    ),
    "accept": ("tacitd.cli.decide_commands:accept", "Store a withheld or refused line after all.", LOOK),
    "review": ("tacitd.cli.review_command:review", "Decide about what needs a decision.", LOOK),
    "spend": ("tacitd.cli.spend_command:spend", "Show what the model calls cost.", LOOK),
    "report": (
        "tacitd.cli.report_command:report",
        "Show what was learned, and whether it helps, as a page.",
        LOOK,
    ),
    "context": ("tacitd.cli.context_command:context", "Print what a session gets at its start.", LOOK),
    "statusline": (
        "tacitd.cli.statusline_command:statusline",
        "Print one line for the client's status bar.",
        LOOK,
    ),
    "plugin": (
        "tacitd.cli.plugin_command:plugin",
        "tacitd inside Claude Code: hooks, tools, commands.",
        CARE,
    ),
    "mcp": ("tacitd.cli.mcp_command:mcp", "Serve tools for agents, over MCP.", CARE),
    "help": ("tacitd.cli.help_commands:show_help", "Show the help of a command.", CARE),
    "completion": ("tacitd.cli.help_commands:completion", "Print the completion script for a shell.", CARE),
    "config": ("tacitd.cli.config_command:config", "Show, check and locate the configuration.", CARE),
    "doctor": ("tacitd.cli.doctor_command:doctor", "Check what the daemon needs, and name each fix.", CARE),
    "uninstall": (
        "tacitd.cli.service_commands:uninstall_all",
        "Remove service, daemon, socket and plugin.",
        CARE,
    ),
    "rescue": (
        "tacitd.cli.rescue_command:rescue",
        "List, retry or drop prompts that wait or were rejected.",
        CARE,
    ),
}


class PluginTable(NamedTuple):
    """What the plugins offer to the command line."""

    plugins: tuple[Plugin, ...]
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
                commands[name] = row
    return PluginTable(tuple(plugins), commands, tuple(broken))


def load_plugin_rows() -> Mapping[str, CommandRow]:
    """The rows of the installed plugins' commands."""
    return load_plugin_table().commands
