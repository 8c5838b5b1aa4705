"""The text about the project's last session: for the start of a new one, `tacitd sessions resume`, and agents (SPEC P-26).

A session waits for it: no model, no second try at a file that is being written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tacitd.files import git
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.continuity.resume_text import LINES, build_resume_text
from tacitd_handlers.continuity.store import SessionFile, SessionStore


def build_section(request: ContextRequest) -> str:
    """Return the text for the directory's project; "" if there is no session to resume, other than the one that asks.

    A session that goes on, after a compaction or because it is resumed, needs no hand-off: then it is "" too.
    """
    if request.occasion != "start":
        return ""
    store = SessionStore.from_environ(os.environ)
    here = select_sessions(store.list_sessions(patient=False), request.cwd)
    others = [one for one in here if one.id != request.session]
    return resume_sessions(store, others, request.budget)


def read_last_session(cwd: Path, budget: int) -> str:
    """Return the text for a directory's project, at most `budget` characters; "" if there is no session."""
    store = SessionStore.from_environ(os.environ)
    return resume_sessions(store, select_sessions(store.list_sessions(), cwd), budget)


def resume_sessions(store: SessionStore, here: Sequence[SessionFile], budget: int = 100_000) -> str:
    """Given the sessions of a project, the newest first, return the text to go on with; "" if there are none.

    It has as many lines as fit into `budget` characters.
    """
    readable = [one for one in here if not one.fault]
    state = store.load_progress(readable[0].id) if readable else None
    fault = here[0].fault if here else ""
    documents, now = [one.document for one in readable], store.clock.now()
    texts = (
        build_resume_text(documents, now, most, unreadable=fault, state=state) for most in range(LINES, 1, -1)
    )
    return next((text for text in texts if len(text) <= budget), "")


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
