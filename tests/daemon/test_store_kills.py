"""The store of a process that is killed with SIGKILL while it writes."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
from pathlib import Path

import pytest

from support_store import start_writer
from tacitd.state import store_files
from tacitd.store import Store, open_readonly
from tacitd.testing import FakeClock

pytestmark = [pytest.mark.scenario, pytest.mark.undated]
KILLS = int(os.environ.get("TACITD_STORE_KILLS", "40"))
SEED = int(os.environ.get("TACITD_STORE_SEED", "3"))


def _kill_after(writer: subprocess.Popen[str], lines: int) -> int:
    """Kill the writer after so many commits, and return the last number that it reported as durable."""
    assert writer.stdout is not None
    last = 0
    for _ in range(lines):
        last = int(writer.stdout.readline())
    writer.kill()
    rest = writer.stdout.read().split("\n")  # its last line may be torn
    writer.wait()
    writer.stdout.close()
    return max([last, *(int(each) for each in rest[:-1] if each)])


@pytest.mark.parametrize("network", [False, True], ids=["wal", "truncate"])
def test_kills_lose_nothing_that_was_committed(
    network: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY 1: what a commit reported is there after SIGKILL, whole transactions only; a command reads at once."""
    state, chance, mounts = tmp_path / "state", random.Random(SEED), tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / / rw - {'nfs4' if network else 'ext4'} disk rw\n")
    monkeypatch.setattr("tacitd.files.mounts.MOUNTS", mounts)
    for _ in range(KILLS if not network else KILLS // 2):
        durable = _kill_after(start_writer(state, MOUNTS=str(mounts)), chance.randrange(1, 60))
        assert (state / f"{store_files.STORE}-wal").exists() is not network
        reader = open_readonly(state)
        assert reader is not None
        with reader:
            ((rows, number),) = reader.rows(
                "SELECT count(*), (SELECT value FROM setting WHERE key='number') FROM shown"
            )
        assert rows == int(number) >= durable
    store = Store.open(state, FakeClock())
    assert store.rows("SELECT * FROM degradation") == []
    store.close()
    with sqlite3.connect(state / store_files.STORE) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
