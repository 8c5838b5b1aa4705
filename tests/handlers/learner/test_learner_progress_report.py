"""The learner's section of the report: results by month and what is due, from the ledger that `record` wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A home directory of its own."""
    return Cli(tmp_path, monkeypatch, capsys)


def test_recorded_problems_are_in_the_report(cli: Cli) -> None:
    """Nothing without practice; then months, the share without help, and due reviews."""
    assert "What you practised" not in cli.run("report", "--all", "--json").out
    for problem, verdict in (("two-sum", "pass"), ("3sum", "needs_work")):
        recorded = cli.run(
            "learner", "record", "--problem", problem, "--pattern", "hash_map", "--mode", "recall",
            "--verdict", verdict, "--timestamp", "2026-01-05T10:00",
        )  # fmt: skip
        assert recorded.code == 0, recorded.err
    document = cli.run("report", "--all", "--json").json
    (section,) = [one for one in document["sections"] if one["heading"] == "What you practised"]
    by_title = {part["title"]: part for part in section["parts"]}
    assert by_title["Problems by month"]["points"] == [{"label": "2026-01", "value": 2.0}]
    assert by_title["Solved without help, per cent"]["points"] == [{"label": "2026-01", "value": 50}]
    assert section["note"].startswith("2 results of 2 problems")
    assert document["problems"] == []
