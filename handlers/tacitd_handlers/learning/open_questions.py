"""What waits for a person's decision about lines, as numbers for the status. Pure: logs and decisions are arguments.

`line_items` lists the same with their texts, and reads the projects' files for that.
"""

from __future__ import annotations

from typing import Any

from tacitd_handlers.learning.person_decisions import LineDecisions, make_withheld_id
from tacitd_handlers.learning.refusals import RefusalLog
from tacitd_handlers.learning.state import LearningState


def count_open_questions(
    state: LearningState, refusals: RefusalLog, decisions: LineDecisions
) -> dict[str, Any]:
    """Return `withheld` (lines), `unheeded` (lines by root) and `refused` (texts by verdict) that nobody decided about."""
    withheld = [
        line
        for root, lines in state.withheld.items()
        for line, file in lines.items()
        if not decisions.is_dropped(root, line)
        and not decisions.is_reworded(make_withheld_id(root, file, line))
    ]
    unheeded = state.list_unheeded_rules(decisions)
    return {
        "withheld": len(withheld),
        "unheeded": {str(root): list(lines) for root, lines in unheeded.items()},
        "refused": dict(refusals.count_verdicts(decisions)),
    }
