"""How learned lines reach the next session, and that git does not show them unless the user wants it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, git, lines
from tacitd.events import Project
from tacitd_handlers.learning import visibility

MIRROR = ".claude/rules/tacitd-learned.md"
HIDDEN = [f"/{MIRROR}", "/.claude/rules/tacitd/"]
OURS = [
    "/tmp/learning-*",
    "/tmp/known-facts-summary.md",
    ".tacitd-*",
    "*.tacitd-saved*",
    "/LEARNED.md",
    *HIDDEN,
]


def learn(bench: Bench, line: str = PNPM, session: str = "s1") -> None:
    bench.answer((SYNTHESIS, lines(line)), (EXTRACTION, line))
    bench.learn(line, session=session)


def test_what_is_created_is_hidden_from_git_once(bench: Bench) -> None:
    """DESIGN "Where it writes": each file that did not exist has one local exclude."""
    learn(bench)
    learn(bench, SHORT, "s2")
    assert bench.excluded() == OURS
    assert git(bench.root, "status", "--porcelain", "-uall") == ""


def test_git_sees_nothing_at_any_moment(bench: Bench) -> None:
    """Nothing is published by accident between the extraction and the synthesis either."""
    bench.type("use pnpm, not npm")
    assert bench.files.raw_file.exists() and git(bench.root, "status", "--porcelain", "-uall") == ""


def test_facts_are_hidden_where_the_summary_was_there_before(bench: Bench) -> None:
    """The same if another tool has made the summary."""
    bench.put("tmp/known-facts-summary.md", "# Known facts\n")
    bench.type("use pnpm, not npm")
    assert git(bench.root, "status", "--porcelain", "-uall") == ""


def test_a_file_of_the_persons_is_not_hidden(bench: Bench) -> None:
    """Whether an existing file is published is the user's decision."""
    bench.put("LEARNED.md", "# Mine\n")
    git(bench.root, "add", "LEARNED.md")
    learn(bench)
    assert "/LEARNED.md" not in bench.excluded()


def test_shared_hides_temporary_files_only(bench: Bench) -> None:
    """`projects.write = "shared"`: a team gets LEARNED.md through git."""
    bench.write = "shared"
    learn(bench)
    assert bench.excluded() == [*OURS[:4], *HIDDEN]
    seen = git(bench.root, "status", "--porcelain", "-uall").split("\n")
    assert sorted(seen) == ["", "?? LEARNED.md"] and (bench.root / MIRROR).exists()


def test_off_writes_nothing_anywhere(bench: Bench) -> None:
    """`projects.write = "off"`."""
    bench.write = "off"
    learn(bench)
    bench.due("init", bench.project)
    assert [p.name for p in bench.root.iterdir()] == [".git"] and bench.excluded() == []


def test_outside_git_there_is_nothing_to_hide(bench: Bench) -> None:
    """DESIGN "Where it writes": outside git there is no exclude file."""
    plain = bench.new_project("plain", is_git=False)
    bench.type("use pnpm, not npm", project=plain)
    bench.end(project=plain)
    assert (plain.root / "LEARNED.md").exists() and not (plain.root / ".git").exists()


def test_a_linked_worktree_is_hidden_by_the_main_ones_exclude(bench: Bench, tmp_path: Path) -> None:
    """DESIGN "Where it writes": the project of a linked worktree is the main worktree; its exclude file is the common one."""
    bench.put("a", "a")
    git(bench.root, "add", "a")
    git(bench.root, "commit", "-qm", "a")
    git(bench.root, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert bench.project_of(str(tmp_path / "tree")) == bench.project
    learn(bench)
    assert git(bench.root, "status", "--porcelain", "-uall") == ""


def test_a_submodule_has_an_exclude_file_of_its_own(bench: Bench) -> None:
    """A `.git` file names the directory that git uses."""
    other = bench.new_project("other")
    (other.root / "x").write_text("x")
    git(other.root, "add", "x")
    git(other.root, "commit", "-qm", "x")
    git(bench.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub")
    sub = Project(bench.root / "sub", True)
    bench.type("use pnpm, not npm", project=sub)
    bench.end(project=sub)
    assert (sub.root / "LEARNED.md").exists()
    assert git(sub.root, "status", "--porcelain", "-uall") == ""
    assert (bench.root / ".git/modules/sub/info/exclude").read_text().count("/LEARNED.md\n") == 1


# --- git directories --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linked", [".git/info", ".git/info/exclude"])
def test_a_link_in_the_git_directory_hides_nothing_and_stops_nothing(
    bench: Bench, tmp_path: Path, linked: str
) -> None:
    """In an unpacked archive `info` may be a link to the user's own directory."""
    outside = tmp_path / "outside"
    outside.mkdir() if linked == ".git/info" else outside.write_text("mine\n")
    (bench.root / linked).parent.mkdir(exist_ok=True)
    (bench.root / linked).symlink_to(outside)
    learn(bench)
    assert bench.bullets == [PNPM]
    assert list(outside.iterdir()) == [] if outside.is_dir() else outside.read_text() == "mine\n"
    said = bench.degraded[f"learning.exclude:{bench.root}"]
    assert str(bench.root / linked) in said.what and "git status" in said.hint
    (bench.root / linked).unlink()
    learn(bench, SHORT, "s2")
    assert f"learning.exclude:{bench.root}" not in bench.degraded and "/tmp/learning-*" in bench.excluded()


def test_an_archive_that_names_another_repository_changes_nothing_there(bench: Bench) -> None:
    """Prompts typed in a stranger's directory do not become lines of the project that its `.git` names."""
    victim = bench.new_project("victim")
    stranger = bench.new_project("stranger", is_git=False)
    (stranger.root / "x").mkdir()
    (stranger.root / "x/HEAD").write_text("ref: refs/heads/main\n")
    (stranger.root / "x/commondir").write_text(f"{victim.root}/.git\n")
    (stranger.root / ".git").write_text("gitdir: x\n")
    place = bench.project_of(str(stranger.root))
    assert isinstance(place, Project) and place.root == stranger.root
    bench.type("use pnpm, not npm", project=place)
    bench.end(project=place)
    assert (place.root / "LEARNED.md").exists()
    assert sorted(path.name for path in victim.root.iterdir()) == [".git"]
    assert not (victim.root / ".git/info").exists()


@pytest.mark.parametrize("odd", ["link out", "file", "dangling"])
def test_a_place_where_no_mirror_can_be_made_stops_no_line(bench: Bench, tmp_path: Path, odd: str) -> None:
    """If the mirror cannot be created, for example with linked dotfiles, the lines are still written, and `status` names it."""
    outside = tmp_path / "dotfiles"
    outside.mkdir()
    if odd == "link out":
        (bench.root / ".claude").symlink_to(outside)
    elif odd == "dangling":
        (bench.root / ".claude").symlink_to(tmp_path / "nowhere")
    else:
        bench.put(".claude", "a file")
    learn(bench)
    assert bench.bullets == [PNPM] and list(outside.iterdir()) == []
    assert str(bench.root / ".claude") in bench.status["rules_problems"][0] and not bench.history.pending


def test_the_file_behind_a_dangling_link_is_hidden_too(bench: Bench) -> None:
    """Nothing is published by accident: the link is the user's, the file that it leads to is created by us."""
    (bench.root / "notes").mkdir()
    (bench.root / "LEARNED.md").symlink_to("notes/LEARNED.md")
    git(bench.root, "add", "LEARNED.md")
    git(bench.root, "commit", "-qm", "a link")
    learn(bench)
    assert (bench.root / "notes/LEARNED.md").exists() and "/notes/LEARNED.md" in bench.excluded()
    assert git(bench.root, "status", "--porcelain", "-uall") == ""


def test_a_linked_tmp_is_hidden_where_it_leads(bench: Bench) -> None:
    """The same for `tmp/`: facts that wait are not published."""
    (bench.root / ".cache").mkdir()
    (bench.root / "tmp").symlink_to(".cache")
    git(bench.root, "add", "tmp")
    git(bench.root, "commit", "-qm", "a link")
    bench.type("use pnpm, not npm")
    assert bench.files.raw_file.exists() and git(bench.root, "status", "--porcelain", "-uall") == ""
    assert bench.excluded()[4:] == ["/.cache/learning-*", "/.cache/known-facts-summary.md"]


def test_patterns_are_literal() -> None:
    """gitignore(5): brackets, stars, question marks and backslashes are escaped."""
    assert visibility.pattern_of(Path("a/[b]*?\\c/AGENTS.md")) == r"/a/\[b\]\*\?\\c/AGENTS.md"


# --- init ---------------------------------------------------------------------------------------------------


def test_init_makes_an_empty_learned_file(bench: Bench) -> None:
    """SPEC S-42: `init` creates it, hidden and with its mirror, and the first line is put into it."""
    bench.due("init", bench.project)
    assert bench.learned == "# Learned Preferences\n"
    assert set(bench.excluded()) == set(OURS) and (bench.root / MIRROR).exists()
    learn(bench)
    assert bench.learned == f"# Learned Preferences\n\n## Coding\n- {PNPM}\n"


def test_init_leaves_a_learned_file_alone(bench: Bench) -> None:
    """SPEC S-28."""
    bench.put("LEARNED.md", "mine\n")
    bench.due("init", bench.project)
    bench.due("init", bench.project)
    assert bench.learned == "mine\n" and bench.files.summary_file.exists()
