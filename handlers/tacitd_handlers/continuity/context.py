"""The text about the project's last session for the start of a new one, in at most 30 lines (SPEC P-26).

A session waits for it: no pydantic, no model, no second try at a file that is being written.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from tacitd_handlers.continuity import resume_text
from tacitd_handlers.continuity.session_choice import select_sessions
from tacitd_handlers.continuity.store import SessionStore


def build_section(cwd: Path, budget: int) -> str:
    """Given a working directory, return the text, at most `budget` characters; "" if there is no session to resume."""
    now = time.time()
    sessions = select_sessions(SessionStore.from_environ(os.environ).list_sessions(patient=False), cwd)
    documents = [one.document for one in sessions]
    for most in range(resume_text.LINES, 1, -1):
        said = resume_text.build_resume_text(documents, now, most)
        if len(said) <= budget:
            return said
    return ""
