"""What `tacitd doctor` says about the copies of learned lines, which the daemon found; and `tacitd run` about tracked files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tacitd.contract import Tools
from tacitd.events import Project
from tacitd.files.git import find_project_root, is_tracked
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


def format_banner_lines(tools: Tools) -> Iterator[str]:
    """Yield which files of the current directory's project are a team's, because git tracks them."""
    project = tools.find_project(str(Path.cwd()))
    if not isinstance(project, Project) or tools.write_mode(project) != "local":
        return
    root = find_project_root(project.root)
    if named := [name for name in ("LEARNED.md", "AGENTS.md") if is_tracked(root, root / name)]:
        yield (
            f"git tracks {' and '.join(named)} in {root}: learned lines go into .claude/rules there, until `tacitd share`"
        )
