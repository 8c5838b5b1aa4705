"""The lean call: the options that keep a call private, and the empty directory that it runs in (CLAUDE_CODE 3.1).

The command was run on clients from 2.0.76 to 2.1.328: no hook, no tool, no transcript, no CLAUDE.md, no MCP server, and
no file read. After any change to it, it must be run on them again.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

from tacitd.errors import FileRefusedError

SETTINGS = '{"disableAllHooks":true,"cleanupPeriodDays":36500,"autoMemoryEnabled":false}'
"""No hooks, no deletion of a person's old transcripts (CLAUDE_CODE, fact 5), no memory of the client's own."""


def client_arguments(model: str, system: str, setting_sources: str = "") -> list[str]:
    """The options of the verified command, each as a separate argument. The prompt is not one of them (S-09)."""
    return [
        "-p",
        "--model",
        model,
        "--output-format",
        "stream-json",
        "--verbose",
        "--no-session-persistence",
        "--tools",
        "",
        "--setting-sources",
        setting_sources,
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--settings",
        SETTINGS,
        "--system-prompt",
        system.replace("\0", ""),
    ]


def missing_options(help_text: str) -> list[str]:
    """Given the output of `claude --help`, return the options of the lean call that it does not list (S-63).

    Every client from 2.0.76 on lists all of them. A text that lists none is not the client's help, so nothing is known
    and the result is empty.
    """
    wanted = [one for one in client_arguments("", "") if one.startswith("-")]
    missing = [one for one in wanted if not re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", help_text)]
    return missing if len(missing) < len(wanted) else []


def private_directory(path: Path) -> None:
    """Make sure that the path is an empty directory of this user with mode 0700 (S-60).

    It must be empty because the client loads what it finds there. Raises FileRefusedError for a link or another user's
    directory, OSError if it cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise FileRefusedError(f"{path} is not a directory, or another user owns it", "remove it")
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
