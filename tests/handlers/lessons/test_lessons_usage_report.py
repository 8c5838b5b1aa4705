"""The lessons' section of the report: loads and repeats, and what is unknown as unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A home directory of its own."""
    return Cli(tmp_path, monkeypatch, capsys)


def test_loads_and_what_is_unknown(cli: Cli) -> None:
    """A lesson with its loads; without an examined session its repeats are unknown. A wrong one is not shown."""
    words = ("--when", "a command hangs", "--do", "run it in tmux", "--because", "the session blocks")
    added = cli.run("lesson", "add", *words)
    assert added.code == 0, added.err
    assert cli.run("lesson", "load").code == 0
    document = cli.run("report", "--all", "--json").json
    (section,) = [one for one in document["sections"] if one["heading"] == "Lessons"]
    (row,) = section["parts"][0]["rows"]
    assert "a command hangs" in row[0] and row[1] == "global"
    assert row[3:] == [1, None, 0]
    assert document["problems"] == []
    assert cli.run("lesson", "wrong", "001", "--reason", "gone").code == 0
    document = cli.run("report", "--all", "--json").json
    (section,) = [one for one in document["sections"] if one["heading"] == "Lessons"]
    assert section["parts"][0]["rows"] == []
