"""The tutor's section of a session's start: the project's open session, what to learn next. Imports little."""

from __future__ import annotations

import os
import time

from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.tutor.overview import list_retests
from tacitd_handlers.tutor.tutor_paths import find_tutor_paths

MANY = 5
"""Nodes that are listed."""


def build_section(request: ContextRequest) -> str:
    """Return the section of the directory's project; "" if there is none."""
    import json

    try:
        overview = json.loads(find_tutor_paths(os.environ).overview.read_bytes())
    except (OSError, ValueError):
        return ""
    if not isinstance(overview, dict):
        return ""
    places = {str(one) for one in (request.cwd, *request.cwd.parents)}
    mine = {
        key: [row for row in overview.get(key, ()) if isinstance(row, dict) and row.get("project") in places]
        for key in ("open", "ungraded", "nodes")
    }
    lines = [f"- open session: {row['title']} (`tacitd tutor resume`)" for row in mine["open"]]
    lines += [f"- waits for grading: {row['title']}" for row in mine["ungraded"]]
    retests = {row["node"] for row in list_retests({"nodes": mine["nodes"]}, time.time())}
    for row in mine["nodes"][:MANY]:
        state = "mastered" if row["mastered"] else f"at {row['mean']:.2f} of 0.70, weakest: {row['weakest']}"
        lines.append(f"- {row['title']}: {state}{', a retest is due' if row['node'] in retests else ''}")
    if not lines:
        return ""
    text = "## Tutor: what the person learns in this project"
    for line in lines:
        if len(text) + len(line) + 1 > request.budget:
            break
        text += f"\n{line}"
    return text if len(text) <= request.budget else ""
