"""From a working directory to its project: DESIGN "Where it writes"."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tacitd.events import NoProject, Project
from tacitd.sources.projects import ProjectFinder, temporary_directories


class Scene:
    """A home directory with projects, and directories outside it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "home" / "u"
        self.tmp = base / "tmp"
        for folder in (self.home, self.tmp, base / "etc/x", base / "home/u/.claude/projects"):
            folder.mkdir(parents=True)
        self.projects = self.make()

    def make(self, *excludes: str, home: Path | None = None) -> ProjectFinder:
        home = home or self.home
        private = [home / ".claude"]
        system = [str(self.base / "etc")]
        return ProjectFinder(home, excludes=excludes, private=private, tmpdirs=[self.tmp], system=system)

    def folder(self, name: str, *, git: bool = False) -> Path:
        path = self.base / name
        path.mkdir(parents=True, exist_ok=True)
        if git:
            (path / ".git").mkdir()
            (path / ".git/HEAD").write_text("ref: refs/heads/main\n")
        return path

    def reason(self, path: Path | str) -> str:
        answer = self.projects.find_project(str(path))
        assert isinstance(answer, NoProject), answer
        return answer.reason


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(Path(os.path.realpath(tmp_path)))


def _git(where: Path, *arguments: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *arguments], cwd=where, check=True, capture_output=True, env=env)


def test_git_top_level_else_the_directory_itself(scene: Scene) -> None:
    """S-10, DESIGN "Where it writes": the top level of the git work tree, otherwise that directory itself."""
    top = scene.folder("home/u/p", git=True)
    deep = scene.folder("home/u/p/a/b")
    assert scene.projects.find_project(str(deep)) == Project(top, True)
    plain = scene.folder("home/u/plain")
    assert scene.projects.find_project(str(plain)) == Project(plain, False)
    scene.folder("home/u/p/a/.git")  # without HEAD, so it does not count
    (scene.base / "link").symlink_to(deep)
    assert scene.projects.find_project(str(scene.base / "link")) == Project(top, True)


def test_worktrees_submodules_and_bare_repositories_made_by_git(scene: Scene) -> None:
    """DESIGN "Where it writes": a linked worktree belongs to the main one; a submodule is its own; those of a bare repository are
    one project, whose root no removal of a worktree reaches.
    """
    main, sub = scene.folder("home/u/main"), scene.folder("home/u/sub")
    for one in (sub, main):
        _git(one, "init", "-q", "-b", "main")
        _git(one, "commit", "-q", "--allow-empty", "-m", "x")
    _git(main, "worktree", "add", "-q", str(scene.base / "home/u/linked"), "-b", "other")
    _git(main, "submodule", "--quiet", "add", str(sub), "inner")
    _git(scene.home, "clone", "-q", "--bare", str(main), str(scene.base / "home/u/bare.git"))
    _git(scene.home / "bare.git", "worktree", "add", "-q", str(scene.home / "wt"), "main")
    assert scene.projects.find_project(str(scene.home / "linked")) == Project(main, True)
    assert scene.projects.find_project(str(main / "inner")) == Project(main / "inner", True)
    bare = scene.home / "bare.git"
    assert scene.projects.find_project(str(scene.home / "wt")) == Project(bare, True)


def test_worktrees_beside_a_hidden_bare_repository_are_one_project(scene: Scene) -> None:
    """Many keep a bare repository in `.bare`, beside a `.git` file that names it: what they call the project is that folder."""
    main, around = scene.folder("home/u/main"), scene.folder("home/u/app")
    _git(main, "init", "-q", "-b", "main")
    _git(main, "commit", "-q", "--allow-empty", "-m", "x")
    _git(around, "clone", "-q", "--bare", str(main), ".bare")
    (around / ".git").write_text("gitdir: ./.bare\n")
    for name in ("main", "feature"):
        _git(around, "worktree", "add", "-q", "--force", str(around / name), "main")
        assert scene.projects.find_project(str(around / name)) == Project(around, True)
    assert scene.projects.find_project(str(around)) == Project(around, True)


def test_a_jj_workspace_is_a_project_with_git_beside_it_only(scene: Scene) -> None:
    """jj commits every new file, and only `.git/info/exclude` keeps what tacitd writes out of that."""
    top, deep = scene.folder("home/u/jj"), scene.folder("home/u/jj/api/v1")
    scene.folder("home/u/jj/.jj/repo/store")
    assert "without `.git`" in scene.reason(deep)
    scene.folder("home/u/jj", git=True)
    assert scene.projects.find_project(str(deep)) == Project(top, True)


def test_never_home_system_or_root(scene: Scene) -> None:
    """DESIGN "Where it writes": never $HOME, `/`, a system directory. Below a git repository at home (dotfiles) a directory is a
    project of its own, as without git.
    """
    assert "home directory" in scene.reason(scene.home)
    assert "contains home" in scene.reason(scene.home.parent) and "contains home" in scene.reason("/")
    assert "system" in scene.reason(scene.base / "etc/x")
    scene.folder("home/u", git=True)
    assert scene.projects.find_project(str(scene.folder("home/u/work"))) == Project(
        scene.home / "work", False
    )
    assert "home directory" in scene.reason(scene.home)


def test_home_below_a_system_directory(scene: Scene) -> None:
    """DESIGN "Where it writes": a system directory, except for a home below it (`/var/lib/ci`)."""
    home = scene.folder("etc/ci")
    scene.projects = scene.make(home=home)
    project = scene.folder("etc/ci/p")
    assert scene.projects.find_project(str(project)) == Project(project, False)


def test_temporary_directories(scene: Scene) -> None:
    """DESIGN "Where it writes": never a temporary directory itself, nor a folder in it that is not a git work tree."""
    assert "temporary" in scene.reason(scene.tmp)
    assert "temporary" in scene.reason(scene.folder("tmp/a/b"))
    top = scene.folder("tmp/g", git=True)
    assert scene.projects.find_project(str(top)) == Project(top, True)
    assert Path(os.path.realpath("/tmp")) in temporary_directories({"TMPDIR": "/x/y"})
    assert Path("/x/y") in temporary_directories({"TMPDIR": "/x/y"})


def test_home_in_a_temporary_directory(scene: Scene) -> None:
    """DESIGN "Where it writes": trying tacitd with HOME in /tmp works; the home itself is still not a project."""
    home = scene.folder("tmp/home")
    scene.projects = scene.make(home=home)
    project = scene.folder("tmp/home/p")
    assert scene.projects.find_project(str(project)) == Project(project, False)
    assert "home directory" in scene.reason(home)
    assert "temporary" in scene.reason(scene.folder("tmp/other"))


def test_inside_git_node_modules_and_own_directories(scene: Scene) -> None:
    """DESIGN "Where it writes": never inside `.git` or `node_modules`, nor in `~/.claude` and the daemon's own directories."""
    scene.folder("home/u/p", git=True)
    assert ".git" in scene.reason(scene.home / "p/.git")
    assert "node_modules" in scene.reason(scene.folder("home/u/p/node_modules/x"))
    assert "Claude Code" in scene.reason(scene.folder("home/u/.claude/plugins/x", git=True))


@pytest.mark.parametrize("pattern", ["~/secret", "{home}/secret", "{home}/sec*", "sec*", "{home}/secret/**"])
def test_configured_exclusions(scene: Scene, pattern: str) -> None:
    """DESIGN "Where it writes": `projects.exclude`: paths with everything below, globs, names."""
    scene.projects = scene.make(pattern.format(home=scene.home))
    assert "projects.exclude" in scene.reason(scene.folder("home/u/secret"))
    assert "projects.exclude" in scene.reason(scene.folder("home/u/secret/a/b"))
    assert "projects.exclude" in scene.reason(scene.home / "secret/gone")
    assert isinstance(scene.projects.find_project(str(scene.folder("home/u/p"))), Project)


def test_an_exclusion_counts_also_where_no_project_may_be(scene: Scene) -> None:
    """What is in a `node_modules` of an excluded directory is as private as the rest of it."""
    scene.projects = scene.make("~/secret")
    for place in ("home/u/secret/node_modules/p", "home/u/secret"):
        found = scene.projects.find_project(str(scene.folder(place)))
        assert isinstance(found, NoProject) and found.excluded and not found.gone
    other = scene.projects.find_project(str(scene.folder("home/u/open/node_modules/p")))
    assert isinstance(other, NoProject) and not other.excluded


def test_a_removed_folder_of_a_worktree_of_an_excluded_repository(scene: Scene) -> None:
    """The linked worktree is elsewhere, and belongs to the repository also where one of its folders was removed."""
    main = scene.folder("home/u/secret")
    _git(main, "init", "-q", "-b", "main")
    _git(main, "commit", "-q", "--allow-empty", "-m", "x")
    _git(main, "worktree", "add", "-q", str(scene.home / "linked"), "-b", "other")
    scene.projects = scene.make("~/secret")
    for place in ("linked", "linked/removed"):
        found = scene.projects.find_project(str(scene.home / place))
        assert isinstance(found, NoProject) and found.excluded and not found.gone, place


def test_directory_that_is_gone(scene: Scene) -> None:
    """DESIGN "Where it writes": a deleted directory is not a project and may return, unless a repository around it exists."""
    gone = scene.projects.find_project(str(scene.home / "x/y"))
    assert isinstance(gone, NoProject) and gone.gone
    top = scene.folder("home/u/p", git=True)
    assert scene.projects.find_project(str(top / "removed/deep")) == Project(top, True)
    scene.folder("home/u", git=True)
    gone = scene.projects.find_project(str(scene.home / "z"))
    assert isinstance(gone, NoProject) and gone.gone


def test_directory_that_cannot_be_examined(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network drive without its server, or missing rights: it may return, so nothing that was typed there is skipped. What is
    excluded stays excluded."""
    path, secret = scene.folder("home/u/far/p"), scene.folder("home/u/far/secret")
    is_dir = Path.is_dir

    def fail(self: Path) -> bool:
        if self.is_relative_to(scene.home / "far"):
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return is_dir(self)

    monkeypatch.setattr(Path, "is_dir", fail)
    scene.projects = ProjectFinder(scene.home, tmpdirs=[scene.tmp], is_off=lambda root: root == secret)
    far = scene.projects.find_project(str(path))
    assert isinstance(far, NoProject) and far.gone and "not connected" in far.reason
    private = scene.projects.find_project(str(secret / "src"))
    assert isinstance(private, NoProject) and private.excluded and not private.gone
    monkeypatch.undo()
    impossible = scene.projects.find_project(str(scene.home / ("x" * 300)))
    assert isinstance(impossible, NoProject) and not impossible.gone


@pytest.mark.parametrize("cwd", ["", "relative/x", "C:\\work", "/a\0b"])
def test_no_usable_directory(scene: Scene, cwd: str) -> None:
    """S-10: a record may name no directory, or one that does not exist here."""
    assert scene.reason(cwd)


def test_a_directory_of_a_container_is_the_one_that_a_person_named(scene: Scene) -> None:
    """Issue 39 point 16: the longest name counts, and only whole parts of a path."""
    app, lib = scene.folder("home/u/app"), scene.folder("home/u/lib")
    aliases = {"/workspaces/app": str(app), "/workspaces/app/lib": str(lib)}
    scene.projects = ProjectFinder(scene.home, tmpdirs=[scene.tmp], list_aliases=lambda: aliases)
    assert scene.projects.find_project("/workspaces/app") == Project(app, False)
    assert scene.projects.find_project("/workspaces/app/lib") == Project(lib, False)
    assert "does not exist" in scene.reason("/workspaces/apple")
