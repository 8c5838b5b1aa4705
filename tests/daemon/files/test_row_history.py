"""The history of changes in the store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from support_changes import store_change
from tacitd.files.row_history import forget_unlisted, list_row_changes
from tacitd.store import Store
from tacitd.testing import DAY, FakeClock


def test_a_change_without_a_line_goes_after_a_day(tmp_path: Path) -> None:
    """Copies and temporary files are changed often, and are no part of the history. An undo stays: it says what was undone."""
    state, clock = tmp_path / "state", FakeClock()
    listed = store_change(state, clock, tmp_path, "Use pnpm")
    copied, undone = store_change(state, clock, tmp_path), store_change(state, clock, tmp_path)
    with closing(Store.open(state, clock)) as store:
        with store.write() as tx:
            tx.execute("UPDATE change SET undoes = 1 WHERE id = ?", undone)
            forget_unlisted(tx, clock.now() + DAY)
        ids = "SELECT id FROM change ORDER BY number"
        assert store.rows(ids) == [(listed,), (copied,), (undone,)]
        with store.write() as tx:
            forget_unlisted(tx, clock.now() + DAY + 1)
        assert store.rows(ids) == [(listed,), (undone,)]
        (change,) = list_row_changes(store.rows)
        assert (change["id"], change["undone_by"]) == (listed, undone)
