"""Prompts that were typed in a directory that did not exist here get their project once it does."""

from __future__ import annotations

from tacitd.contract import Tx
from tacitd.events import NoProject, Project
from tacitd.store import Store
from tacitd.work.lookup import ProjectLookup
from tacitd.work.project_rows import Choices, store_project


def find_missing_projects(store: Store, lookup: ProjectLookup, choices: Choices, now: float) -> None:
    """Look at the directories of waiting prompts without a project again. Raises UnwritableError, StoreLostError."""
    for (cwd,) in store.rows(
        "SELECT DISTINCT p.cwd FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
        "WHERE p.project IS NULL AND p.passed IS NULL AND t.state = 'waiting'"
    ):
        place = lookup.find_project(cwd)
        if place is not None and not (isinstance(place, NoProject) and place.gone):
            with store.write() as tx:
                _settle_place(tx, cwd, place, choices, now)


def _settle_place(tx: Tx, cwd: str, place: Project | NoProject, choices: Choices, now: float) -> None:
    usual = choices.passes(place, "")
    for number, session, typed in tx.rows(
        "SELECT number, session, typed FROM prompt WHERE cwd = ? AND project IS NULL AND passed IS NULL", cwd
    ):
        passed = "paused" if choices.is_paused_at(place, session, typed) else usual
        if isinstance(place, Project):
            tx.execute(
                "UPDATE prompt SET project = ? WHERE number = ?", store_project(tx, place, now), number
            )
        if passed:
            tx.execute("DELETE FROM prompt_task WHERE prompt = ?", number)
            tx.execute(
                "UPDATE prompt SET passed = ?, text = NULL, context = NULL WHERE number = ?", passed, number
            )
