"""Files that people and git change too: what tacitd learned there stays theirs (SPEC S-28, X-07; DESIGN "Files that people edit too")."""

from __future__ import annotations

import subprocess

import pytest

from support_world import Begin, Fact, Facts

PNPM, SHORT, GO = "Use pnpm, not npm", "Keep answers short", "Use tabs in Go files"
FACTS: Facts = {"pnpm": PNPM, "answers short": Fact(SHORT, section="Communication"), "tabs in Go": GO}
RULE = ".claude/rules/tacitd-learned.md"
EXAMPLES = ("use pnpm, not npm", "keep answers short", "use tabs in Go files")


def test_a_deleted_line_stays_deleted(begin: Begin) -> None:
    """S-28: a line that the person deleted is not written again when it is said again."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.edit("LEARNED.md", remove=PNPM)
        world.type("s2", "use pnpm, not npm, I said").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]


def test_a_line_deleted_while_no_daemon_runs_stays_deleted(begin: Begin) -> None:
    """S-28: so it is when the line was deleted while the daemon was stopped."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1").stop()
        world.edit("LEARNED.md", remove=PNPM)
        world.start().wait(60)
        world.type("s2", "use pnpm, not npm, I said").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]


TOOLS = ("pnpm", "ruff", "uv", "mypy", "sphinx", "fzf")


def test_an_older_copy_put_back_takes_nothing_away(begin: Begin) -> None:
    """Issue 39, point 22: `rsync` or an editor's old buffer brings back a file without the newest lines: nobody removed them."""
    with begin({f"use {name} here": f"Use {name} in this repo" for name in TOOLS}) as world:
        world.type("s1", f"use {TOOLS[0]} here", f"use {TOOLS[1]} here", f"use {TOOLS[2]} here").leave("s1")
        older = world.read("LEARNED.md")
        world.type("s2", *(f"use {name} here" for name in TOOLS[3:])).leave("s2")
        whole = world.read("LEARNED.md")
        assert len(world.bullets("LEARNED.md")) == 6
        world.write("LEARNED.md", older).wait(300)
        world.type("s3", "thanks, that is all").leave("s3")
        assert world.run("learned", "--forgotten").out == ""
        world.write("LEARNED.md", whole).wait(300)
        assert len(world.run("learned", "--json").json) == 6


def test_a_line_deleted_in_its_copy_is_deleted(begin: Begin) -> None:
    """S-28, REACH: a line deleted in the copy that sessions load is deleted in LEARNED.md too, and stays so."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.edit(RULE, remove=PNPM)
        world.wait(120)
        assert world.bullets("LEARNED.md") == [SHORT]
        world.type("s2", "use pnpm, not npm, I said").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT] and world.bullets(RULE) == [SHORT]


def test_a_line_that_the_person_reworded_keeps_their_words(begin: Begin) -> None:
    """S-28: a reworded line is the person's; what was said before is not written beside it again."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.edit("LEARNED.md", replace=(PNPM, "Use pnpm 9, not npm"))
        world.type("s2", "keep answers short").leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, "Use pnpm 9, not npm"]


def test_lines_and_text_of_the_person_stay(begin: Begin) -> None:
    """S-28: headings, prose, lists and comments of the person keep their bytes and their order."""
    own = "# How we work\n\nRead this first.\n\n## Coding\n* Ours, with a star\n\n<!-- keep -->\n## Zebra\n1. One\n2. Two\n"
    with begin(FACTS) as world:
        world.write("LEARNED.md", own)
        world.type("s1", "use pnpm, not npm").leave("s1")
        text = world.read("LEARNED.md")
        assert PNPM in text
        assert [line for line in text.split("\n") if PNPM not in line] == own.split("\n")


def test_an_edit_and_new_lines_meet(begin: Begin) -> None:
    """X-07: the person adds a line while facts wait; both are in the file afterwards."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.type("s2", "keep answers short")
        world.edit("LEARNED.md", add="- A line of mine")
        world.leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == ["A line of mine", SHORT, PNPM]


def test_windows_newlines_stay(begin: Begin) -> None:
    """DESIGN "Files that people edit too": a file with CRLF keeps it in each line."""
    with begin(FACTS) as world:
        path = world.path("LEARNED.md")
        path.write_bytes(b"# Learned Preferences\r\n\r\n## Coding\r\n- Mine\r\n")
        world.type("s1", "use pnpm, not npm").leave("s1")
        data = path.read_bytes()
        assert PNPM.encode() in data and data.count(b"\n") == data.count(b"\r\n")


def test_a_linked_file_stays_a_link(begin: Begin) -> None:
    """X-09: a LEARNED.md that is a link to a file of that name in the project stays one; the real file gets the line."""
    with begin(FACTS) as world:
        world.write("docs/LEARNED.md", "# Learned Preferences\n")
        world.path("LEARNED.md").symlink_to("docs/LEARNED.md")
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.path("LEARNED.md").is_symlink() and world.bullets("docs/LEARNED.md") == [PNPM]


def test_a_link_to_another_name_is_refused(begin: Begin) -> None:
    """S-24: a LEARNED.md that leads to a file of another name is not written through; `status` names it, and the line waits."""
    with begin(FACTS) as world:
        world.write("docs/hook.sh", "#!/bin/sh\n")
        world.path("LEARNED.md").symlink_to("docs/hook.sh")
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.read("docs/hook.sh") == "#!/bin/sh\n" and "docs/hook.sh" in world.run("status").out
        world.path("LEARNED.md").unlink()
        assert world.wait_days(1).bullets("LEARNED.md") == [PNPM]


def test_a_file_that_the_person_removed_stays_removed(begin: Begin) -> None:
    """S-28: LEARNED.md removed by the person: its lines do not come back, new ones begin a new file."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.remove("LEARNED.md")
        world.wait(3600)
        assert world.read("LEARNED.md") == ""
        world.type("s2", "keep answers short").leave("s2")
        assert SHORT in world.bullets("LEARNED.md")


def test_git_shows_nothing_before_share(begin: Begin) -> None:
    """DESIGN "Where it writes": what tacitd makes is hidden from git until `share`; the copies stay hidden."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.git("status", "--porcelain") == ""
        said = world.run("share")
        assert said.code == 0 and "LEARNED.md; add and commit it" in said.err, "it has lines"
        assert world.git("status", "--porcelain") == "?? LEARNED.md\n"


def test_exclude_stops_at_once(begin: Begin) -> None:
    """DESIGN "Where it writes": after `exclude` nothing is sent or written; after `--undo` it goes on."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.run("exclude", ".").code == 0
        asked = len(world.prompts)
        world.type("s2", "keep answers short").leave("s2")
        assert world.bullets("LEARNED.md") == [PNPM]
        assert not any("keep answers short" in one for one in world.prompts[asked:])
        assert world.run("exclude", "--undo", ".").code == 0
        world.type("s3", "use tabs in Go files").leave("s3")
        assert GO in world.bullets("LEARNED.md")


def test_git_clean_is_no_deletion(begin: Begin) -> None:
    """S-28 "doubt": `git clean -fdx` takes the hidden files; the lines come back."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.git("clean", "-fdxq")
        world.wait(3600)
        world.type("s2", "keep answers short").leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]
        assert "restored after git clean" in world.run("history").out


def test_git_stash_leaves_the_lines(begin: Begin) -> None:
    """S-28 "doubt": `git stash -u` and `pop` change nothing in what is hidden from git."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.write("README", "changed\n")
        world.git("stash", "-u", "-q")
        world.git("stash", "pop", "-q")
        world.type("s2", "keep answers short").leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_another_branch_is_no_deletion(begin: Begin) -> None:
    """S-28 "doubt": a shared LEARNED.md without the line on another branch: said again it is written there."""
    with begin(FACTS) as world:
        world.type("s1", "keep answers short").leave("s1")
        world.run("share")
        world.git("add", "LEARNED.md")
        world.git("commit", "-q", "-m", "Share")
        world.type("s2", "use pnpm, not npm").leave("s2")
        world.git("commit", "-q", "-a", "-m", "One more")
        world.git("checkout", "-q", "-b", "old", "HEAD~1")
        assert world.bullets("LEARNED.md") == [SHORT]
        world.type("s3", "use pnpm, not npm").leave("s3")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_a_merge_of_two_branches_keeps_both_lines(begin: Begin) -> None:
    """S-28 "doubt": lines that git merged into the shared file stay, and learning goes on."""
    with begin(FACTS) as world:
        world.type("s1", "keep answers short").leave("s1")
        world.run("share")
        world.git("add", "LEARNED.md")
        world.git("commit", "-q", "-m", "Share")
        world.git("checkout", "-q", "-b", "theirs")
        world.edit(
            "LEARNED.md",
            replace=("# Learned Preferences\n", "# Learned Preferences\n\n## Theirs\n- A line of theirs\n"),
        )
        world.git("commit", "-q", "-a", "-m", "Theirs")
        world.git("checkout", "-q", "main")
        world.git("merge", "-q", "--no-edit", "theirs")
        world.type("s2", "use tabs in Go files").leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == ["A line of theirs", SHORT, GO]


def test_a_teams_file_is_not_changed_before_share(begin: Begin) -> None:
    """S-24, S-28: a LEARNED.md that git tracks keeps its bytes; sessions load the line from a rules file. `share` changes that."""
    with begin(FACTS) as world:
        own = "# Learned Preferences\n\n## Coding\n- Theirs\n"
        world.write("LEARNED.md", own)
        world.git("add", "LEARNED.md")
        world.git("commit", "-q", "-m", "Theirs")
        clone = world.home / "work" / "clone"
        world.git("clone", "-q", str(world.project), str(clone))
        world.type("s1", "use pnpm, not npm", cwd=clone).leave("s1")
        assert (clone / "LEARNED.md").read_text() == own
        assert f"- {PNPM}\n" in (clone / ".claude/rules/tacitd/AGENTS.md").read_text()
        assert world.git("status", "--porcelain", cwd=clone) == ""
        assert world.run("share", cwd=clone).code == 0
        world.type("s2", "keep answers short", cwd=clone).leave("s2")
        text = (clone / "LEARNED.md").read_text()
        assert "- Theirs\n" in text and f"- {SHORT}\n" in text and world.bullets("LEARNED.md") == ["Theirs"]


def test_a_linked_worktree_has_the_lines_of_its_repository(begin: Begin) -> None:
    """REACH, DESIGN "Project": what is said in a linked worktree is learned in the main one, and sessions load it in both."""
    with begin(FACTS) as world:
        tree = world.home / "work" / "tree"
        world.git("worktree", "add", "-q", str(tree))
        world.type("s1", "use pnpm, not npm", cwd=tree).leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        assert PNPM in (tree / RULE).read_text() and PNPM in world.read(RULE)


def test_a_stopped_rebase_in_a_linked_worktree_holds_up_only_its_own_copy(begin: Begin) -> None:
    """X-07, DESIGN "Doubt": learning goes on in the main tree and the other trees; `status` names the tree that waits."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        tree, other = (world.home / "work" / name for name in ("tree", "other"))
        for one in (tree, other):
            world.git("worktree", "add", "-q", str(one))
        world.type("s0", "hello there").wait(60)
        for one, text in ((tree, "theirs\n"), (world.project, "ours\n")):
            world.write(one / "README", text).git("commit", "-qam", text.strip(), cwd=one)
        with pytest.raises(subprocess.CalledProcessError):
            world.git("rebase", "-q", "main", cwd=tree)
        world.type("s2", "keep answers short").leave("s2")
        world.type("s3", "use tabs in Go files").leave("s3")
        world.wait(300)
        expected = world.bullets("LEARNED.md")
        assert sorted(expected) == sorted([PNPM, SHORT, GO])
        assert world.bullets(RULE) == world.bullets(other / RULE) == expected
        assert world.bullets(tree / RULE) == [PNPM]
        said = world.run("status").out
        assert f"in {tree} wait: git changes files there (" in said and "rebase-merge is there" in said
        world.git("rebase", "--abort", cwd=tree)
        world.wait(60)
        assert world.bullets(tree / RULE) == expected
        assert "git changes" not in world.run("status").out


def test_a_modules_line_is_loaded_by_its_path(begin: Begin) -> None:
    """S-37, REACH: a folder's lines are in a rule file that the client loads when it reads a file there."""
    facts: Facts = {
        "each handler": Fact(
            "Name each handler after its event", file="src/AGENTS.md", section="Architecture"
        )
    }
    with begin(facts) as world:
        world.write("CLAUDE.md", "# App\n").write("src/a.py", "x = 1\n")
        world.edit_in_session("s1", world.path("src/a.py"))
        world.type("s1", "name each handler after its event").leave("s1")
        (rule,) = [
            name
            for name, text in world.list_files().items()
            if "/rules/" in name and name.endswith(".md") and "each handler" in text
        ]
        assert "src/**" in world.read(f"~/{rule}")


def test_a_directory_without_git_is_a_project(begin: Begin) -> None:
    """DESIGN "Project": without git the directory of the session is the project."""
    with begin(FACTS) as world:
        notes = world.new_project("notes", git=False)
        world.type("s1", "keep answers short", cwd=notes).leave("s1")
        assert "- " + SHORT in (notes / "LEARNED.md").read_text()


def test_the_home_is_no_project(begin: Begin) -> None:
    """DESIGN "Project": nothing is learned in the home directory."""
    with begin(FACTS) as world:
        world.type("s1", "keep answers short", cwd=world.home).leave("s1")
        assert world.read("~/LEARNED.md") == "" and world.prompts == []


def test_a_subfolder_belongs_to_its_repository(begin: Begin) -> None:
    """DESIGN "Project": a session in a subfolder works in the git top level."""
    with begin(FACTS) as world:
        world.write("src/a.py", "x = 1\n")
        world.type("s1", "keep answers short", cwd=world.path("src")).leave("s1")
        assert world.bullets("LEARNED.md") == [SHORT] and world.read("src/LEARNED.md") == ""


def test_a_lock_of_git_that_was_left_is_named(begin: Begin) -> None:
    """S-28 "doubt": while git's index is locked nothing is concluded; after an hour `status` names the lock."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.path(".git/index.lock").touch()
        world.edit(RULE, remove=PNPM).wait(7200)
        assert "index.lock" in world.run("status").out
        assert world.bullets("LEARNED.md") == [PNPM, SHORT]
        world.path(".git/index.lock").unlink()
        world.wait(60).wait(60)
        assert world.bullets("LEARNED.md") == [SHORT] and "index.lock" not in world.run("status").out
