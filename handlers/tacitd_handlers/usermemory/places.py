"""Where the user memory is. Light: the fast commands import this."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tacitd.paths import config_dir, home


def memory_dir(env: Mapping[str, str]) -> Path:
    """USER_MEMORY_DIR, else `~/.claude/user-memory`; CLAUDE_CONFIG_DIR moves the latter (SPEC P-01)."""
    named = env.get("USER_MEMORY_DIR", "")
    if not named:
        return config_dir(env) / "user-memory"
    whole = os.fspath(home(env)) + named[1:] if named == "~" or named.startswith("~/") else named
    return Path(os.path.abspath(whole))  # noqa: PTH100 - links stay as they are: it may not exist yet
