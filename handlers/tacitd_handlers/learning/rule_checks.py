"""What `tacitd doctor` says about the copies of learned lines. Only the store is read: the daemon found the problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tacitd.service.finding import DoctorFinding
from tacitd.state.paths import state_dir
from tacitd.store import open_readonly
from tacitd_handlers.learning.project_rules import HINT, PROBLEM


def find_problems(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """A warning for each project with copies that are not written or not read, and why."""
    store = open_readonly(state_dir(environ))
    found = list[tuple[str]]()
    if store is not None:
        with store:
            found = store.rows(
                "SELECT what FROM degradation WHERE owner = 'learning' AND id LIKE ? ORDER BY id",
                f"{PROBLEM}%",
            )
    for (what,) in found:
        yield DoctorFinding(PROBLEM, "warning", what, HINT)
    if not found:
        yield DoctorFinding(PROBLEM, "ok", "the copies of learned lines can be written")
