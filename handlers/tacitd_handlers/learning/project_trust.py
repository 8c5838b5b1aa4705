"""Whether sessions get all of a project's LEARNED.md, or only tacitd's lines of it: one bit a project."""

from __future__ import annotations

TYPE_CHECKING = False  # a session's start waits for this module
if TYPE_CHECKING:
    from typing import Literal

    from tacitd.contract import Rows

_CHOSEN = "SELECT value FROM choice WHERE scope = 'project' AND what = 'trust' AND name = ?"


def find_trust(rows: Rows, root: str) -> Literal["yes", "no", ""]:
    """What the person chose with `tacitd trust`; otherwise yes for a file that tacitd made. "": nobody knows who wrote it."""
    chosen = rows(_CHOSEN, root)
    if chosen:
        return "no" if chosen[0][0] == "no" else "yes"
    return "yes" if rows("SELECT 1 FROM project WHERE root = ? AND trusted", root) else ""
