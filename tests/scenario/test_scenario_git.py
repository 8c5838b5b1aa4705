"""What git shows of tacitd's files, and a person's decisions about it: `share`, `exclude`, removed lines."""

from __future__ import annotations

import pytest

from support_daemon import ECHO_FACTS, SYNTHESIS, Daemon, MakeDaemon, append, line, tool_record, until

pytestmark = pytest.mark.scenario
BOTH = {
    "match": SYNTHESIS,
    "each": r"^(?:-|\d+\.) (Prefers \S+)(?: \([-\d]+\))?$",
    "reply": r"FILE: LEARNED.md\nFACT: \g<1>\n\nFILE: src/AGENTS.md\nFACT: \g<1> in src" + "\n",
}
NEEDS_COPIES = "2.1.197"
"""A client that loads no AGENTS.md by itself, so that a module's lines need a copy."""


def learn(daemon: Daemon, words: str) -> None:
    """Run a session in `src` to its end."""
    folder = daemon.project / "src"
    folder.mkdir(exist_ok=True)
    used = tool_record("s1", folder / "main.py", str(daemon.project))
    append(daemon.begin("s1"), line(used | {"version": NEEDS_COPIES}))
    daemon.type_("s1", words, version=NEEDS_COPIES)
    daemon.synthesize()


def test_nothing_is_published_until_it_is_shared(make: MakeDaemon) -> None:
    """DESIGN "Where it writes": excludes that are local to the clone, and `tacitd share`."""
    daemon = make([ECHO_FACTS, BOTH])
    daemon.start()
    learn(daemon, "Prefers amber-1")
    assert daemon.learned == ["Prefers amber-1"]
    assert (daemon.project / "src" / "AGENTS.md").exists()
    rules = daemon.project / ".claude" / "rules"
    assert "\n- Prefers amber-1\n" in (rules / "tacitd-learned.md").read_text()
    assert "\n- Prefers amber-1 in src\n" in (rules / "tacitd" / "src.md").read_text()
    assert daemon.git("status", "--porcelain") == ""
    assert daemon.cli("share", str(daemon.project)).returncode == 0
    seen = daemon.git("status", "--porcelain", "-uall").split()
    assert "LEARNED.md" in seen
    assert "src/AGENTS.md" in seen
    assert not [name for name in seen if name.startswith(("tmp/", ".claude"))]
    learn(daemon, "Prefers basalt-2")
    assert "LEARNED.md" in daemon.git("status", "--porcelain")
    assert daemon.learned == ["Prefers amber-1", "Prefers basalt-2"]


def test_an_excluded_project_is_left_alone_at_once(make: MakeDaemon) -> None:
    """`tacitd exclude`: no writing and no model calls there, also while a daemon runs; `--undo` ends it."""
    daemon = make()
    daemon.start()
    assert daemon.cli("exclude", str(daemon.project)).returncode == 0
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    assert daemon.claude.calls() == []
    assert sorted(path.name for path in daemon.project.iterdir()) == [".git"]
    assert "excluded" in daemon.cli("status").stdout
    assert daemon.cli("exclude", "--undo", str(daemon.project)).returncode == 0
    daemon.type_("s1", "Prefers basalt-2")
    daemon.synthesize()
    assert daemon.learned == ["Prefers basalt-2"]


def test_a_person_s_text_and_deletions_stay(make: MakeDaemon) -> None:
    """SPEC S-28: a person's text is kept byte for byte; a line that they removed is counted and not written again."""
    daemon = make()
    mine = "# My notes\r\n\r\nSome *prose*.\r\n\r\n## Testing\r\n- never sleep in tests\r\n"
    (daemon.project / "LEARNED.md").write_bytes(mine.encode())
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    text = (daemon.project / "LEARNED.md").read_bytes().decode()
    assert [one for one in text.split("\r\n") if one in mine.split("\r\n") and one] == [
        one for one in mine.split("\r\n") if one
    ]
    assert "\r\n- Prefers amber-1\r\n" in text
    assert "\n" not in text.replace("\r\n", "")
    (daemon.project / "LEARNED.md").write_bytes(text.replace("- Prefers amber-1\r\n", "").encode())
    daemon.sync()
    daemon.type_("s2", "Prefers amber-1")
    daemon.type_("s2", "Prefers basalt-2")
    daemon.synthesize()
    until(lambda: daemon.learned == ["never sleep in tests", "Prefers basalt-2"], 60.0, daemon.said)
    assert "learned again (`tacitd review`): 1" in daemon.cli("status").stdout


def test_a_linked_worktree_learns_for_the_main_one(make: MakeDaemon) -> None:
    """DESIGN "Where it writes": the project of a linked worktree is the main worktree."""
    daemon = make()
    daemon.git(
        "-c",
        "user.name=dev",
        "-c",
        "user.email=dev@localhost",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "begin",
    )
    linked = daemon.home / "work" / "linked"
    daemon.git("worktree", "add", "-q", str(linked))
    daemon.start()
    daemon.type_("s1", "Prefers amber-1", linked)
    daemon.synthesize()
    assert daemon.learned == ["Prefers amber-1"]
    assert sorted(path.name for path in linked.iterdir()) == [".claude", ".git"]
    mirror = ".claude/rules/tacitd-learned.md"
    assert (linked / mirror).read_text() == (daemon.project / mirror).read_text()
    assert daemon.git("-C", str(linked), "status", "--porcelain", "-uall") == ""
    assert daemon.git("status", "--porcelain") == ""
