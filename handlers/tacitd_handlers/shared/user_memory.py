"""The directory of the user memory, and its files for `uninstall --purge`: those that only tacitd needs, and those that a person keeps.

Every file that `profile` or `continuity` writes into the directory must be listed here. No heavy imports: fast commands import this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.state.paths import config_dir, find_home

if TYPE_CHECKING:
    from tacitd.handler import Footprint

TURNS, SESSIONS = ".processed_turns", "sessions"
LEARNED = ("profile.json", "profile-meta.json", "changelog.jsonl", "changelog.quarantine.jsonl")


def memory_dir(env: Mapping[str, str]) -> Path:
    """Return USER_MEMORY_DIR, or `user-memory` in Claude Code's directory if it is not set (SPEC P-01).

    Claude Code's directory is CLAUDE_CONFIG_DIR, or `~/.claude`.
    """
    named = env.get("USER_MEMORY_DIR", "")
    if not named:
        return config_dir(env) / "user-memory"
    whole = os.fspath(find_home(env)) + named[1:] if named == "~" or named.startswith("~/") else named
    return Path(os.path.abspath(whole))  # noqa: PTH100 - symlinks are not resolved: the directory may not exist yet


def profile_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that the profile handler writes."""
    from tacitd.handler import Footprint

    place = memory_dir(environ)
    return Footprint([place / TURNS], [place / name for name in LEARNED], [place], [place])


def sessions_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that the continuity handler writes."""
    from tacitd.handler import Footprint

    place = memory_dir(environ)
    sessions = place / SESSIONS
    return Footprint([], [sessions], [place, sessions], [sessions, place])
