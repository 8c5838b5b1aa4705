"""Commands that a notice, an error or `check` names work as they are printed, whatever a label contains (SPEC L-11, L-27)."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support_cli import Cli
from support_learner_skill import TeachingSkill

LABELS = ("Loop end", "-1 isn't an index", 'Says "done" early; $HOME')
TAGS = {"edge:off_by_one": LABELS[0], "edge:bad_slice": LABELS[1], "edge:no_base": LABELS[2]}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.fixture
def skill(cli: Cli) -> TeachingSkill:
    cli.config_dir.mkdir()
    return TeachingSkill(
        cli.config_dir / "leetcode-teacher-profile.md", cli.config_dir / "leetcode-teacher-ledger.md"
    )


def commands(text: str) -> list[list[str]]:
    """The arguments of the commands in a text, as a shell reads them."""
    return [shlex.split(found)[1:] for found in re.findall(r"`(tacitd [^`]+)`", text)]


def test_L_11_an_alias_moves(cli: Cli, skill: TeachingSkill) -> None:
    """SPEC L-11: the last alias of a gap holds, and the entry that had it before is the person's own again, with its text."""
    skill.write_session("2026-02-19T14:30", gaps=TAGS)
    for label in (LABELS[1], LABELS[0]):
        assert cli.run("learner", "alias", "--", label, "edge:bad_slice").code == 0
    review = cli.run("learner", "review", "--json").json
    assert {one["label"]: one["tag"] for one in review["weaknesses"]} == {
        LABELS[0]: "edge:bad_slice", LABELS[1]: None, LABELS[2]: None,
    }  # fmt: skip


def test_L_27_the_command_of_a_full_list(cli: Cli, skill: TeachingSkill) -> None:
    """SPEC L-27: the command of the [CAP] notice archives the first suggested entry, and the one that waits enters."""
    skill.write_session("2026-02-01T14:30", gaps={"edge:zero": LABELS[1]})
    for number in range(1, 20):
        gaps = {f"edge:{number}": f"edge:{number}"}
        skill.write_session(f"2026-02-{number + 1:02d}T14:30", gaps=gaps, pattern=f"x{number}")
    cli.run("learner", "alias", "--", LABELS[1], "edge:zero")
    report = ("--problem", "last", "--mode", "recall", "--verdict", "pass", "--gaps", "edge:last")
    assert cli.run("learner", "record", *report, "--timestamp", "2026-02-25T14:30").code == 0
    (notice,) = [line for line in cli.run("learner", "context").out.splitlines() if line.startswith("[CAP]")]
    (archive,) = commands(notice)
    assert archive[-1] == LABELS[1] and cli.run(*archive).code == 0
    assert "**edge:last**" in skill.profile.read_text()


def test_L_30_the_commands_that_restore(cli: Cli, skill: TeachingSkill) -> None:
    """SPEC L-30: what `forget` says restores the entry."""
    skill.write_session("2026-02-19T14:30", gaps={"edge:off_by_one": "edge:off_by_one"})
    for _ in range(2):
        said = cli.run("learner", "forget", "edge:off_by_one").err
        assert "**edge:off_by_one**" not in skill.profile.read_text()
        assert cli.run(*commands(said)[0]).code == 0 and "**edge:off_by_one**" in skill.profile.read_text()


def test_L_50_the_command_for_what_was_left_out(cli: Cli, skill: TeachingSkill) -> None:
    """SPEC L-50a: the command of the [LEFT OUT] line prints the whole profile, also if the path has spaces."""
    (cli.home / "my notes").mkdir()
    skill.profile = cli.home / "my notes" / "it's mine.md"
    cli.set(TACITD_LEARNER__PROFILE=str(skill.profile))
    for number in range(9):
        skill.write_session(
            f"2026-02-{number + 1:02d}T14:30", describe={}, gaps={f"edge:{number}": f"edge:{number}"}
        )
    text = cli.run("learner", "context", "--budget", "2000").out
    (left_out,) = [line for line in text.splitlines() if line.startswith("[LEFT OUT]")]
    command = re.findall(r"`(cat .+)`", left_out)[0]
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        check=True,
        env={"HOME": str(cli.home), "PATH": "/bin:/usr/bin"},
    )
    assert done.stdout == skill.profile.read_bytes()
