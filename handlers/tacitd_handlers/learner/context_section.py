"""The learner's section of `tacitd context`, where a teaching session worked before or where the configuration says so.

Every session start calls it, so almost nothing is imported before it is known that there is something to print.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.state import paths
from tacitd_handlers.learner import learner_paths

if TYPE_CHECKING:
    from tacitd.session_context.context_request import ContextRequest

SHARE = 5_000
"""Characters of `tacitd context` that the learner takes at most."""


def build_section(request: ContextRequest) -> str:
    """Return the blocks of the session start; "" where the person does not practise, and for a session that goes on."""
    if request.occasion == "resume" or not is_practice_directory(request.cwd, os.environ):
        return ""
    from tacitd.clock import SystemClock
    from tacitd_handlers.learner.session_start import build_context

    at = learner_paths.load_paths(os.environ)
    return build_context(at, request.session, SystemClock(), min(SHARE, request.budget)).text


def is_practice_directory(cwd: Path, environ: Mapping[str, str]) -> bool:
    """Whether the learner's blocks belong into the sessions of a directory (`learner.context`, `learner.directories`)."""
    section, user = learner_paths.read_section(environ), paths.find_home(environ)
    chosen, given = section.get("context", "taught"), section.get("directories", ())
    if chosen == "always":
        return True
    names: Iterable[object] = given.split(",") if isinstance(given, str) else given
    places = [learner_paths.expand_path(str(name).strip(), user) for name in names if str(name).strip()]
    here = Path(os.path.realpath(cwd))
    if any(here.is_relative_to(os.path.realpath(place)) for place in places):
        return True
    return chosen != "never" and any(here.is_relative_to(place) for place in _list_taught(environ))


def _list_taught(environ: Mapping[str, str]) -> list[str]:
    """The projects in which teaching sessions worked."""
    file = learner_paths.load_paths(environ).state
    if not file.exists():
        return []
    from tacitd_handlers.learner.learner_state import decode_state

    try:
        return decode_state(file.read_bytes()).places
    except OSError:
        return []
