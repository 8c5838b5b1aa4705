"""RELIABILITY 20: after `uninstall --purge` the only files of tacitd are those that docs/files.md lists as kept."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from support_daemon import PROGRAM, MakeDaemon
from tacitd.service.uninstall import STATE_FILES

pytestmark = pytest.mark.scenario
FILES = Path(__file__).parents[2] / "docs" / "files.md"
LESSON = [PROGRAM[0], "-c", "from tacitd_handlers.lessons.cli import main; main()"]


def kept_by_the_page() -> list[str]:
    """The patterns in the page's table of kept files."""
    table = FILES.read_text().partition("| kept | why |\n|---|---|\n")[2].partition("\n\n")[0]
    return [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below, without links and without what the daemon prints, which the harness keeps beside the home."""
    found = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in found
        if not (path.parent == root and path.name.startswith("output"))
    }


PROMOTED = ("home/.claude/tools/x.md", "home/.claude/skills/y/SKILL.md")


def test_only_what_the_page_lists_is_left(make: MakeDaemon) -> None:
    """After a day with every plugin and `uninstall --purge`, kept files are unchanged, named, and in the list."""
    daemon = make()
    mine = {
        daemon.home / ".claude" / "CLAUDE.md": "mine",
        daemon.home / ".claude" / "user-memory" / "notes.md": "mine",
        daemon.home / ".claude" / "lessons" / "README.md": "mine",
        daemon.home / ".claude" / "skills" / "s" / "SKILL.md": "mine",
        daemon.project / "README.md": "mine",
        daemon.project / "tmp" / "scratch.txt": "mine",
        daemon.project / "CLAUDE.md": "mine",
        daemon.state / "notes.txt": "mine",
        daemon.home / ".config" / "tacitd" / "config.toml": "[budget]\nusd_per_day = 0.5\n",
    }
    for path, text in mine.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    daemon.state.chmod(0o700)
    (daemon.state / "notes.txt").chmod(0o600)
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    assert daemon.synthesize() == []
    daemon.type_("s2", "Prefers amber-2")
    daemon.sync()
    for arguments in (
        ["profile", "set", "tools.editor", "vi"],
        ["learner", "context"],
        ["exclude", "--undo", "."],
        ["report"],
    ):
        done = daemon.cli(*arguments, cwd=daemon.project)
        assert done.returncode == 0, done.stderr
    for rule in ("WHEN a -> DO b -> BECAUSE c", "WHEN d -> DO e -> BECAUSE f"):
        subprocess.run([*LESSON, "add", rule], env=daemon.environ, check=True)
    for promote in (["1", "--to=tool/x"], ["2", "--to=skill/y"]):
        subprocess.run([*LESSON, "promote", *promote, "--create"], env=daemon.environ, check=True)
    subprocess.run([*LESSON, "load"], env=daemon.environ, check=True, stdout=subprocess.DEVNULL)
    daemon.cli("sync")
    # Written at intervals.
    (daemon.home / ".claude" / "user-memory" / ".processed_turns").write_text("s1:3\n")
    before = snapshot(daemon.root)
    said = daemon.cli("uninstall", "--purge", "--yes")
    assert said.returncode == 0, said.stderr
    assert daemon.process is not None and daemon.process.wait(60) == 0
    daemon.process = None
    after = snapshot(daemon.root)
    allowed = [f"*{name}" if name.startswith(".") else f"*/{name}" for name in kept_by_the_page()]
    theirs = {str(path.relative_to(daemon.root)) for path in mine}
    not_tacitds = ("bin/*", "home/.claude/projects/*", "*/.git/*", *PROMOTED)
    for name, data in after.items():
        assert before[name] == data, f"{name} was changed"
        allowed_here = any(fnmatch(name, pattern) for pattern in (*allowed, *not_tacitds))
        assert name in theirs or allowed_here, f"{name} is left, and docs/files.md does not list it"
    gone = before.keys() - after.keys()
    assert {Path(name).name for name in gone} >= {
        "lock",
        "tacitd.sqlite",
        "known-facts-summary.md",
        "report.html",
    }
    assert {Path(name).name for name in gone} >= {".processed_turns", "index.json"}
    assert not theirs - after.keys()
    for name in (
        *PROMOTED,
        "LEARNED.md",
        "learning-raw.jsonl",
        "lessons.jsonl",
        "profile.json",
        "config.toml",
        "notes.txt",
    ):
        assert re.search(rf"kept .*/{re.escape(name)}", said.stderr), f"{name} is not named:\n{said.stderr}"
    assert [path.name for path in daemon.state.iterdir()] == ["notes.txt"]
    assert daemon.cli("uninstall", "--purge", "--yes").returncode == 0, "a second time is fine"
    assert snapshot(daemon.root).keys() == after.keys()


def test_the_page_lists_what_is_removed_from_the_state_directory() -> None:
    """The code and the page name the same files."""
    part = FILES.read_text().partition("## In the state directory")[2].partition("\n### ")[0]
    listed = {
        name
        for row in re.findall(r"^\| (.+?) \|", part, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    wanted = {one.replace("[0-9]*", "*").replace("[0-9]", "*") for one in STATE_FILES} | {"model/work/"}
    assert listed == wanted
