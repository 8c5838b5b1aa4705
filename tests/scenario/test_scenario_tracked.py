"""What git tracks is a team's: links of a repository, and tracked files of a project that is not shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_daemon import ECHO_FACTS, SYNTHESIS, Daemon, MakeDaemon, append, line, tool_record

pytestmark = pytest.mark.scenario
BOTH = {
    "match": SYNTHESIS,
    "each": r"^(?:-|\d+\.) (Prefers \S+)(?: \([-\d]+\))?$",
    "reply": r"FILE: LEARNED.md\nFACT: \g<1>\n\nFILE: src/AGENTS.md\nFACT: \g<1> in src" + "\n",
}
RULES = ".claude/rules/tacitd/AGENTS.md"
HOOK = "#!/bin/sh\nexit 0\n"
DEV = ("-c", "user.name=dev", "-c", "user.email=dev@localhost")


def commit(daemon: Daemon, message: str = "theirs") -> None:
    """Commit everything that git shows."""
    daemon.git("add", "-A")
    daemon.git(*DEV, "commit", "-qm", message)


def learn(daemon: Daemon, words: str, session: str = "s1") -> None:
    """Run a session in `src` to its end."""
    append(
        daemon.begin(session), line(tool_record(session, daemon.project / "src/main.py", str(daemon.project)))
    )
    daemon.type_(session, words)
    daemon.synthesize()


def bullets(path: Path) -> list[str]:
    """The bullets of a file."""
    return [one[2:] for one in path.read_text().splitlines() if one.startswith("- ")] if path.exists() else []


@pytest.mark.parametrize("target", [".husky/pre-commit", "CLAUDE.md", "docs/LEARNED.md", "lib/LEARNED.md"])
def test_a_committed_link_is_not_written_into(make: MakeDaemon, target: str) -> None:
    """A repository has `LEARNED.md -> .husky/pre-commit`: its next commit would run a learned line."""
    daemon = make(DISPATCH__FIRST_PAUSE="1h")
    file = daemon.project / target
    file.parent.mkdir(exist_ok=True)
    file.write_text(HOOK)
    if target.startswith("lib/"):  # a repository in the repository, whose index only it has
        for command in (("init", "-q"), ("add", "-A"), (*DEV, "commit", "-qm", "x")):
            daemon.git("-C", str(file.parent), *command)
    (daemon.project / "LEARNED.md").symlink_to(target)
    commit(daemon)
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    (parked,) = daemon.synthesize()
    assert str(daemon.project / "LEARNED.md") in parked["reason"] and parked["hint"]
    assert str(daemon.project / "LEARNED.md") in daemon.cli("status").stdout
    assert file.read_text() == HOOK and daemon.git("status", "--porcelain") == ""
    daemon.git("rm", "-q", "LEARNED.md")
    assert daemon.sync() == []
    assert daemon.learned == ["Prefers amber-1"] and file.read_text() == HOOK


@pytest.mark.parametrize("mode", ["local", "shared"])
def test_the_text_of_a_link_is_not_written_over(make: MakeDaemon, mode: str) -> None:
    """A clone with core.symlinks=false has a regular file where git has a link."""
    daemon = make([ECHO_FACTS, BOTH], DISPATCH__FIRST_PAUSE="1h")
    (daemon.project / "src").mkdir()
    (daemon.project / "CLAUDE.md").write_text("# Ours\n")
    for name in ("LEARNED.md", "src/AGENTS.md"):
        (daemon.project / name).symlink_to("CLAUDE.md")
    commit(daemon)
    daemon.git("config", "core.symlinks", "false")
    for name in ("LEARNED.md", "src/AGENTS.md"):
        (daemon.project / name).unlink()
    daemon.git("checkout", "-q", "--", ".")
    assert (daemon.project / "LEARNED.md").read_text() == "CLAUDE.md"
    daemon.start()
    if mode == "shared":
        daemon.cli("share", str(daemon.project))
    learn(daemon, "Prefers amber-1")
    for name in ("LEARNED.md", "src/AGENTS.md"):
        assert (daemon.project / name).read_text() == "CLAUDE.md"
    assert daemon.git("status", "--porcelain") == ""
    if mode == "shared":
        assert f"{daemon.project / 'LEARNED.md'} is a link for git" in daemon.cli("status").stdout
    else:
        assert bullets(daemon.project / RULES) == ["Prefers amber-1", "Prefers amber-1 in src"]


def test_tracked_files_are_not_written_until_they_are_shared(make: MakeDaemon) -> None:
    """A team tracks LEARNED.md and src/AGENTS.md: the lines go to the rule file alone, and a merge is not blocked."""
    daemon = make([ECHO_FACTS, BOTH])
    (daemon.project / "src").mkdir()
    for name in ("LEARNED.md", "src/AGENTS.md"):
        (daemon.project / name).write_text("# Ours\n\n- Write tests\n")
    commit(daemon)
    daemon.git("checkout", "-q", "-b", "other")
    for name in ("LEARNED.md", "src/AGENTS.md"):
        (daemon.project / name).write_text("# Ours\n\n- Write more tests\n")
    commit(daemon, "more")
    daemon.git("checkout", "-q", "-")
    daemon.start()
    learn(daemon, "Prefers amber-1")
    assert bullets(daemon.project / RULES) == ["Prefers amber-1", "Prefers amber-1 in src"]
    assert daemon.git("status", "--porcelain", "-uall") == ""
    daemon.git(*DEV, "merge", "-q", "other")
    daemon.sync()
    assert "Prefers amber-1" in daemon.cli("learned", str(daemon.project)).stdout
    learn(daemon, "Prefers amber-1", "s2")
    learn(daemon, "Prefers basalt-2", "s2")
    lines = ["Prefers amber-1", "Prefers amber-1 in src", "Prefers basalt-2", "Prefers basalt-2 in src"]
    assert bullets(daemon.project / RULES) == lines
    assert daemon.git("status", "--porcelain", "-uall") == ""
    assert bullets(daemon.project / "LEARNED.md") == ["Write more tests"]
    assert daemon.cli("share", str(daemon.project)).returncode == 0
    learn(daemon, "Prefers cobalt-3", "s3")
    assert daemon.learned == ["Write more tests", "Prefers cobalt-3"]
    assert bullets(daemon.project / "src/AGENTS.md") == ["Write more tests", "Prefers cobalt-3 in src"]
    assert bullets(daemon.project / RULES) == lines


def test_a_module_that_git_tracks_has_its_lines_in_learned(make: MakeDaemon) -> None:
    """Only src/AGENTS.md is tracked: its lines go to LEARNED.md, which is hidden."""
    daemon = make([ECHO_FACTS, BOTH])
    (daemon.project / "src").mkdir()
    (daemon.project / "src/AGENTS.md").write_text("# Ours\n")
    commit(daemon)
    daemon.start()
    learn(daemon, "Prefers amber-1")
    assert daemon.learned == ["Prefers amber-1", "Prefers amber-1 in src"]
    assert daemon.git("status", "--porcelain", "-uall") == ""


def test_a_removed_line_of_the_rule_file_stays_away(make: MakeDaemon) -> None:
    """SPEC S-28 in a project whose LEARNED.md is tracked; `undo` takes a line of the rule file back; a linked work tree
    has a copy."""
    daemon = make()
    (daemon.project / "LEARNED.md").write_text("# Ours\n")
    commit(daemon)
    linked = daemon.home / "work" / "linked"
    daemon.git("worktree", "add", "-q", str(linked))
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    daemon.type_("s1", "Prefers basalt-2")
    daemon.synthesize()
    rules = daemon.project / RULES
    assert bullets(rules) == bullets(linked / RULES) == ["Prefers amber-1", "Prefers basalt-2"]
    assert daemon.git("-C", str(linked), "status", "--porcelain", "-uall") == ""
    rules.write_text(rules.read_text().replace("- Prefers amber-1\n", ""))
    daemon.sync()
    daemon.type_("s2", "Prefers amber-1")
    daemon.synthesize()
    assert bullets(rules) == ["Prefers basalt-2"]
    assert "learned again (`tacitd review`): 1" in daemon.cli("status").stdout
    assert daemon.git("status", "--porcelain", "-uall") == ""
