"""The learner's section of `tacitd context`, in the directories that `learner.directories` names.

Every session start calls it, so almost nothing is imported before it is known that there is something to print.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tacitd_handlers.learner import learner_paths

SHARE = 5_000
"""Characters of `tacitd context` that the learner takes at most."""


def build_section(cwd: Path, budget: int) -> str:
    """Given a working directory, return the blocks of the session start, at most `budget` characters.

    "" outside the configured directories.
    """
    if not is_practice_directory(cwd, os.environ):
        return ""
    from tacitd.clock import SystemClock
    from tacitd_handlers.learner.context import build_context, hook_session

    session = hook_session() or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    places = learner_paths.load_paths(os.environ)
    return build_context(places, session, SystemClock(), min(SHARE, budget)).text


def is_practice_directory(cwd: Path, environ: Mapping[str, str]) -> bool:
    """Whether a directory is, or is below, one of `learner.directories`."""
    given = learner_paths.read_section(environ).get("directories", ())
    names: Iterable[object] = given.split(",") if isinstance(given, str) else given
    named = [learner_paths.expand_path(str(name).strip(), environ) for name in names if str(name).strip()]
    here = Path(os.path.realpath(cwd))
    return any(here.is_relative_to(os.path.realpath(path)) for path in named)
