"""A person's week: what a newcomer met, each as a story."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
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


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_package_publishes_nothing_of_tacitd(begin: Begin) -> None:
    """cases/npm-pack: `npm pack` knows nothing of the exclude file; what tacitd makes for itself is in no package. LEARNED.md is the
    person's choice, so the first line's notice and `doctor` name it."""
    with begin(FACTS) as world:
        world.write("package.json", '{"name": "shop", "version": "1.0.0"}').write(
            ".claude/rules/own.md", "- mine\n"
        )
        world.write("tmp/own.txt", "mine")
        world.git("add", ".").strip()
        world.git("commit", "-q", "-m", "Ours")
        world.say("s1", "I run npm install.").type("s1", "no, use pnpm, not npm").leave("s1")
        assert "publish` would include LEARNED.md" in world.run("log").out
        assert "learning.published" in world.run("doctor", "--json").out
        assert world.read("tmp/known-facts-summary.md") and world.git("status", "--porcelain") == ""
        packed = subprocess.run(
            ["npm", "pack", "--dry-run", "--json", "--offline"],
            cwd=world.project,
            env=world.environ
            | {"npm_config_cache": str(world.home.parent / "npm"), "NO_UPDATE_NOTIFIER": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        names = {one["path"] for one in json.loads(packed.stdout)[0]["files"]}
        assert names == {"README", "package.json", "LEARNED.md", ".claude/rules/own.md", "tmp/own.txt"}
        world.write(".npmignore", "/LEARNED.md\n")
        assert "learning.published" not in world.run("doctor", "--json").out
        world.run("uninstall", "--purge", "--yes")
        assert (
            not world.path("tmp/.gitignore").exists() and not world.path(".claude/rules/.gitignore").exists()
        )


@pytest.mark.parametrize("kind", ["outside", "dangling", "file", "read-only"])
def test_a_tmp_that_is_no_place_stops_nothing(begin: Begin, kind: str) -> None:
    """cases/tmp-is-a-link: lines are learned and written; only the raw file and the summary are missing, and `status` names `tmp`."""
    with begin(FACTS) as world:
        tmp = world.path("tmp")
        if kind in ("outside", "dangling"):
            tmp.symlink_to(world.home if kind == "outside" else world.home / "none")
        elif kind == "file":
            tmp.write_text("mine")
        else:
            tmp.mkdir(mode=0o500)
        before = sorted(world.home.iterdir())
        world.say("s1", "I run npm install.").type("s1", "no, use pnpm, not npm").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        assert world.read(".claude/rules/tacitd-learned.md").count(PNPM) == 1
        assert sorted(world.home.iterdir()) == before
        if os.geteuid() or kind != "read-only":  # root writes everywhere
            assert f"{tmp} is" in world.run("status").out
            assert not (world.home / "known-facts-summary.md").exists()
        if tmp.is_dir() and not tmp.is_symlink():
            tmp.chmod(0o700)


def test_names_with_marks_are_code(begin: Begin) -> None:
    """cases/formatter: a formatter of Markdown turns `__init__` into bold; in a code span it stays, and is not learned twice."""
    facts: Facts = {"__init__": "Never use __init__ magic", "*.snap": "Do not commit *.snap files"}
    with begin(facts) as world:
        world.type("s1", "never use __init__ magic", "do not commit *.snap files").leave("s1")
        wanted = ["Never use `__init__` magic", "Do not commit `*.snap` files"]
        assert world.bullets("LEARNED.md") == wanted
        world.type("s2", "never use __init__ magic, I said").leave("s2")
        assert world.bullets("LEARNED.md") == wanted


def test_after_a_purge_and_a_new_install_my_lines_are_mine(begin: Begin) -> None:
    """Issue 39, point 8: `uninstall` says how to go on loading; afterwards a LEARNED.md in a directory that is no clone, or that this
    clone's exclude file lists, is this person's, and sessions load all of it."""
    with begin(FACTS) as world:
        notes = world.new_project("notes", git=False)
        places = {"s1": world.project, "s2": notes}
        for session, place in places.items():
            world.type(session, "no, use pnpm, not npm", cwd=place).leave(session)
            world.edit(place / "LEARNED.md", add="- Mine")
        world.stop()
        assert "`@LEARNED.md`" in world.run("uninstall", "--purge", "--yes").err
        assert not world.path(".claude").exists() and not (notes / ".claude").exists()
        world.start()
        for session, place in places.items():
            world.type(f"{session}-later", "use tabs in Go files", cwd=place).leave(f"{session}-later")
            assert sorted(world.bullets(place / ".claude/rules/tacitd-learned.md")) == [
                "Mine",
                PNPM,
                "Use tabs in Go files",
            ]


def test_scan_says_what_was_typed_while_paused(begin: Begin) -> None:
    """Issue 39, point 2: what a person kept private is taken only if they ask for it, and they are told before."""
    with begin({"tabs": "Use tabs in Go files", "secret": "Call it Pelican"}) as world:
        world.run("pause")
        world.type("s1", "the secret name is Pelican").wait()
        assert "1 prompt passed over" in world.run("resume").err
        world.type("s1", "use tabs in Go files").wait()
        told = world.run("scan", "--since", "1d", "--dry-run")
        assert "typed while paused, and sent to the model now: 1 of them" in told.err
        assert world.run("scan", "--since", "1d", "--dry-run", "--json").json["paused"] == 1


@pytest.mark.parametrize("command", ["profile", "sessions", "learner", "lesson", "tutor"])
def test_a_group_alone_shows_its_content(begin: Begin, command: str) -> None:
    """Issue 39, point 12: what is known is shown, or that there is none yet; `--help` shows the commands."""
    with begin() as world:
        told = world.run(command)
        assert told.code == 0 and "Usage:" not in told.out and told.out + told.err
