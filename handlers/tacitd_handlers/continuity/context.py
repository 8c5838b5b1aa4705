"""The text about the project's last session for the start of a new one, in at most 30 lines (SPEC P-26).

A session waits for it: no pydantic, no model, no second try at a file that is being written.
"""

from __future__ import annotations

import os
import time

from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.continuity import resume_text
from tacitd_handlers.continuity.session_choice import find_unreadable_last, select_sessions
from tacitd_handlers.continuity.store import SessionStore


def build_section(request: ContextRequest) -> str:
    """Return the text for the directory's project; "" if there is no session to resume, other than the one that asks.

    A session that goes on, after a compaction or because it is resumed, needs no hand-off: then it is "" too.
    """
    if request.occasion != "start":
        return ""
    now = time.time()
    store = SessionStore.from_environ(os.environ)
    readable, broken = store.read_sessions(patient=False)
    sessions = select_sessions(readable, request.cwd)
    unreadable = find_unreadable_last(store, sessions, broken, request.cwd)
    sessions = [one for one in sessions if one.id != request.session]
    documents = [one.document for one in sessions]
    state = store.load_progress(sessions[0].id) if sessions else None
    why = unreadable.what if unreadable else ""
    for most in range(resume_text.LINES, 1, -1):
        said = resume_text.build_resume_text(documents, now, most, unreadable=why, state=state)
        if len(said) <= request.budget:
            return said
    return ""
