"""Slash commands that control the client: what a person types with them is not about the work (SPEC P-26). Pure.

The client records `/compact keep it short` as a command with arguments, and a command that was queued as a prompt of its own.
Commands of a project, of a person or of a plugin are about the work, and so are the built-in ones that ask the assistant
for something (`/init`, `/review`); they are not listed here.
"""

from __future__ import annotations

import re

from tacitd.events import Prompt
from tacitd.text.lazy_pattern import compile_lazily

_BARE = compile_lazily(r"/[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*", re.IGNORECASE)
"""A command without arguments. A path has a second slash."""
_CONTROLS = frozenset((
    "add-dir", "agents", "allowed-tools", "branch", "bug", "clear", "compact", "config", "context", "continue",
    "copy", "cost", "doctor", "effort", "exit", "export", "extra-usage", "fast", "feedback", "help", "hooks", "ide",
    "install-github-app", "keybindings", "login", "logout", "mcp", "memory", "model", "new", "output-style",
    "permissions", "plugin", "privacy-settings", "quit", "reload-plugins", "remote-control", "rename", "resume",
    "rewind", "sandbox", "settings", "skills", "stats", "status", "statusline", "tasks", "terminal-setup", "theme",
    "todos", "tui", "undo", "upgrade", "usage", "vim",
))  # fmt: skip


def is_client_command(prompt: Prompt, command: str) -> bool:
    """Whether a prompt only controls the client. `command`: the slash command it belongs to, without its slash; "" if none."""
    if prompt.kind == "command":
        return command in _CONTROLS
    return _BARE.fullmatch(prompt.text.strip()) is not None
