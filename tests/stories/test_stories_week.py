"""A person's week: what a newcomer met, each as a story."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_world import Begin, Fact, Facts
from tacitd.testing import World

PNPM = "Use pnpm, not npm"
FACTS: Facts = {"pnpm": Fact(PNPM, corrected=True), "tabs": "Use tabs in Go files"}


def _claim(world: World, session: str) -> Path:
    """The file in which a client that runs says which session it has. This process is taken for the client."""
    file = world.home / ".claude" / "sessions" / f"{os.getpid()}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"pid": os.getpid(), "sessionId": session, "cwd": str(world.project)}))
    return file


@pytest.mark.parametrize("restarted", [False, True])
def test_clear_ends_the_session_without_a_hook(begin: Begin, restarted: bool) -> None:
    """S-20: after `/clear` the same process runs another session, and the lines of the earlier one come within minutes."""
    with begin(FACTS) as world:
        claim = _claim(world, "s1")
        world.say("s1", "I run npm install.").type("s1", "no, use pnpm, not npm").wait(30)
        _claim(world, "s2")
        world.clear("s2")
        if restarted:
            world.restart(kill=True)
        world.type("s2", "what is left to do?")
        for _ in range(5):
            world.wait(32)
        assert world.bullets("LEARNED.md") == [PNPM]
        claim.unlink()
        world.leave("s2")


@pytest.mark.parametrize("named", [True, False])
def test_a_bare_repository_with_two_work_trees_is_one_project(begin: Begin, named: bool) -> None:
    """S-10: what was learned in one work tree is loaded in the other, once, also when the first is gone. A rule in the directory around
    them would be loaded in both too. `named`: whether a `.git` file there names the repository."""
    with begin(FACTS) as world:
        world.write("a.txt", "x").git("add", ".")
        world.git("commit", "-q", "-m", "one")
        around = world.home / "work" / "shop"
        around.mkdir()
        bare = around / ".bare"
        world.git("clone", "-q", "--bare", str(world.project), str(bare))
        if named:
            (around / ".git").write_text("gitdir: ./.bare\n")
        asked = around if named else bare
        for name in ("first", "second"):
            world.git("worktree", "add", "-q", "-b", name, str(around / name), cwd=asked)
        first, second = around / "first", around / "second"
        world.say("s1", "I run npm install.", cwd=first).type("s1", "no, use pnpm, not npm", cwd=first)
        world.leave("s1")
        rules = ".claude/rules/tacitd-learned.md"
        assert PNPM in world.read(first / rules) and PNPM in world.read(second / rules)
        assert not (around / ".claude").exists() and not (bare / ".claude").exists()
        assert world.git("status", "--porcelain", cwd=first) == ""
        world.git("worktree", "remove", str(first), cwd=asked)
        world.type("s2", "use tabs in Go files", cwd=second).leave("s2")
        assert PNPM in world.read(second / rules) and "Use tabs" in world.read(second / rules)
        assert PNPM in world.run("learned", cwd=second).out


def test_below_dotfiles_a_directory_is_a_project(begin: Begin) -> None:
    """S-10: `git init ~` does not make everything below it nobody's."""
    with begin(FACTS) as world:
        world.git("init", "-q", cwd=world.home)
        notes = world.home / "notes"
        notes.mkdir()
        world.type("s1", "use tabs in Go files", cwd=notes).leave("s1")
        assert world.bullets(notes / "LEARNED.md") == ["Use tabs in Go files"]


def test_scan_says_what_was_typed_while_paused(begin: Begin) -> None:
    """Issue 39, point 2: what a person kept private is taken only if they ask for it, and they are told before."""
    with begin({"tabs": "Use tabs in Go files", "secret": "Call it Pelican"}) as world:
        world.run("pause")
        world.type("s1", "the secret name is Pelican").wait()
        assert "1 prompt was passed over" in world.run("resume").err
        world.type("s1", "use tabs in Go files").wait()
        told = world.run("scan", "--since", "1d", "--dry-run")
        assert "1 of them was typed while paused" in told.err
        assert world.run("scan", "--since", "1d", "--dry-run", "--json").json["paused"] == 1


@pytest.mark.parametrize("command", ["profile", "sessions", "learner", "lesson", "tutor"])
def test_a_group_alone_shows_its_content(begin: Begin, command: str) -> None:
    """Issue 39, point 12: what is known is shown, or that there is none yet; `--help` shows the commands."""
    with begin() as world:
        told = world.run(command)
        assert told.code == 0 and "Usage:" not in told.out and told.out + told.err
