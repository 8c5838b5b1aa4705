"""Learned lines and their copies stay in step by themselves: a real daemon, real git, and files that a person edits."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support_daemon import (
    ECHO_FACTS,
    SYNTHESIS,
    Daemon,
    MakeDaemon,
    append,
    bullets,
    line,
    tool_record,
    until,
)
from support_rights import bound

pytestmark = pytest.mark.scenario
LIMIT = 180.0
"""Seconds after which a test gives up. The daemon compares the files once a minute, and twice before it restores one."""
BOTH = {
    "match": SYNTHESIS,
    "each": r"^(?:-|\d+\.) (Prefers \S+)(?: \([-\d]+\))?$",
    "reply": r"FILE: LEARNED.md\nFACT: \g<1>\n\nFILE: src/AGENTS.md\nFACT: \g<1> in src" + "\n",
}
NEEDS_COPIES = "2.1.197"
"""A client that loads no AGENTS.md by itself."""
AMBER, BASALT = "Prefers amber-1", "Prefers basalt-2"


class Copies:
    """A daemon that learned two lines for a project and two for its module, and a linked work tree."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon, self.root = daemon, daemon.project
        self.linked = daemon.home / "work" / "linked"
        (self.root / "src").mkdir()
        (self.root / "src" / "main.py").write_text("x = 1\n")
        daemon.git("add", "-A")
        daemon.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin")
        daemon.git("worktree", "add", "-q", str(self.linked))
        daemon.start()
        self.learn("s1", AMBER, BASALT)
        self.wait(lambda: self.shown(self.root) == self.shown(self.linked) == [AMBER, BASALT])

    def learn(self, session: str, *words: str) -> None:
        """Run a session that ends."""
        used = tool_record(session, self.root / "src" / "main.py", str(self.root))
        append(self.daemon.begin(session), line(used | {"version": NEEDS_COPIES}))
        for text in words:
            self.daemon.type_(session, text, version=NEEDS_COPIES)
        self.daemon.synthesize()

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait, and have the daemon compare the files every two seconds."""
        compared = time.monotonic()

        def compare_or_check() -> bool:
            nonlocal compared
            if time.monotonic() > compared + 2.0:
                self.daemon.sync()
                compared = time.monotonic()
            return holds()

        self.wait_without_help(compare_or_check)

    def wait_without_help(self, holds: Callable[[], bool]) -> None:
        """Wait; the daemon compares the files when its own schedule says so."""
        until(holds, LIMIT, lambda: f"{self.state()}\n{self.daemon.said()}")

    def state(self) -> dict[str, list[str]]:
        """The bullets of all files."""
        trees = {"main": self.root, "linked": self.linked}
        found = {
            f"{name} {one}": self.shown(tree, one) for name, tree in trees.items() for one in ("", "src")
        }
        return found | {"source": self.source(), "module": self.source("src")}

    def copy(self, tree: Path, folder: str = "") -> Path:
        """A copy in a work tree."""
        return tree / ".claude" / "rules" / (f"tacitd/{folder}.md" if folder else "tacitd-learned.md")

    def shown(self, tree: Path, folder: str = "") -> list[str]:
        """The lines of a copy."""
        path = self.copy(tree, folder)
        return bullets(path) if path.exists() else []

    def source(self, folder: str = "") -> list[str]:
        """The lines of LEARNED.md or of the module's AGENTS.md."""
        path = self.root / folder / "AGENTS.md" if folder else self.root / "LEARNED.md"
        return bullets(path) if path.exists() else []

    def agree(self, *lines: str, folder: str = "") -> bool:
        """Whether source and copies have these lines and no others."""
        found = [self.source(folder), self.shown(self.root, folder), self.shown(self.linked, folder)]
        return all(one == list(lines) for one in found)

    def check_git(self) -> None:
        """Git shows nothing in either work tree."""
        for tree in (self.root, self.linked):
            assert self.git(tree, "status", "--porcelain", "-uall") == ""

    def git(self, tree: Path, *arguments: str) -> str:
        """Run git in a work tree and return what it prints."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=tree,
            env=self.daemon.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def save(path: Path, old: str, new: str) -> None:
    """As an editor that writes a new file."""
    text = path.read_text()
    assert old in text
    made = path.with_name(path.name + "~")
    made.write_text(text.replace(old, new, 1))
    made.replace(path)


@pytest.fixture
def copies(make: MakeDaemon) -> Copies:
    return Copies(make([ECHO_FACTS, BOTH]))


def test_edits_of_the_sources_reach_all_copies(copies: Copies) -> None:
    """LEARNED.md and a module's AGENTS.md: a line that is added or deleted, without any command."""
    save(copies.root / "LEARNED.md", f"- {AMBER}\n", f"- {AMBER}\n- mine\n")
    copies.wait_without_help(lambda: copies.agree(AMBER, "mine", BASALT))
    save(copies.root / "LEARNED.md", f"- {AMBER}\n", "")
    save(copies.root / "src" / "AGENTS.md", f"- {AMBER} in src\n", "")
    copies.wait_without_help(
        lambda: copies.agree("mine", BASALT) and copies.agree(f"{BASALT} in src", folder="src")
    )
    copies.check_git()


def test_lines_deleted_in_copies_are_gone_everywhere(copies: Copies) -> None:
    """In the project's copy, in a module's, in a linked work tree's; they are not learned again, also after a restart."""
    save(copies.copy(copies.root), f"- {AMBER}\n", "")
    save(copies.copy(copies.linked, "src"), f"- {BASALT} in src\n", "")
    copies.wait(lambda: copies.agree(BASALT) and copies.agree(f"{AMBER} in src", folder="src"))
    copies.daemon.restart()
    copies.learn("s2", AMBER, BASALT)
    assert copies.agree(BASALT) and copies.agree(f"{AMBER} in src", folder="src"), copies.state()
    copies.check_git()


def test_git_takes_nothing_away(copies: Copies) -> None:
    """`stash`, `clean -fdx` of the copies, and a branch with an older LEARNED.md; at last `worktree remove` works."""
    (copies.root / "src" / "main.py").write_text("x = 2\n")
    copies.daemon.git("stash", "-q", "-u")
    copies.daemon.git("clean", "-fdxq", ".claude")
    assert copies.source() == [AMBER, BASALT] and copies.shown(copies.root) == []
    copies.learn("s2", "Prefers cobalt-3")
    three = [AMBER, BASALT, "Prefers cobalt-3"]
    copies.wait(lambda: copies.agree(*three))
    copies.daemon.git("stash", "pop", "-q")
    copies.daemon.git("checkout", "-q", "--", ".")
    copies.daemon.git("checkout", "-q", "-b", "with")
    copies.daemon.git("add", "-f", "LEARNED.md")
    copies.daemon.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "lines")
    copies.daemon.git("checkout", "-q", "-")
    copies.wait(lambda: copies.shown(copies.root) == copies.shown(copies.linked) == [])
    copies.daemon.git("checkout", "-q", "with")
    copies.wait(lambda: copies.agree(*three))
    copies.check_git()
    copies.daemon.git("worktree", "remove", str(copies.linked))
    assert not copies.linked.exists()


def test_a_line_deleted_in_the_source_is_not_learned_again(copies: Copies) -> None:
    """In LEARNED.md and in a module's AGENTS.md; also while no daemon runs."""
    save(copies.root / "LEARNED.md", f"- {AMBER}\n", "")
    copies.wait(lambda: copies.agree(BASALT))
    copies.daemon.stop()
    save(copies.root / "src" / "AGENTS.md", f"- {AMBER} in src\n", "")
    copies.daemon.start()
    copies.wait(lambda: copies.agree(f"{BASALT} in src", folder="src"))
    copies.learn("s2", AMBER, "Prefers cobalt-3")
    copies.wait(lambda: copies.agree(BASALT, "Prefers cobalt-3"))
    assert copies.agree(f"{BASALT} in src", "Prefers cobalt-3 in src", folder="src"), copies.state()
    copies.check_git()


def test_cleaned_away_is_not_deleted(copies: Copies) -> None:
    """`git reset --hard` and `git clean -fdx` take everything that git does not track. The next session has all learned lines again."""
    files = (copies.root / "LEARNED.md", copies.root / "src" / "AGENTS.md", copies.copy(copies.root))
    before = {path: path.read_bytes() for path in files}
    copies.daemon.git("reset", "-q", "--hard")
    copies.daemon.git("clean", "-fdxq")
    assert not any(path.exists() for path in before)
    copies.daemon.begin("s2")
    copies.wait(lambda: all(path.exists() and path.read_bytes() == was for path, was in before.items()))
    said = copies.daemon.cli("history", str(copies.root)).stdout
    assert "restored after git clean" in said, said
    copies.learn("s3", "Prefers cobalt-3")
    copies.wait(lambda: copies.agree(AMBER, BASALT, "Prefers cobalt-3"))
    copies.check_git()


@pytest.mark.parametrize("running", [True, False])
def test_a_branch_with_another_file_takes_nothing_away(copies: Copies, running: bool) -> None:
    """Git overwrites an ignored LEARNED.md by the one of a branch, and removes it on the way back: no line counts as deleted, and what is
    said again is learned again."""
    learned = copies.root / "LEARNED.md"
    copies.git(copies.linked, "checkout", "-q", "-b", "theirs")
    (copies.linked / "LEARNED.md").write_text("# Learned\n\n- Theirs\n")
    copies.git(copies.linked, "add", "-f", "LEARNED.md")
    copies.git(copies.linked, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "theirs")
    copies.git(copies.linked, "checkout", "-q", "--detach", "HEAD~1")
    if not running:
        copies.daemon.stop()
    copies.daemon.git("checkout", "-q", "theirs")
    assert "Theirs" in learned.read_text()
    if running:
        copies.wait(lambda: AMBER not in copies.shown(copies.root))
    copies.daemon.git("checkout", "-q", "-")
    assert not learned.exists()
    if not running:
        copies.daemon.start()
        copies.daemon.begin("s2")
    copies.wait(lambda: copies.shown(copies.root) == copies.shown(copies.linked) == [])
    copies.learn("s3", AMBER, "Prefers cobalt-3")
    copies.wait(lambda: copies.agree(AMBER, "Prefers cobalt-3"))
    copies.check_git()


def test_cleaned_away_while_no_daemon_runs(copies: Copies) -> None:
    """It is restored without a session, and a line that is deleted then is not."""
    copies.daemon.stop()
    copies.daemon.git("clean", "-fdxq")
    copies.daemon.start()
    copies.wait(
        lambda: (
            copies.agree(AMBER, BASALT) and copies.agree(f"{AMBER} in src", f"{BASALT} in src", folder="src")
        )
    )
    save(copies.root / "LEARNED.md", f"- {AMBER}\n", "")
    copies.wait(lambda: copies.agree(BASALT))
    copies.check_git()


def test_the_copies_leave_with_the_project_and_with_tacitd(copies: Copies) -> None:
    """`exclude` and `uninstall` remove each copy whose text is tacitd's, and name the one with a person's text."""
    daemon, kept = copies.daemon, copies.copy(copies.linked)
    daemon.stop()
    whole = kept.read_text()
    kept.write_text(whole.replace(f"- {BASALT}\n", f"- {BASALT}\n- mine\n"))
    said = daemon.cli("exclude", str(copies.root))
    assert said.returncode == 0 and str(kept) in said.stderr, said.stderr
    assert sorted((*copies.root.rglob(".claude/**/*.md"), *copies.linked.rglob(".claude/**/*.md"))) == [kept]
    assert daemon.cli("exclude", "--undo", str(copies.root)).returncode == 0
    daemon.start()
    copies.wait(lambda: copies.agree(AMBER, BASALT, "mine"))
    copies.wait(lambda: copies.agree(f"{AMBER} in src", f"{BASALT} in src", folder="src"))
    daemon.stop()
    kept.write_text(kept.read_text() + "more of mine\n")
    said = daemon.cli("uninstall", "--purge", "--yes")
    assert said.returncode == 0 and f"kept {kept}" in said.stderr, said.stderr
    assert sorted((*copies.root.rglob(".claude/**/*.md"), *copies.linked.rglob(".claude/**/*.md"))) == [kept]
    assert copies.source() == [AMBER, BASALT, "mine"]
    copies.check_git()


def test_places_that_cannot_be_written_hold_nothing_up(make: MakeDaemon) -> None:
    """Bad input: a read-only `.claude/rules` in a linked work tree, a FIFO in the main one. `status`, `doctor` and `reach` name
    them, and the copies follow when they are mended."""
    daemon = make([ECHO_FACTS, BOTH])
    daemon.before = bound()
    copies = Copies(daemon)
    rules, copy = copies.linked / ".claude" / "rules", copies.copy(copies.root)
    rules.chmod(0o500)
    copy.unlink()
    os.mkfifo(copy)
    copies.learn("s2", "Prefers cobalt-3")
    three = [AMBER, BASALT, "Prefers cobalt-3"]
    assert copies.source() == three
    copies.wait(lambda: len(copies.shown(copies.linked, "src")) == len(copies.shown(copies.root, "src")) == 3)
    said = daemon.cli("status").stdout + daemon.cli("doctor").stdout
    assert f"{copy} is not an ordinary file" in said and f"{rules} is read-only" in said, said
    said = daemon.cli("reach", str(copies.root)).stdout + daemon.cli("reach", str(copies.linked)).stdout
    assert "tacitd-learned.md is not an ordinary file" in said and "1 line of LEARNED.md" in said, said
    rules.chmod(0o700)
    copy.unlink()
    copies.learn("s3", "Prefers delta-4")
    copies.wait(lambda: copies.agree(*three, "Prefers delta-4"))
    copies.check_git()
