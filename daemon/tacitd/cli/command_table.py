"""The engine's commands: where each one is, its help and its group in the list of commands; and those of plugins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacitd.cli.plugin_table import PluginTable


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
    "hooks": ("tacitd.cli.hooks_command:hooks", "Optional hooks in Claude Code.", CARE),
    "mcp": ("tacitd.cli.mcp_command:mcp", "Tools for agents, over MCP.", CARE),
    "help": ("tacitd.cli.help_commands:show_help", "Show the help of a command.", CARE),
    "completion": ("tacitd.cli.help_commands:completion", "Print the completion script for a shell.", CARE),
    "config": ("tacitd.cli.config_command:config", "Show, check and locate the configuration.", CARE),
    "doctor": ("tacitd.cli.doctor_command:doctor", "Check what the daemon needs, and name each fix.", CARE),
    "uninstall": ("tacitd.cli.service_commands:uninstall_all", "Remove service, daemon and socket.", CARE),
    "rescue": (
        "tacitd.cli.rescue_command:rescue",
        "List, retry or drop prompts that wait or were rejected.",
        CARE,
    ),
}


_kept: list[PluginTable] = []
"""The table of a process that runs one command and ends. To find out whether it still holds takes a tenth of a start of Python."""


def load_plugin_table(environ: Mapping[str, str]) -> PluginTable:
    """The hooks of all plugins."""
    from tacitd.cli.plugin_table import load_table

    return _kept[0] if _kept else load_table(environ, COMMANDS)


def keep_plugin_table(environ: Mapping[str, str]) -> None:
    """Load the table, and use it from now on: for a process that runs one command and ends."""
    _kept.append(load_plugin_table(environ))


def list_plugin_rows(table: PluginTable) -> dict[str, CommandRow]:
    """The rows of the plugins' commands, in the order of the plugins."""
    return {name: row for one in table.plugins for name, row in one.commands.items()}


def load_plugin_rows() -> dict[str, CommandRow]:
    """The same, for the environment of this process."""
    return list_plugin_rows(load_plugin_table(os.environ))
