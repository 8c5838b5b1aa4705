"""The files of the user memory, for `uninstall --purge`: those that only tacitd needs, and those that a person keeps.

Every file that `profile` or `continuity` writes into the directory must be listed here.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.handler import Footprint
from tacitd_handlers.shared.user_memory import memory_dir

TURNS, SESSIONS = ".processed_turns", "sessions"
LEARNED = ("profile.json", "profile-meta.json", "changelog.jsonl", "changelog.quarantine.jsonl")


def profile_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that the profile handler writes."""
    place = memory_dir(environ)
    kept = [place / name for name in LEARNED]
    return Footprint([place / TURNS], kept, [place], [place])


def sessions_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that the continuity handler writes."""
    place = memory_dir(environ)
    sessions = place / SESSIONS
    return Footprint([], [sessions], [place, sessions], [sessions, place])
