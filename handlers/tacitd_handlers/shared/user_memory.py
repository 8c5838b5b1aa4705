"""The location of the user memory. No heavy imports: the fast commands import this."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tacitd.state.paths import config_dir, find_home


def memory_dir(env: Mapping[str, str]) -> Path:
    """Return USER_MEMORY_DIR, or `user-memory` in Claude Code's directory if it is not set (SPEC P-01).

    Claude Code's directory is CLAUDE_CONFIG_DIR, or `~/.claude`.
    """
    named = env.get("USER_MEMORY_DIR", "")
    if not named:
        return config_dir(env) / "user-memory"
    whole = os.fspath(find_home(env)) + named[1:] if named == "~" or named.startswith("~/") else named
    return Path(os.path.abspath(whole))  # noqa: PTH100 - symlinks are not resolved: the directory may not exist yet
