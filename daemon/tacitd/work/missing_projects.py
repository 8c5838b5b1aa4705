"""Prompts that were typed in a directory that did not exist here get their project once it does."""

from __future__ import annotations

from tacitd.contract import Tx
from tacitd.events import NoProject, Project
from tacitd.store import Store
from tacitd.work.lookup import ProjectLookup
from tacitd.work.project_rows import store_project


def find_missing_projects(store: Store, lookup: ProjectLookup, now: float) -> None:
    """Look at the directories of waiting prompts without a project again. Raises UnwritableError, StoreLostError."""
    for (cwd,) in store.rows(
        "SELECT DISTINCT p.cwd FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
        "WHERE p.project IS NULL AND p.passed IS NULL AND t.state = 'waiting'"
    ):
        place = lookup.find_project(cwd)
        if place is not None and not (isinstance(place, NoProject) and place.gone):
            with store.write() as tx:
                _settle_place(tx, cwd, place, now)


def _settle_place(tx: Tx, cwd: str, place: Project | NoProject, now: float) -> None:
    if isinstance(place, Project):
        number = store_project(tx, place, now)
        tx.execute("UPDATE prompt SET project = ? WHERE cwd = ? AND project IS NULL", number, cwd)
        return
    where = "cwd = ? AND project IS NULL AND passed IS NULL"
    tx.execute(f"DELETE FROM prompt_task WHERE prompt IN (SELECT number FROM prompt WHERE {where})", cwd)
    passed = "excluded" if place.excluded else "no project"
    tx.execute(f"UPDATE prompt SET passed = ?, text = NULL, context = NULL WHERE {where}", passed, cwd)
