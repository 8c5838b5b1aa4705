"""What `tacitd doctor` says about the copies of learned lines, whose problems the daemon found, and of lines that a package publishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tacitd.service.finding import DoctorFinding
from tacitd.state.paths import state_dir
from tacitd.store import open_readonly
from tacitd_handlers.learning.hiding import is_published
from tacitd_handlers.learning.project_rules import HINT, PROBLEM


def find_problems(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """A warning for each project with copies that are not written or not read, and why."""
    store = open_readonly(state_dir(environ))
    found, learned = list[tuple[str]](), list[tuple[str, str]]()
    if store is not None:
        with store:
            found = store.rows(
                "SELECT what FROM degradation WHERE owner = 'learning' AND id LIKE ? ORDER BY id",
                f"{PROBLEM}%",
            )
            learned = store.rows(
                "SELECT DISTINCT p.root, l.path FROM learning_line l JOIN project p ON p.number = l.project "
                "WHERE l.state = 'present' ORDER BY l.path"
            )
    for root, path in learned:
        if Path(path).is_relative_to(root) and is_published(Path(path), Path(root)):
            what = f"`npm publish` in {root} would include {path}"
            yield DoctorFinding(
                "learning.published",
                "warning",
                what,
                "list it in .npmignore, or list `files` in package.json",
            )
    for (what,) in found:
        yield DoctorFinding(PROBLEM, "warning", what, HINT)
    if not found:
        yield DoctorFinding(PROBLEM, "ok", "the copies of learned lines can be written")
