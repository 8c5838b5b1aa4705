"""The store is lost while the daemon runs: deleted, replaced by another file, or its pages garbled on the disk (DESIGN "Faults")."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support_daemon import MakeDaemon
from tacitd.state.store_files import STORE, list_aside

pytestmark = pytest.mark.scenario


def delete(store: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{store}{end}").unlink(missing_ok=True)


def replace(store: Path) -> None:
    """Another file comes under the name, as from a backup program."""
    beside = store.with_name("restored")
    beside.write_bytes(b"another program's\n" * 1000)
    os.replace(beside, store)


def garble(store: Path) -> None:
    """Every page but the first, and what waits in the log: a disk with errors."""
    for path in (store, Path(f"{store}-wal")):
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(4096 if path == store else 0)
            file.write(b"\xa5" * (size - file.tell()))


@pytest.mark.parametrize("lose", [delete, replace, garble], ids=["deleted", "replaced", "garbled"])
def test_the_daemon_goes_on_with_a_new_store(make: MakeDaemon, lose: Callable[[Path], None]) -> None:
    """It is put aside with its date; the new one has the person's choices and says what is lost. What is typed later is learned, in an
    old session too, what was written stays, nothing is paid for again, and nothing of an excluded project is read."""
    daemon = make(SESSION__IDLE="2s")
    shut = daemon.new_project("shut")
    daemon.start()
    daemon.type_("s1", "Prefers tabs here")
    daemon.wait_for_lines("Prefers tabs here")
    assert daemon.cli("exclude", str(shut)).returncode == 0
    asked, budget = len(daemon.claude.calls()), daemon.status()["budget"]
    lose(daemon.state / STORE)
    daemon.type_("s2", "Prefers pnpm over npm")
    daemon.wait_until(lambda status: any(one["id"] == "store-lost" for one in status["degraded"]))
    daemon.type_("s3", "Prefers spaces there", shut)
    daemon.type_("s1", "Prefers ruff over flake8")
    daemon.wait_for_lines("Prefers tabs here", "Prefers ruff over flake8")
    assert len(list(list_aside(daemon.state))) >= (lose is not delete)
    assert daemon.put_to_model().count("Prefers tabs here") == 1
    assert "Prefers spaces there" not in daemon.put_to_model()
    assert len(daemon.claude.calls()) - asked <= 4
    now = daemon.status()["budget"]
    caps = ("calls_per_day", "usd_per_day", "usd_per_month", "reached")  # it said "$0.00 of $0.00 spent"
    assert [now[cap] for cap in caps] == [budget[cap] for cap in caps]
    said = daemon.cli("status").stdout
    assert "positions, waiting prompts, history and costs are lost" in said and "`tacitd scan`" in said
    daemon.restart()
    daemon.type_("s5", "Prefers uv over pip")
    daemon.wait_for_lines("Prefers tabs here", "Prefers ruff over flake8", "Prefers uv over pip")
    assert daemon.put_to_model().count("Prefers ruff over flake8") == 1
