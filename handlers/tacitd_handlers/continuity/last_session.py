"""The text about the project's last session: for the start of a new one, `tacitd sessions resume`, and agents (SPEC P-26).

A session waits for it: no model, and no second try at a file that is being written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.clock import SystemClock
from tacitd.files import git
from tacitd.session_context.context_request import ContextRequest, cut_text
from tacitd.session_context.plugin_view import open_rows
from tacitd.state.paths import state_dir
from tacitd_handlers.continuity import make_plugin
from tacitd_handlers.continuity.resume_text import SessionEnd, build_resume_text
from tacitd_handlers.continuity.session_folder import SessionFile, list_sessions
from tacitd_handlers.continuity.session_rows import list_last_prompts, load_state

if TYPE_CHECKING:
    from tacitd.contract import Rows

BUDGET = 2_500
"""Characters of a new session's text."""
PROMPTS = 2


def make_text(request: ContextRequest) -> str:
    """Return the text for the directory's project; "" if there is no session to resume, other than the one that asks.

    A session that goes on, after a compaction or because it is resumed, needs no hand-off: then it is "" too.
    """
    if request.occasion != "start":
        return ""
    text = resume_project(request.rows, request.cwd, request.session)
    return cut_text(text, min(request.budget, BUDGET))


def read_last_session(cwd: Path, budget: int) -> str:
    """Return the text for a directory's project, at most `budget` characters; "" if there is no session."""
    with open_rows(make_plugin(), state_dir(os.environ)) as rows:
        return cut_text(resume_project(rows, cwd), budget)


def resume_project(rows: Rows, cwd: Path, without: str = "") -> str:
    """Return the text to go on with in a directory's project; "" if there is no session but `without`."""
    now = SystemClock().now()
    here = [
        one
        for one in select_sessions(list_sessions(rows, now).sessions, cwd)
        if not without or one.id != without
    ]
    state = load_state(rows, here[0].id) if here else None
    end = SessionEnd(state, list_last_prompts(rows, state.id, PROMPTS)) if state is not None else None
    return build_resume_text([one.document for one in here], now, end)


def select_sessions(found: Sequence[SessionFile], cwd: Path) -> list[SessionFile]:
    """Return those of the sessions that belong to the project of a directory, in the same order."""
    _root.cache_clear()  # a repository may have been made or moved since the daemon asked last
    root = _root(str(cwd))
    return [one for one in found if one.project and _root(one.project) == root]


@cache
def _root(cwd: str) -> str:
    """The root of the git repository's main work tree; the directory itself if there is none. It may be gone."""
    real = Path(os.path.realpath(cwd))
    # A removed directory still belongs to the repository of its nearest existing parent.
    existing = next((path for path in (real, *real.parents) if path.is_dir()), real)
    found = git.find_repository(existing)
    return str(found.top if found is not None else real)
