"""RELIABILITY 1 and 2 for the new core, which is not wired yet: `kill -9` at random moments while transcripts grow."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support_beginnings import opening
from support_waiting import PATIENCE

CHILD = Path(__file__).parents[1] / "work_child.py"
KILLS = int(os.environ.get("TACITD_WORK_KILLS", "12"))
"""Kills of one run; 600 over three seeds are the full form."""


class Typist:
    """Writes sessions as the client does: whole lines, torn lines that are finished later, new nested directories."""

    def __init__(self, home: Path, project: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.projects, self.project = home / ".claude" / "projects", project
        self.typed: dict[str, list[str]] = {}
        self.torn: dict[Path, bytes] = {}
        self.number = 0

    def act(self) -> None:
        """Type a prompt into some session, one line in five torn."""
        session = f"s{self.random.randrange(6)}{'-late' if self.random.random() < 0.05 else ''}"
        path = self.projects / f"folder-{session[1]}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.number += 1
        text = f"always use tool {self.number}"
        record = {
            "type": "user",
            "message": {"role": "user", "content": text},
            "uuid": f"u{self.number}",
            "sessionId": session,
            "cwd": str(self.project),
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
            "version": "2.1.328",
            "isSidechain": False,
            "userType": "external",
        }
        line = json.dumps(record).encode() + b"\n"
        before = self.torn.pop(path, b"") if path.exists() else opening(session)
        if self.random.random() < 0.2:
            cut = self.random.randrange(1, len(line))
            self.torn[path], line = line[cut:], line[:cut]
        with path.open("ab") as file:
            file.write(before + line)
        self.typed.setdefault(session, []).append(text)

    def finish(self) -> None:
        """Finish each torn line."""
        for path, rest in self.torn.items():
            with path.open("ab") as file:
                file.write(rest)
        self.torn.clear()


@pytest.mark.scenario
@pytest.mark.undated
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kills_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    """Each typed prompt takes effect exactly once, in the order of its session; each record is folded once; the store is sound."""
    home, state = tmp_path / "home", tmp_path / "state"
    project = home / "work" / "app"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (home / ".claude" / "projects").mkdir(parents=True)
    state.mkdir(mode=0o700)
    typist = Typist(home, project, seed)
    for _ in range(KILLS):
        child = _start(home, state)
        until = time.monotonic() + typist.random.random() * 0.6
        while time.monotonic() < until:
            typist.act()
            _pause(typist.random.random() * 0.03)
        child.kill()
        child.wait()
    typist.finish()
    child = _start(home, state)
    wanted = sum(len(texts) for texts in typist.typed.values())
    end = time.monotonic() + PATIENCE
    while _count(state) < wanted and time.monotonic() < end:
        _pause(0.1)
    _pause(0.5)
    child.kill()
    child.wait()
    db = sqlite3.connect(state / "tacitd.sqlite")
    try:
        found: dict[str, list[str]] = {}
        for text, session in db.execute("SELECT text, session FROM toy_fact ORDER BY number"):
            found.setdefault(session, []).append(text)
        assert found == typist.typed
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM toy_record").fetchone() == (wanted,)
        assert db.execute("SELECT count(*) FROM behind").fetchone() == (0,)
    finally:
        db.close()


def _start(home: Path, state: Path) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, str(CHILD), str(home), str(state)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    child.stdout.close()
    return child


def _pause(seconds: float) -> None:
    """Let the process run. A kill at a random time is the subject of the test."""
    time.sleep(seconds)


def _count(state: Path) -> int:
    db = sqlite3.connect(f"file:{state / 'tacitd.sqlite'}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT count(*) FROM toy_fact").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        db.close()
