"""`tacitd history` and `show`, without a daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_changes import store_change
from support_cli import Cli
from tacitd.testing import FakeClock

DAY = 86400.0


@pytest.fixture
def project(cli: Cli) -> Path:
    """A project outside git, with a learned file of the person's."""
    root = cli.home / "app"
    root.mkdir()
    (root / "LEARNED.md").write_text("# Learned\n\n## Coding\n- theirs\n")
    return root


def put(cli: Cli, root: Path, line: str, clock: FakeClock) -> str:
    """Put a line as a synthesis does, and return the id."""
    return store_change(cli.state, clock, root, line, what="synthesis", prompts=1)


def test_the_newest_change_comes_first(cli: Cli, project: Path) -> None:
    """With its lines as a small diff; `-n` limits, and says how many are left out."""
    clock = FakeClock()
    first = put(cli, project, "Use pnpm", clock)
    clock.advance(60.0)
    second = put(cli, project, "Prefers tabs", clock)
    said = cli.run("history", project)
    assert said.code == 0 and said.out.index(second) < said.out.index(first)
    assert "from 1 prompt\n    app/LEARNED.md · Coding\n      + Use pnpm\n" in said.out
    said = cli.run("history", project, "-n", "1")
    assert first not in said.out and said.err == "1 older: `-n 2` shows all of them\n"
    assert [each["id"] for each in cli.run("history", project, "--json").json] == [second, first]
    assert cli.run("history", "--all", "--json").json == cli.run("history", project, "--json").json


def test_a_project_without_changes_says_so(cli: Cli, project: Path) -> None:
    """Exit code 0, an empty list in JSON; an age that is none is a usage error."""
    assert cli.run("history", project).err == f"tacitd changed nothing in {project}\n"
    assert cli.run("history", project, "--json").json == []
    put(cli, project, "Use pnpm", FakeClock(wall=1_000_000_000.0))
    assert (
        cli.run("history", project, "--since", "1d").err
        == f"tacitd changed nothing in {project} in the last 1d\n"
    )
    assert cli.run("history", project, "--since", "soon").code == 2


def test_show_takes_a_part_of_the_id_that_is_enough(cli: Cli, project: Path) -> None:
    """The first letters, or the part after the date. One that is ambiguous or unknown is a usage error."""
    clock = FakeClock()
    ids = [put(cli, project, line, clock) for line in ("Use pnpm", "Prefers tabs")]
    for asked in (ids[0], ids[0][-6:], ids[0][: 3 + len(ids[0]) // 2]):
        said = cli.run("show", asked)
        assert "    session: s1\n" in said.out and f"in {project}" in said.out
    both = cli.run("show", ids[0][:4])
    assert both.code == 2 and all(id in both.err for id in ids)
    assert (cli.run("show", "").code, cli.run("show", "nothing").code) == (2, 1)
    assert cli.run("show", ids[1], "--json").json[0]["id"] == ids[1]


def test_hostile_text_in_the_history_does_not_reach_the_terminal(cli: Cli, project: Path) -> None:
    """Control characters are shown, not sent."""
    put(cli, project, "Use \x1b[31mpnpm", FakeClock())
    assert "\x1b" not in cli.run("history", project).out
    store_change(cli.state, FakeClock(), project, "a", what="\x1b]0;owned\x07")
    said = cli.run("history", project).out
    assert "\x1b" not in said and r"\x1b]0;owned\x07" in said


def test_an_empty_or_a_very_long_id_is_named_briefly(cli: Cli, project: Path) -> None:
    """Exit code 2, for each command that takes an id; what was typed is not repeated at length."""
    put(cli, project, "Use pnpm", FakeClock())
    for command in ("show", "undo", "forget", "accept"):
        said = cli.run(command, "")
        assert said.code == 2 and "is empty" in said.err, said.err
        said = cli.run(command, "x" * 5000)
        assert said.code == 1 and len(said.err) < 400 and "x…" in said.err, said.err
    said = cli.run("why", "y" * 5000, "--cwd", project)
    assert said.code == 1 and len(said.err) < 400 and "y…" in said.err


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ({"what": "forget"}, "you forgot it"),
        ({"what": "accept", "prompts": 1}, "you accepted it"),
        ({"what": "mirrors"}, "the copy that sessions load follows the file"),
        ({"what": "synthesis", "prompts": 2}, "from 2 prompts"),
        ({"what": "toying"}, "toying"),
        ({}, "no words of yours"),
    ],
)
def test_a_cause_is_said_in_plain_words(cli: Cli, project: Path, cause: dict[str, Any], text: str) -> None:
    """In JSON it keeps its name."""
    store_change(cli.state, FakeClock(), project, "a", **cause)
    head = cli.run("history", project).out.splitlines()[1]
    assert head.endswith(f"  {text}"), head
    assert cli.run("history", project, "--json").json[0]["what"] == cause.get("what", "")
