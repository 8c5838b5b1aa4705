"""`tacitd history`, `show` and `undo`, without a daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_cli import Cli
from support_editor_marks import open_in_editor
from tacitd.clock import SystemClock
from tacitd.files.log import Log
from tacitd.files.operations import AppendLine, PutLine
from tacitd.files.transaction import History
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
    history = History(Log(cli.state / "history.jsonl"), clock)
    cause = {"by": "learning", "what": "synthesis", "prompts": ["u1"], "sessions": ["s1"], "facts": [line]}
    operation = PutLine(root / "LEARNED.md", "Coding", line, "Learned")
    return history.run_transaction(root, [operation], cause, line).id


def test_the_newest_change_comes_first(cli: Cli, project: Path) -> None:
    """With its lines as a small diff; `-n` limits, and says how many are left out."""
    clock = FakeClock()
    first = put(cli, project, "Use pnpm", clock)
    clock.advance(60.0)
    second = put(cli, project, "Prefers tabs", clock)
    said = cli.run("history", project)
    assert said.code == 0 and said.out.index(second) < said.out.index(first)
    assert "from 1 prompt\n    LEARNED.md · Coding\n      + Use pnpm\n" in said.out
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
        if asked == ids[0][: 3 + len(ids[0]) // 2] and ids[1].startswith(asked):
            assert said.code == 2 and all(id in said.err for id in ids)
        else:
            assert "    from: Use pnpm\n    session: s1\n" in said.out and f"in {project}" in said.out
    both = cli.run("show", ids[0][:8])
    assert both.code == 2 and all(id in both.err for id in ids)
    assert cli.run("show", "").code == cli.run("show", "nothing").code == 2
    assert cli.run("show", ids[1], "--json").json[0]["id"] == ids[1]


def test_undo_and_undo_of_the_undo(cli: Cli, project: Path) -> None:
    """Without a daemon the engine runs in this process. A dry run writes nothing; a refusal says why."""
    id = put(cli, project, "Use pnpm", FakeClock())
    before = (project / "LEARNED.md").read_text()
    said = cli.run("undo", id, "--dry-run")
    assert said.code == 0 and "      - Use pnpm\n" in said.out and "nothing was written" in said.err
    assert (project / "LEARNED.md").read_text() == before
    (undone,) = cli.run("undo", id, "--json").json
    assert undone["undoes"] == id and "Use pnpm" not in (project / "LEARNED.md").read_text()
    assert f"undone by {undone['id']}" in cli.run("show", id).out
    said = cli.run("undo", undone["id"])
    assert said.code == 0 and "Use pnpm" in (project / "LEARNED.md").read_text()
    (project / "LEARNED.md").write_text("# Learned\n\n## Coding\n- theirs\n")
    again = cli.run("history", project, "--json").json[0]["id"]
    said = cli.run("undo", again)
    assert said.code == 1 and "no longer has “Use pnpm”" in said.err and f"tacitd show {again}" in said.err
    assert (project / "LEARNED.md").read_text() == "# Learned\n\n## Coding\n- theirs\n"


def test_torn_and_foreign_lines_in_the_log_are_skipped(cli: Cli, project: Path) -> None:
    """What a crash cut off, what another program wrote, and records of a newer version; the others are shown and undone."""
    first = put(cli, project, "Use pnpm", FakeClock())
    with (cli.state / "history.jsonl").open("ab") as log:
        log.write(
            b'{"id":"x","state":"intent","at":7}\n[1]\nnot json\n\xff\xfe\n{"state":"future","id":"y"}\n{"id":"z","sta'
        )
    assert [each["id"] for each in cli.run("history", project, "--json").json] == [first]
    said = cli.run("history", project)
    assert said.code == 0 and "+ Use pnpm" in said.out
    assert cli.run("undo", first).code == 0 and "pnpm" not in (project / "LEARNED.md").read_text()


def test_a_file_that_an_editor_holds_is_not_undone(cli: Cli, project: Path) -> None:
    """The refusal names the file and the mark; nothing is written, and it works once the editor is closed."""
    id = put(cli, project, "Use pnpm", FakeClock())
    before = (project / "LEARNED.md").read_bytes()
    mark = open_in_editor(project / "LEARNED.md", SystemClock())
    said = cli.run("undo", id)
    assert said.code != 0 and "LEARNED.md is open in an editor" in said.err
    assert (project / "LEARNED.md").read_bytes() == before
    mark.unlink()
    assert cli.run("undo", id).code == 0 and "pnpm" not in (project / "LEARNED.md").read_text()


def test_a_file_that_is_gone_or_moved_is_not_undone(cli: Cli, project: Path) -> None:
    """The refusal says so, and a file is not made anew for it."""
    id = put(cli, project, "Use pnpm", FakeClock())
    moved = (project / "LEARNED.md").rename(project / "NOTES.md")
    said = cli.run("undo", id)
    assert said.code == 1 and "deleted or moved" in said.err
    assert "Use pnpm" in moved.read_text() and not (project / "LEARNED.md").exists()


def test_a_change_without_lines_names_each_file_once(cli: Cli, project: Path) -> None:
    """Three lines in one file are one file; such a change is not undone, and the refusal names what can be."""
    history = History(Log(cli.state / "history.jsonl"), FakeClock())
    lines = [AppendLine(project / "exclude", text) for text in ("a", "b", "c")]
    id = history.run_transaction(project, lines, {"by": "learning", "what": "kept out of git"}, "k").id
    assert "    1 file: exclude\n" in cli.run("history", project).out
    said = cli.run("undo", id)
    assert said.code == 2 and "there is nothing to undo" in said.err and "`tacitd history`" in said.err


def test_a_dry_run_is_not_called_unfinished(cli: Cli, project: Path) -> None:
    """It has no id, because nothing is written."""
    said = cli.run("undo", put(cli, project, "Use pnpm", FakeClock()), "--dry-run")
    assert said.out.startswith("(not written)  ") and "not finished yet" not in said.out


def test_hostile_text_in_the_log_does_not_reach_the_terminal(cli: Cli, project: Path) -> None:
    """Control characters are shown, not sent."""
    put(cli, project, "Use \x1b[31mpnpm", FakeClock())
    assert "\x1b" not in cli.run("history", project).out
    history = History(Log(cli.state / "history.jsonl"), FakeClock())
    cause = {"by": "toy", "what": "\x1b]0;owned\x07"}
    history.run_transaction(project, [PutLine(project / "LEARNED.md", "Coding", "a", "T")], cause, "k")
    said = cli.run("history", project).out
    assert "\x1b" not in said and r"\x1b]0;owned\x07" in said


def test_an_empty_or_a_very_long_id_is_named_briefly(cli: Cli, project: Path) -> None:
    """Exit code 2, for each command that takes an id; what was typed is not repeated at length."""
    put(cli, project, "Use pnpm", FakeClock())
    for command in ("show", "undo", "forget", "accept"):
        said = cli.run(command, "")
        assert said.code == 2 and "is empty" in said.err, said.err
        said = cli.run(command, "x" * 5000)
        assert said.code == 2 and len(said.err) < 400 and "x…" in said.err, said.err
    said = cli.run("why", "y" * 5000, "--cwd", project)
    assert said.code == 1 and len(said.err) < 400 and "y…" in said.err


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ({"by": "person", "what": "forget"}, "you forgot it"),
        ({"by": "person", "what": "accept", "prompts": ["u1"]}, "you accepted it"),
        ({"by": "learning", "what": "mirrors"}, "the copy that sessions load follows the file"),
        ({"by": "learning", "what": "synthesis", "prompts": ["u1", "u2"]}, "from 2 prompts"),
        ({"by": "toy", "what": "toying"}, "toying"),
        ({}, "no words of yours"),
    ],
)
def test_a_cause_is_said_in_plain_words(cli: Cli, project: Path, cause: dict[str, Any], text: str) -> None:
    """In JSON it keeps its name."""
    history = History(Log(cli.state / "history.jsonl"), FakeClock())
    history.run_transaction(project, [PutLine(project / "LEARNED.md", "Coding", "a", "T")], cause, "k")
    head = cli.run("history", project).out.splitlines()[1]
    assert head.endswith(f"  {text}"), head
    assert cli.run("history", project, "--json").json[0]["what"] == cause.get("what", "")
