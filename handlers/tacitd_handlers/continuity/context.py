"""The text about the project's last session for the start of a new one, in at most 30 lines (SPEC P-26).

A session waits for it: no pydantic, no model, no second try at a file that is being written.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from tacitd_handlers.continuity import resuming
from tacitd_handlers.continuity.choose import select_sessions
from tacitd_handlers.continuity.store import SessionStore


def build_section(cwd: Path, budget: int) -> str:
    """Given a working directory, return the text, at most `budget` characters; "" if there is no session to resume."""
    now = time.time()
    sessions = select_sessions(SessionStore.from_environ(os.environ).list_sessions(patient=False), cwd)
    document = next((one.document for one in sessions if resuming.build_resume_text(one.document, now)), None)
    if document is None:
        return ""
    for most in range(resuming.LINES, 1, -1):
        said = resuming.build_resume_text(document, now, most)
        if len(said) <= budget:
            return said
    return ""
