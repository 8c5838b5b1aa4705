"""The tutor's section of a session's start: what the person has begun to learn in this project."""

from __future__ import annotations

import os

from tacitd.clock import SystemClock
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.tutor.tutor_paths import find_tutor_paths

NEWEST = 20
"""Sessions that are read, because a session's start waits."""


def build_section(request: ContextRequest) -> str:
    """Return the section of the directory's project; "" if there is none."""
    paths = find_tutor_paths(os.environ)
    if not paths.sessions.exists():
        return ""
    from tacitd_handlers.tutor.session_policy import is_expired
    from tacitd_handlers.tutor.store import TutorStore

    store = TutorStore(paths, SystemClock())
    places = {str(one) for one in (request.cwd, *request.cwd.parents)}
    text = "## Tutor: what the person learns in this project"
    empty = text
    for found in reversed(store.list_sessions(NEWEST)):
        state = found.state
        if state.plan.project not in places or is_expired(state, store.clock.now() - found.last):
            continue
        line = ""
        if state.needs_grading:
            line = f"\n- waits for its grade: {state.plan.title} (`tacitd tutor grade`)"
        elif state.is_open:
            line = f"\n- open session: {state.plan.title} (`tacitd tutor resume`)"
        if len(text) + len(line) <= request.budget:
            text += line
    return text if text != empty else ""
