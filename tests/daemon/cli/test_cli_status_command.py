"""`tacitd status` without a running daemon: the saved status."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support_cli import Cli
from tacitd.cli.status_command import format_status, read_last_status

DOCUMENT: dict[str, Any] = {
    "schema": 1,
    "running": True,
    "version": "0.1.0",
    "pid": 7,
    "since": "2026-11-20T04:30:00Z",
    "as_of": "2026-11-20T04:40:00Z",
    "state": "running",
    "paused": [{"scope": "project", "name": "/a"}],
    "watching": {"root": "/h/.claude", "transcripts": 3, "lines": {}, "projects": []},
    "model": {"program": None, "children": 0},
    "budget": {
        "calls_today": 1,
        "calls_per_day": 200,
        "usd_today": 0.01,
        "usd_per_day": 1.0,
        "usd_month": 0.5,
        "usd_per_month": 10.0,
    },
    "handlers": {"learning": {"lag": {"transcripts": 1, "bytes": 9}, "gathering": 1}},
    "parked": [
        {"handler": "learning", "what": "/t", "reason": "absent", "hint": "install it", "not_before": None}
    ],
    "dead_letters": 1,
    "rescued": 2,
    "rescued_by_reason": [{"handler": "learning", "reason": "lost twice", "texts": 2}],
    "degraded": [{"id": "x.y", "what": "wrong", "hint": "mend"}],
    "slices": {"learning": {"says": ["today: 1", "! look here"]}},
}


def test_without_any_state_it_says_so(cli: Cli) -> None:
    """Issue "`status` … (it still prints what the files say)": nothing yet. Exit code 69, and no file is made."""
    said = cli.run("status")
    assert said.code == 69 and said.out == "tacitd has not run here yet\n"
    assert said.err == "no daemon runs; `tacitd run` starts one\n"
    assert cli.run("status", "--json").json == {
        "schema": 1,
        "running": False,
        "pid": None,
        "state": "stopped",
    }
    assert list(cli.home.iterdir()) == []


def test_the_last_snapshot_is_shown_as_such(cli: Cli) -> None:
    """docs/socket.md: `running` false, `pid` null, `state` stopped."""
    cli.state.mkdir(parents=True)
    (cli.state / "status.json").write_text(json.dumps(DOCUMENT))
    said = cli.run("status")
    seen = datetime(2026, 11, 20, 4, 40, tzinfo=UTC).timestamp()
    assert said.code == 69 and said.out.startswith("tacitd 0.1.0: stopped, last seen ")
    assert datetime.fromtimestamp(seen).strftime("%H:%M") in said.out.splitlines()[0]
    assert cli.run("status", "--json").json["pid"] is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"version": "9"}', '{"version": 1, "watching": 5}', "\xff"]
)
def test_a_snapshot_that_is_none_is_no_obstacle(cli: Cli, text: str) -> None:
    """A torn file, or one of another version."""
    cli.state.mkdir(parents=True)
    (cli.state / "status.json").write_text(text, encoding="latin-1")
    said = cli.run("status")
    assert said.code == 69 and said.out == "tacitd has not run here yet\n"
    assert read_last_status(Path("/nowhere"))["running"] is False


def test_what_waits_and_what_is_wrong_stand_with_their_cure() -> None:
    """DESIGN "Control": degradations are state, listed in every status with their hint."""
    text = list(format_status(DOCUMENT))
    assert "learning  today: 1" in text and "! look here" in text
    assert text[1:3] == ["! wrong", "          hint: mend"]
    assert "parked    learning: /t: absent" in text and "          hint: install it" in text
    assert any("not found" in one for one in text) and any(
        "1 dead letter; 2 texts kept" in one for one in text
    )
    assert "          2 of learning: lost twice" in text and any("rescue retry --all" in one for one in text)
    assert any(one.startswith("paused    project /a") for one in text)


def test_a_file_where_the_state_directory_belongs(cli: Cli, tmp_path: Path) -> None:
    """Whether tacitd ran here is unknown then; the file is named, with the fix."""
    file = tmp_path / "file"
    file.write_text("mine")
    cli.set(TACITD_STATE_DIR=str(file))
    said = cli.run("status")
    assert said.code == 69 and "has not run here" not in said.out
    assert f"{file} is a file where a directory belongs: move it away" in said.out + said.err
    assert "`tacitd run` starts one" not in said.err
    assert cli.run("status", "--json").json["running"] is False


def test_watching_needs_a_terminal(cli: Cli) -> None:
    """In a pipe it would print without end."""
    for arguments in (["--watch"], ["--watch", "--json"]):
        said = cli.run("status", *arguments)
        assert said.code == 2 and "needs a terminal" in said.err and "tacitd log -f" in said.err
