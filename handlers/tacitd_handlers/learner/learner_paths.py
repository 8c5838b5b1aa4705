"""Where the learner's files are, from the environment and the configuration.

Without pydantic, because a session start waits for it. Nothing is opened but the configuration file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.state import paths

if TYPE_CHECKING:
    from tacitd.handler import Footprint

PROFILE, LEDGER = "leetcode-teacher-profile.md", "leetcode-teacher-ledger.md"
SESSION_STATE = "leetcode-session-state.md"
PREFIX = "TACITD_LEARNER__"


class LearnerPaths(Struct, frozen=True):
    profile: Path
    ledger: Path
    session_state: Path
    """Written at a compaction."""
    user: Path
    """The person's home directory, for `~`."""


def resolve_paths(environ: Mapping[str, str], profile: str = "", ledger: str = "") -> LearnerPaths:
    """The paths (SPEC L-01). `profile` and `ledger` are as configured, "" for the default."""
    base, user = paths.config_dir(environ), paths.find_home(environ)
    return LearnerPaths(
        _expand_path(profile, user) if profile else base / PROFILE,
        _expand_path(ledger, user) if ledger else base / LEDGER,
        base / SESSION_STATE,
        user,
    )


def load_paths(environ: Mapping[str, str]) -> LearnerPaths:
    """The paths with the configuration file and the `TACITD_LEARNER__` variables applied."""
    given = read_section(environ)
    return resolve_paths(environ, str(given.get("profile", "")), str(given.get("ledger", "")))


def read_section(environ: Mapping[str, str]) -> dict[str, Any]:
    """The section `learner` of the configuration, unvalidated; variables override the file.

    A file that is not TOML counts as empty: `tacitd config check` reports it, and a session start must not fail for
    it.
    """
    file, section = paths.config_file(environ), None
    if file.exists():
        import tomllib  # most people have no such file

        with suppress(OSError, ValueError):
            section = tomllib.loads(file.read_text(encoding="utf-8")).get("learner")
    return (dict(section) if isinstance(section, dict) else {}) | {
        name[len(PREFIX) :].lower(): value
        for name, value in environ.items()
        if name.upper().startswith(PREFIX)
    }


def _expand_path(text: str, user: Path) -> Path:
    """An absolute path from the configuration, with `~/` for the person's home directory. Links stay as they are."""
    return Path(os.path.abspath(os.fspath(user) + text[1:] if text.startswith("~/") else text))  # noqa: PTH100


def read_file(path: Path) -> bytes | None:
    """A file's bytes; None if it does not exist. Raises OSError, and FileRefusedError for what is no ordinary file: reading a pipe
    would wait."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
        return path.read_bytes()
    except FileNotFoundError:
        return None


def shorten_path(path: Path, user: Path) -> str:
    """The path with `~/` for the person's home directory."""
    return f"~/{path.relative_to(user)}" if path.is_relative_to(user) else str(path)


def learner_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes and those that it keeps, which belong to the person, and their directories."""
    from tacitd.handler import Footprint

    at = load_paths(environ)
    places = dict.fromkeys(file.parent for file in (at.profile, at.ledger, at.session_state))
    return Footprint([at.session_state], [at.ledger, at.profile], list(places))
