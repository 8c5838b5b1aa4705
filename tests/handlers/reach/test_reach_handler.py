"""The person's rules file: written once, followed within a minute, a person's deletions and additions, bad files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_reach import DAY, MINUTE, ReachBox, ToyRules
from tacitd_handlers.reach.user_rules import HEAD


def test_it_is_rewritten_once_a_day_at_most(reach: ReachBox) -> None:
    """The same facts give the same bytes, and learned lines wait for the next day."""
    reach.know(colour="Likes: red")
    reach.wait()
    first = reach.path.stat()
    reach.know(size="Size: big")
    reach.wait(10 * MINUTE)
    assert reach.path.stat().st_mtime_ns == first.st_mtime_ns and reach.bench.status["state"] == "waits"
    assert reach.bench.status_lines == [f"1 line about you in {reach.path}; newer lines follow within a day"]
    reach.bench.settle(DAY)
    reach.wait()
    assert reach.bullets == ["Likes: red", "Size: big"]
    second = reach.path.stat()
    reach.bench.settle(DAY)
    reach.wait()
    assert reach.path.stat().st_mtime_ns == second.st_mtime_ns


def test_a_changed_line_is_withdrawn_and_the_new_one_stays(reach: ReachBox) -> None:
    """The person's wording takes precedence over what was learned."""
    reach.know(a="a", b="b", c="c")
    reach.wait()
    reach.edit("- b\n", "- b, but only at night\n")
    reach.wait(2 * MINUTE)
    assert ToyRules.withdrawn == ["b"] and reach.bullets == ["a", "b, but only at night", "c"]


def test_a_plugin_that_fails_keeps_its_lines(reach: ReachBox) -> None:
    """Its files may be being edited; the reason is reported until it is gone."""
    reach.know(a="a", b="b")
    reach.wait()
    ToyRules.fails = True
    reach._touch()
    reach.wait()
    assert reach.bullets == ["a", "b"] and "the toys are broken" in reach.bench.degraded[0]
    ToyRules.fails = False
    reach._touch()
    reach.wait()
    assert reach.bench.degraded == []


@pytest.mark.parametrize("kind", ["foreign", "link", "fifo", "directory", "binary", "rules file"])
def test_something_else_in_its_place_is_left_alone(reach: ReachBox, kind: str) -> None:
    """Bad input: a file that tacitd did not make, a link, a FIFO, a directory; `status` names it, and it is never read into."""
    elsewhere = reach.claude / "elsewhere.md"
    elsewhere.write_text("- precious\n")
    if kind == "rules file":
        reach.path.parent.write_text("a file")
    else:
        reach.path.parent.mkdir()
    match kind:
        case "foreign":
            reach.path.write_text("# My own rules\n")
        case "link":
            reach.path.symlink_to(elsewhere)
        case "fifo":
            os.mkfifo(reach.path)
        case "directory":
            reach.path.mkdir()
        case "binary":
            reach.path.write_bytes(b"\xff\xfe")
        case _:
            pass
    before = reach.path.read_bytes() if kind in ("foreign", "binary") else b""
    reach.know(a="a")
    reach.wait()
    (what,) = reach.bench.degraded
    assert "tacitd.md" in what or "rules is not a directory" in what
    assert reach.bench.status["state"] == "blocked"
    assert elsewhere.read_text() == "- precious\n"
    assert not before or reach.path.read_bytes() == before
    if kind != "rules file":
        if reach.path.is_dir():
            reach.path.rmdir()
        else:
            reach.path.unlink()
    else:
        reach.path.parent.unlink()
    reach.wait()
    assert reach.bench.degraded == [] and reach.bullets == ["a"]


def test_a_read_only_directory_is_reported(reach: ReachBox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input: nothing else stops, and the file follows when it can be written again."""
    reach.path.parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        reach.know(a="a")
        reach.wait()
        assert "read-only" in reach.bench.degraded[0]
    reach.wait()
    assert reach.bullets == ["a"] and reach.bench.degraded == []


def test_a_git_work_tree_is_not_written(tmp_path: Path) -> None:
    """People keep `~/.claude` under git: what is known of them must not be committed by accident."""
    box = ReachBox(tmp_path)
    with box.bench:
        (box.claude / ".git").mkdir()
        (box.claude / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        box.know(a="a")
        box.wait()
        assert not box.path.exists() and box.bench.status["state"] == "git"
        assert "git work tree" in box.bench.status_lines[0]


def test_a_git_work_tree_is_written_if_it_is_allowed(tmp_path: Path) -> None:
    """`reach.user_rules_in_git`."""
    box = ReachBox(tmp_path, TACITD_REACH__USER_RULES_IN_GIT="true")
    with box.bench:
        (box.claude / ".git").mkdir()
        (box.claude / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        box.know(a="a", b="b")
        box.wait()
        assert box.bullets == ["a", "b"]
        (box.claude / ".git" / "MERGE_HEAD").write_text("")
        box.edit("- a\n", "")
        box.wait()
        assert ToyRules.withdrawn == []
        (box.claude / ".git" / "MERGE_HEAD").unlink()
        box.wait(4 * MINUTE)
        assert ToyRules.withdrawn == ["a"]


def test_without_claude_codes_directory_nothing_is_made(reach: ReachBox) -> None:
    """Claude Code was never used here."""
    reach.claude.rename(reach.claude.with_name("away"))
    reach.know(a="a")
    reach.wait()
    assert not reach.claude.exists()


def test_turned_off_a_persons_lines_stay(tmp_path: Path) -> None:
    """The whole file goes only if its whole text is tacitd's; turned on again, both are there."""
    box = ReachBox(tmp_path)
    with box.bench:
        box.know(a="a", b="b")
        box.wait()
        box.edit("- a\n", "- a\n- mine\n")
    box.bench.environ["TACITD_REACH__USER_RULES"] = "false"
    box.bench._start()
    with box.bench:
        box.wait()
        assert box.bullets == ["mine"] and box.text.startswith(HEAD)


def test_a_change_while_it_is_written_is_not_missed(reach: ReachBox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sources are looked at again if they changed after they were read."""
    reach.know(a="a")
    reach.wait()

    def state_more(path: Path) -> None:
        monkeypatch.undo()
        reach.state(b="b")  # after the stamps were taken

    monkeypatch.setattr("tacitd_handlers.reach.user_rules.check_place", state_more)
    reach.state(c="c")
    reach.wait()
    assert sorted(reach.bullets) == ["a", "b", "c"]


def test_a_purge_takes_a_withdrawn_line_out_at_once(reach: ReachBox) -> None:
    """Before the next run of the job, so that neither the file nor the history keeps its words."""
    reach.know(a="Likes: red", b="Size: big")
    reach.wait()
    reach.drop("a")
    assert [one.path for one in reach.bench.purge("a").files] == [reach.path]
    assert reach.bullets == ["Size: big"] and reach.bench.purge("a").files == ()
