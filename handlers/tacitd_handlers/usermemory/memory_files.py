"""The files of the user memory, for `uninstall --purge`: what only tacitd needs, and what a person keeps."""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.handler import Footprint
from tacitd_handlers.usermemory.document import LOCK
from tacitd_handlers.usermemory.places import memory_dir

TURNS, SESSIONS = ".processed_turns", "sessions"
LEARNED = ("profile.json", "profile-meta.json", "changelog.jsonl", "changelog.quarantine.jsonl")


def profile_footprint(environ: Mapping[str, str]) -> Footprint:
    """What the profile handler writes there."""
    place = memory_dir(environ)
    kept = [place / name for name in LEARNED]
    return Footprint([place / TURNS, place / LOCK], kept, [place], [place])


def sessions_footprint(environ: Mapping[str, str]) -> Footprint:
    """What the continuity handler writes there."""
    place = memory_dir(environ)
    sessions = place / SESSIONS
    return Footprint([place / LOCK], [sessions], [place, sessions], [sessions, place])
