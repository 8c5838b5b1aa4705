"""The projects that the daemon knows."""

from __future__ import annotations

from pathlib import Path

from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.project_rows import list_known_projects


def test_the_projects_of_the_store_are_known(tmp_path: Path) -> None:
    """Sorted; none without a store, and none of a file that is no store."""
    assert list_known_projects(tmp_path) == []
    store = Store.open(tmp_path, FakeClock())
    with store.write() as tx:
        for root in ("/w/lib", "/w/app"):
            tx.execute("INSERT INTO project(root, first_seen) VALUES(?, 1)", root)
    store.close()
    assert list_known_projects(tmp_path) == ["/w/app", "/w/lib"]
    (tmp_path / "tacitd.sqlite").write_bytes(b"x" * 9000)
    assert list_known_projects(tmp_path) == []
