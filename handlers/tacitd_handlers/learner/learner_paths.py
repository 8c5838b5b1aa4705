"""The paths of the learner's files, from the environment and the configuration.

Without pydantic, because a session start waits for `tacitd learner context`. Nothing is opened but the configuration
file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.state import paths

if TYPE_CHECKING:
    from tacitd.errors import ConfigError
    from tacitd.handler import Footprint
    from tacitd_handlers.learner.review_dates import ReviewPlan

PROFILE, LEDGER = "leetcode-teacher-profile.md", "leetcode-teacher-ledger.md"
SESSION_STATE = "leetcode-session-state.md"
PREFIX = "TACITD_LEARNER__"


class LearnerPaths(Struct, frozen=True):
    """The paths of the learner's files, all absolute."""

    profile: Path
    ledger: Path
    session_state: Path
    """Written at a compaction."""
    home: Path
    """The directory of tacitd's own state about the two files."""
    user: Path
    """The person's home directory, for `~`."""


def resolve_paths(
    environ: Mapping[str, str], profile: str = "", ledger: str = "", home: Path | None = None
) -> LearnerPaths:
    """The paths (SPEC L-01). `profile` and `ledger` are as configured, "" for the default."""
    base, user = paths.config_dir(environ), paths.find_home(environ)
    return LearnerPaths(
        _named(profile, user) or base / PROFILE,
        _named(ledger, user) or base / LEDGER,
        base / SESSION_STATE,
        home or paths.state_dir(environ) / "handlers" / "learner",
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
    found = dict(_section(paths.config_file(environ)))
    for name, value in environ.items():
        if name.upper().startswith(PREFIX):
            found[name[len(PREFIX) :].lower()] = value
    return found


def read_plan(environ: Mapping[str, str]) -> ReviewPlan:
    """How intervals grow, as configured. Raises ConfigError that names the key."""
    from tacitd_handlers.learner.review_dates import ReviewPlan

    given = read_section(environ)
    grows, longest = given.get("grow_only_when_due", False), given.get("longest_interval")
    if isinstance(grows, str) and grows.lower() in ("true", "1", "yes", "on", "false", "0", "no", "off"):
        grows = grows.lower() in ("true", "1", "yes", "on")
    if isinstance(longest, str) and longest.isdecimal():
        longest = int(longest)
    if not isinstance(grows, bool):
        raise _make_error("grow_only_when_due", grows, "it is true or false")
    if longest is not None and (isinstance(longest, bool) or not isinstance(longest, int) or longest < 1):
        raise _make_error("longest_interval", longest, "it is a number of days, 1 or more")
    return ReviewPlan(grows, longest)


def _make_error(key: str, given: object, what: str) -> ConfigError:
    from tacitd.errors import ConfigError

    return ConfigError(
        f"learner.{key} = {given!r} is not allowed: {what}", "`tacitd config show` lists all settings"
    )


def shorten_path(path: Path, user: Path) -> str:
    """The path with `~/` for the person's home directory."""
    return f"~/{path.relative_to(user)}" if path.is_relative_to(user) else str(path)


def quote_path(shortened: str) -> str:
    """A path of `shorten_path`, quoted for a shell, which still expands `~/`."""
    from shlex import quote

    return f"~/{quote(shortened[2:])}" if shortened.startswith("~/") else quote(shortened)


def expand_path(text: str, environ: Mapping[str, str]) -> Path:
    """An absolute path from the configuration, with `~/` for the person's home directory."""
    return _named(text, paths.find_home(environ)) or paths.find_home(environ)


def _section(file: Path) -> Mapping[str, Any]:
    if not file.exists():
        return {}
    import tomllib  # most people have no such file

    try:
        section = tomllib.loads(file.read_text(encoding="utf-8")).get("learner", {})
    except (OSError, ValueError):
        return {}
    return section if isinstance(section, dict) else {}


def _named(text: str, user: Path) -> Path | None:
    if not text:
        return None
    whole = os.fspath(user) + text[1:] if text.startswith("~/") else text
    return Path(os.path.abspath(whole))  # noqa: PTH100 - links stay as they are


def learner_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes and those that it keeps, which belong to the person, and their directories."""
    from tacitd.handler import Footprint

    at = load_paths(environ)
    places = dict.fromkeys(file.parent for file in (at.profile, at.ledger, at.session_state))
    return Footprint([at.session_state], [at.ledger, at.profile], list(places))
