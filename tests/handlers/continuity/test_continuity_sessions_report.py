"""Continuity's section of the report: sessions by week and their open tasks."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.clock import utc_millis
from tacitd_handlers.continuity.store import SessionStore


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A home directory of its own."""
    return Cli(tmp_path, monkeypatch, capsys)


def test_open_tasks_are_in_the_report(cli: Cli) -> None:
    """Of the project that is asked for; finished tasks are not listed, and a broken file is counted."""
    store = SessionStore.from_environ({"HOME": str(cli.home)})
    store.folder.mkdir(parents=True)
    stamp = utc_millis(time.time() - 60.0)
    for name in ("one", "two"):
        (cli.home / name / ".git").mkdir(parents=True)
        tasks = [
            {"id": "a", "title": f"Build {name}", "status": "blocked", "blockedBy": "<b>the DBA</b>"},
            {"id": "b", "title": "Finished", "status": "completed"},
        ]
        document = {
            "sessionId": name,
            "projectPath": str(cli.home / name),
            "startedAt": stamp,
            "lastActiveAt": stamp,
            "tasks": tasks,
        }
        store.session_path(name).write_text(json.dumps(document))
    store.session_path("broken").write_text("{")
    for arguments, titles in ((["--all"], {"Build one", "Build two"}), ([cli.home / "one"], {"Build one"})):
        document = cli.run("report", *arguments, "--json").json
        (section,) = [one for one in document["sections"] if one["heading"] == "Sessions and open tasks"]
        series, table = section["parts"]
        assert {row[0] for row in table["rows"]} == titles
        assert {row[3] for row in table["rows"]} == {"<b>the DBA</b>"}
        assert sum(point["value"] for point in series["points"]) == len(titles)
        assert "1 session file cannot be read" in section["note"]
    assert "<b>" not in cli.run("report", "--all", "-o", "-").out
