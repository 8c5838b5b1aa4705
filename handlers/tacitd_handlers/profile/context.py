"""The profile's text for the start of a session: at most twelve lines.

A session waits for it: no pydantic, no model, no lock, no second try at a file that is being written, and without a profile
nothing that reads one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.errors import TacitdError
from tacitd.files import json_document
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.shared.user_memory import memory_dir

if TYPE_CHECKING:
    from tacitd_handlers.profile.dot_paths import Json

LINES = 12
HEADING = "## The person you work with"


def build_section(request: ContextRequest) -> str:
    """Return the values that the client does not load from the rules file; "" if there are none. The same in every directory."""
    directory = memory_dir(os.environ)
    profile = _read(directory / "profile.json")
    if not profile:
        return ""
    from tacitd_handlers.profile import render

    meta = _read(directory / "profile-meta.json")
    faded = _find_faded(meta)
    rows = render.format_rows(_without_faded(profile, meta, faded) if faded else profile)
    found = [row for row in rows if not request.is_loaded(f"- {row}")]
    if not found:
        return ""
    lines = [HEADING, *(f"- {row}" for row in found)]
    for count in range(min(len(lines), LINES), 1, -1):
        said = "\n".join(lines[:count])
        if len(said) <= request.budget:
            return said
    return ""


def _find_faded(meta: Json) -> set[str]:
    """The paths whose confidence fell under 0.1 since decay was last written; none if the clock is not trusted."""
    from tacitd_handlers.profile import profile_confidence as metas
    from tacitd_handlers.shared import decay

    now = time.time()
    try:
        known = metas.newest_moment(meta) if meta else None
        confidences = metas.read_confidences(meta).values() if meta else ()
    except (KeyError, TypeError, AttributeError):
        return set()
    if decay.doubt_clock(now, known):
        return set()
    return {one.path for one in confidences if one.days_left(now) <= 0.0}


def _without_faded(profile: Json, meta: Json, faded: set[str]) -> Json:
    """The profile without faded values. What is the person's stays, also elements of a faded list."""
    from tacitd_handlers.profile import dot_paths
    from tacitd_handlers.profile.ownership import Ownership
    from tacitd_handlers.profile.profile_reader import ProfileReader

    try:
        owned = ProfileReader.from_environ(os.environ).judge_documents(profile, meta)
    except (OSError, TacitdError):
        owned = Ownership()
    for path in faded - owned.paths:
        mine = list(owned.elements.get(path, ()))
        profile = dot_paths.put_value(profile, path, mine) if mine else dot_paths.drop_value(profile, path)
    return profile


def _read(path: Path) -> Json:
    try:
        return json_document.read_document(path, patient=False) or {}
    except (OSError, TacitdError):
        return {}
