"""The tutor's text for a session's start: what the person has begun to learn in this project."""

from __future__ import annotations

import os

from tacitd.session_context.context_request import ContextRequest
from tacitd.state.paths import data_dir

NEWEST = 20
"""Sessions that are read, because a session's start waits."""


def make_text(request: ContextRequest) -> str:
    """The open sessions of the directory's project; "" if there are none. The hook `session_text`. Raises OSError."""
    folder = data_dir(os.environ) / "tutor"
    if not folder.exists():
        return ""
    from tacitd_handlers.tutor.session_log import TutorStore
    from tacitd_handlers.tutor.session_policy import is_expired

    store = TutorStore(folder)
    places = {str(one) for one in (request.cwd, *request.cwd.parents)}
    head = text = "## Tutor: what the person learns in this project"
    for found in reversed(store.list_sessions(NEWEST)):
        plan = found.state.plan
        is_waiting = found.outcome in ("open", "ungraded") and not is_expired(
            found.state, store.clock.now() - found.last
        )
        if plan.project not in places or not is_waiting:
            continue
        line = f"\n- open session: {plan.title} (`tacitd tutor resume`)"
        if found.outcome == "ungraded":
            line = f"\n- waits for its grade: {plan.title} (`tacitd tutor grade`)"
        if len(text) + len(line) <= request.budget:
            text += line
    return text if text != head else ""
