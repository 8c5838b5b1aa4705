"""`tacitd reach`, and what `tacitd doctor` and `tacitd status` say of learned text that does not arrive."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support_changes import change_now
from support_cli import Cli
from support_reach import format_toys
from tacitd.contract import Cause, FileChange
from tacitd.files.formats import Bullets, bullet
from tacitd.files.shared_files import SharedFiles
from tacitd.store import Store
from tacitd.testing import FakeClock

HEAD = "<!-- Written by tacitd from {}: change that file, not this one. -->\n\n"


class Shop:
    """A project with two learned lines and one for a module, as the daemon leaves it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "pkg" / "cart").mkdir(parents=True)
        (root / "web").mkdir()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        (root / ".git/info/exclude").write_text("/.claude/rules/tacitd*\n")
        (root / "LEARNED.md").write_text("# Learned Preferences\n\n- one\n- two\n")
        self.rules = root / ".claude" / "rules" / "tacitd-learned.md"
        self.module = root / ".claude" / "rules" / "tacitd" / "pkg-cart.md"
        self.module.parent.mkdir(parents=True)
        self.rules.write_text(HEAD.format("LEARNED.md") + "# Learned Preferences\n\n- one\n- two\n")
        front = '---\npaths:\n  - "/pkg/cart/**"\n---\n\n'
        self.module.write_text(front + HEAD.format("pkg/cart/AGENTS.md") + "- three\n")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    (made.config_dir / "rules").mkdir(parents=True)
    (made.config_dir / "rules" / "tacitd.md").write_text(format_toys("likes red"))
    return made


@pytest.fixture
def shop(cli: Cli) -> Shop:
    return Shop(cli.home / "shop")


def ask(cli: Cli, directory: Path) -> dict[str, Any]:
    said: dict[str, Any] = cli.run("reach", directory, "--json").json
    return said


def loads(cli: Cli, directory: Path) -> list[tuple[str, str, int]]:
    return [(one["kind"], one["when"], one["lines"]) for one in ask(cli, directory)["loads"]]


def whys(cli: Cli, directory: Path) -> list[str]:
    return [one["why"] for one in ask(cli, directory)["missing"]]


ALL = [("person", "start", 1), ("project", "start", 2), ("module", "read", 1)]


def test_at_the_root_and_in_the_module_everything_arrives(cli: Cli, shop: Shop) -> None:
    """At start or on reading a file, each with its number of lines."""
    assert loads(cli, shop.root) == ALL
    assert loads(cli, shop.root / "pkg" / "cart") == ALL
    assert whys(cli, shop.root) == []
    said = cli.run("reach", shop.root).out
    assert "~/.claude/rules/tacitd.md: 1 line about you" in said
    assert "~/shop/.claude/rules/tacitd/pkg-cart.md: 1 line in pkg/cart/" in said
    assert "--add-dir" in said


def test_in_another_folder_the_modules_lines_do_not_arrive(cli: Cli, shop: Shop) -> None:
    """Claude Code attaches nothing that is outside the session's directory."""
    assert loads(cli, shop.root / "web") == ALL[:2]
    (missing,) = ask(cli, shop.root / "web")["missing"]
    assert missing["what"] == "the lines for pkg/cart" and str(shop.root) in missing["hint"]


def test_outside_a_project_only_the_persons_lines_arrive(cli: Cli, tmp_path: Path) -> None:
    """Also in a directory that does not belong to any project."""
    assert loads(cli, tmp_path) == ALL[:1]
    (cli.config_dir / "rules" / "tacitd.md").unlink()
    assert "nothing that was learned" in cli.run("reach", tmp_path).out


def test_a_linked_worktree_has_its_own_copies(cli: Cli, shop: Shop) -> None:
    """What is missing there is named."""
    git = ["git", "-C", str(shop.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    linked = cli.home / "linked"
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)
    assert loads(cli, linked) == ALL[:1]
    assert "does not have them" in whys(cli, linked)[0]
    assert f"`tacitd trust {shop.root}`" in ask(cli, linked)["missing"][0]["hint"]


def test_excluded_files_are_named_with_the_setting(cli: Cli, shop: Shop) -> None:
    """`claudeMdExcludes` is a person's choice: it is said, with its file, and nothing is changed."""
    settings = shop.root / ".claude" / "settings.local.json"
    settings.write_text(json.dumps({"claudeMdExcludes": ["**/tacitd/**"]}))
    assert loads(cli, shop.root) == ALL[:2]
    (why,) = whys(cli, shop.root)
    assert str(settings) in why and "**/tacitd/**" in why
    (cli.config_dir / "settings.json").write_text(json.dumps({"claudeMdExcludes": ["**/.claude/rules/**"]}))
    assert loads(cli, shop.root) == []


def test_a_linked_claude_directory_is_named(cli: Cli, shop: Shop) -> None:
    """Newer clients load no rules through a `.claude` that leads out of the project."""
    (shop.root / ".claude").rename(cli.home / "away")
    (shop.root / ".claude").symlink_to(cli.home / "away")
    assert loads(cli, shop.root) == ALL[:1]
    why, _ = whys(cli, shop.root)
    assert f"is behind the link {shop.root / '.claude'}" in why


@pytest.mark.parametrize(
    ("name", "what"),
    [("tacitd-learned.md", "the lines of LEARNED.md"), ("tacitd/pkg-cart.md", "the lines for pkg/cart")],
)
def test_a_committed_copy_is_not_tacitds(cli: Cli, shop: Shop, name: str, what: str) -> None:
    """Bad input: Claude Code loads it, but tacitd neither reads nor writes it; anybody can write its first line."""
    subprocess.run(["git", "-C", str(shop.root), "add", "-f", f".claude/rules/{name}"], check=True)
    assert loads(cli, shop.root) == ALL
    (missing,) = ask(cli, shop.root)["missing"]
    assert missing["what"].startswith(what) and f"git rm --cached .claude/rules/{name}" in missing["why"]


@pytest.mark.parametrize("damage", ["fifo", "directory", "binary", "huge", "empty"])
def test_odd_files_block_nothing(cli: Cli, shop: Shop, damage: str) -> None:
    """Bad input: it is not loaded, and the command ends."""

    shop.rules.unlink()
    match damage:
        case "fifo":
            os.mkfifo(shop.rules)
        case "directory":
            shop.rules.mkdir()
        case "binary":
            shop.rules.write_bytes(bytes(range(256)))
        case "empty":
            shop.rules.write_text("")
        case _:
            shop.rules.write_text("x" * (5 << 20))
    assert ("project", "start", 2) not in loads(cli, shop.root)
    (why,) = whys(cli, shop.root)
    assert str(shop.rules) in why


def test_lines_that_are_not_in_the_copy_are_counted(cli: Cli, shop: Shop) -> None:
    """Such as those that came with the repository."""
    (shop.root / "LEARNED.md").write_text(
        "# Learned Preferences\n\n<!--\n- no\n-->\n- one\n- two\n- three\n- four\n"
    )
    assert loads(cli, shop.root) == ALL
    (missing,) = ask(cli, shop.root)["missing"]
    assert missing["what"] == "2 lines of LEARNED.md" and str(shop.rules) in missing["why"]
    assert f"`tacitd trust {shop.root}`" in missing["hint"]


def test_a_directory_that_does_not_exist_is_an_error(cli: Cli) -> None:
    """A mistyped name must not look like a project without lines."""
    assert cli.run("reach", cli.home / "nowhere").code == 2


# doctor and status


def findings(cli: Cli) -> dict[str, dict[str, str]]:
    return {one["id"]: one for one in cli.run("doctor", "--json").json if one["id"].startswith("reach.")}


def known(cli: Cli, *roots: Path) -> None:
    """Let the store know these projects."""
    with closing(Store.open(cli.state, FakeClock())) as store, store.write() as tx:
        for root in roots:
            tx.execute("INSERT INTO project(root, first_seen) VALUES(?, 1)", str(root))


def test_doctor_is_content(cli: Cli, shop: Shop) -> None:
    """Nothing is wrong, and doctor leaves nothing behind."""
    known(cli, shop.root)
    here = findings(cli)
    assert {id: one["severity"] for id, one in here.items()} == {
        "reach.user-rules": "ok",
        "reach.projects": "ok",
    }


def test_doctor_names_what_does_not_arrive(cli: Cli, shop: Shop) -> None:
    """The same problems as `tacitd reach`, for every known project."""
    other = Shop(cli.home / "other")
    known(cli, shop.root, other.root, cli.home / "gone")
    (cli.config_dir / "settings.json").write_text(json.dumps({"claudeMdExcludes": ["**/tacitd-learned.md"]}))
    one = findings(cli)["reach.excluded"]
    assert one["severity"] == "warning" and "and 1 more" in one["what"] and "claudeMdExcludes" in one["hint"]


def test_a_git_work_tree_and_how_to_allow_it_are_named(cli: Cli, tmp_path: Path) -> None:
    """Not written where the directory is in a git work tree; `doctor` and `reach` say how to allow it."""
    subprocess.run(["git", "init", "-q", str(cli.config_dir)], check=True)
    (missing,) = ask(cli, tmp_path)["missing"]
    for one in (missing, findings(cli)["reach.in-git"]):
        assert "reach.user_rules_in_git = true" in one["hint"]
    assert missing["id"] == "reach.in-git" and "git work tree" in missing["why"]
    cli.set(TACITD_REACH__USER_RULES_IN_GIT="true")
    assert "reach.user-rules" in findings(cli) and whys(cli, tmp_path) == []
    cli.set(TACITD_REACH__USER_RULES_IN_GIT="false", TACITD_REACH__USER_RULES="false")
    assert "off" in findings(cli)["reach.user-rules"]["what"] and whys(cli, tmp_path) == []


def test_what_is_in_the_place_of_the_persons_file_is_named(cli: Cli, tmp_path: Path) -> None:
    """A link to somewhere else, for instance."""
    rules = cli.config_dir / "rules" / "tacitd.md"
    rules.unlink()
    rules.symlink_to(cli.home)
    (missing,) = ask(cli, tmp_path)["missing"]
    assert (missing["id"], missing["why"]) == ("reach.blocked", findings(cli)["reach.blocked"]["what"])
    assert "is a link" in missing["why"] and missing["why"] in cli.run("reach", tmp_path).out


def test_a_module_without_a_copy_is_named(cli: Cli, shop: Shop) -> None:
    """tacitd wrote a line into the module's own file, which clients load in some projects only."""
    path = shop.root / "pkg" / "cart" / "AGENTS.md"
    store = Store.open(cli.state, FakeClock())
    files = SharedFiles(store, FakeClock())
    leaf = bullet("General", "three")
    change = FileChange(path, Bullets("Cart"), lambda now, edits: {leaf: "three"}, Cause("k", "prompt"))
    change_now(files, store, change)
    store.close()
    assert whys(cli, shop.root) == []
    shop.module.unlink()
    assert whys(cli, shop.root) == [f"{shop.module.parent} has no copy of them"]
    assert "pkg/cart is outside" in whys(cli, shop.root / "web")[0]
    path.write_text("nothing\n")
    assert whys(cli, shop.root) == []
