"""What tacitd reads of a git repository: its location, HEAD, and what only `git` can answer (ignored, tracked).

Nothing here changes a repository. The `git` program runs without the person's GIT_* variables, takes no locks, runs no hook or
fsmonitor of the repository, and fetches nothing. A work tree may be hostile: what cannot be read does not count as a repository.
An unpacked archive may contain a `.git` file, so that is trusted only if the directory that it names points back to it
(gitrepository-layout(5): `worktrees/<id>/gitdir`, `core.worktree`), and nothing is written through a link in a git directory.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tacitd.errors import FileRefusedError
from tacitd.files.disk import is_regular
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily

TIMEOUT = 5.0
"""Maximum seconds of one run of `git`."""
INDEX_LOCK = "index.lock"
"""In the git directory while a command changes the index. A command that was killed leaves it."""
UNSETTLED = 30.0
"""Seconds until the next look at a work tree in which a command changes the index, or something is under way."""
UNSETTLED_HINT = "finish or abort the merge or rebase; remove a lock if no git runs"
_UNDER_WAY = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_SMALL = 1 << 20
_MOST_WORKTREES = 200
_LARGEST_INDEX = 16 << 20
"""Bytes; a tree of 100,000 files has an index of that size."""
_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.bareRepository=explicit"),
    # It would start a second git in each submodule, which these options do not reach.
    *("-c", "submodule.recurse=false"),
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "LC_ALL": "C",
}


class Repository(NamedTuple):
    """A work tree and the directories that belong to it."""

    top: Path
    """The top level of the main work tree. Of a bare repository: the directory beside it whose `.git` file names it, otherwise
    itself."""
    here: Path
    """The top level of the work tree that was asked about."""
    git_dir: Path
    """That work tree's own git directory: its HEAD, index, MERGE_HEAD."""
    common_dir: Path
    """The git directory that all work trees share: refs, packed-refs, info/exclude."""


class GitLook(NamedTuple):
    """What a look at a work tree found."""

    root: Path
    """Of its project, as `find_project_root` returns it."""
    tree: Path
    """The top level of the work tree; the root without git."""
    unsettled: Path | None
    """What shows that a git command is changing the index now, or that a merge, rebase, cherry-pick or revert is under way: a file or
    directory in the git directory."""
    checkout: str
    """As `read_checkout` returns it. It was read after `unsettled`."""


class UnsafeGitDirectory(NamedTuple):
    """A git directory in which nothing may be written."""

    reason: str


# --- where a repository is


def find_repository(directory: Path) -> Repository | None:
    """Given an existing directory, return the repository whose work tree it is in, as git would find it: none if a `.git` file on the
    way names no git directory."""
    here, above = "", os.fspath(directory)  # texts: it is asked for each look at a file
    try:
        while here != above:
            here = above
            mark = os.path.join(here, ".git")  # noqa: PTH118
            mode = _mode_of(mark)
            if stat.S_ISREG(mode):
                return _from_file(Path(here), Path(mark))
            if mode and stat.S_ISREG(_mode_of(f"{mark}/HEAD")):
                return Repository(Path(here), Path(here), Path(mark), Path(mark))
            above = os.path.dirname(here)  # noqa: PTH120
    except (OSError, ValueError):
        # A directory on the way is not accessible: git would not find the repository either.
        return None
    return None


def _mode_of(path: str) -> int:
    """The type and mode of what a path leads to; 0 if there is nothing. Raises OSError if that is not known, and ValueError."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return 0
        raise


def _from_file(here: Path, mark: Path) -> Repository | None:
    """The repository of a linked work tree, a submodule or a separate git directory."""
    own = _follow(mark)
    if own is None or not (own / "HEAD").is_file():
        return None
    shared, back = (read_small_file(own / name).strip() for name in ("commondir", "gitdir"))
    common = _resolve(own, shared) if shared else own
    if own.parent != common / "worktrees" or not back or _resolve(own, back) != mark:
        # `commondir` of a hostile archive may name any repository, which does not list this work tree: a project of its own.
        return Repository(here, here, own, own)
    main = common.parent
    if common.name != ".git":
        main = here if not _is_bare(common) else main if _follow(main / ".git") == common else common
    return Repository(main, here, own, common)


def _follow(mark: Path) -> Path | None:
    said = read_small_file(mark)
    return _resolve(mark.parent, said.removeprefix("gitdir:").strip()) if said.startswith("gitdir:") else None


def find_jj(directory: Path) -> Path | None:
    """Given an existing directory in no git repository, return the top of the jj workspace that it is in."""
    return next((here for here in (directory, *directory.parents) if (here / ".jj/repo").exists()), None)


def find_project_root(directory: Path) -> Path:
    """The root of the project that a directory belongs to: the git top level, the main worktree's in a linked one,
    otherwise the directory itself. The directory need not exist; links are resolved.
    """
    return _find_root(directory)[0]


def _find_root(directory: Path) -> tuple[Path, Repository | None]:
    """As `find_project_root`, with the repository that the directory is in."""
    here = directory
    while not here.is_dir() and here != here.parent:
        here = here.parent
    found = find_repository(Path(os.path.realpath(here)))
    return (found.top if found is not None else Path(os.path.realpath(directory))), found


def _repository_at(root: Path) -> Repository | None:
    """The repository whose work tree has exactly this top level, or that is bare and here itself."""
    found = find_repository(root)
    if found is not None and found.here == root:
        return found
    return Repository(root, root, root, root) if _is_bare(root) else None


def _is_bare(directory: Path) -> bool:
    there = (directory / "HEAD").is_file() and (directory / "objects").is_dir()
    said = read_small_file(directory / "config") if there else ""
    return re.search(r"^\s*bare\s*=\s*true\s*$", said, re.I | re.M) is not None


def _resolve(base: Path, text: str) -> Path:
    return Path(os.path.realpath(base / text))


def locate_exclude_file(root: Path) -> Path | UnsafeGitDirectory | None:
    """Given a work tree's top level, return its `info/exclude` (which need not exist); None without git.

    UnsafeGitDirectory if a link is on the way to it, or if `.git` names a directory outside the work tree that does not
    point back, because that one may be another project's.
    """
    found = _repository_at(root)
    if found is None:
        return None
    mark, common = root / ".git", found.common_dir
    if mark.is_file() and common == found.git_dir and not common.is_relative_to(root):
        config = read_small_file(common / "config")
        named = re.search(r'^\s*worktree\s*=\s*"?([^"\n]*?)"?\s*$', config, re.I | re.M)
        if named is None or _resolve(common, named[1].replace("\\\\", "\\")) != root:
            return UnsafeGitDirectory(f"{mark} leads to {common}, which does not name this work tree")
    info = common / "info"
    linked = next((path for path in (mark, info, info / "exclude") if path.is_symlink()), None)
    return UnsafeGitDirectory(f"{linked} is a link") if linked is not None else info / "exclude"


def list_linked_worktrees(root: Path) -> list[Path]:
    """Given a project's root, return those of its linked work trees that exist, sorted; [] for a linked work tree. An unpacked archive
    may list any directory, so an entry counts only if that directory's `.git` file names the entry too."""
    found = _repository_at(root)
    directory = (found.common_dir if found else root / ".git") / "worktrees"
    if (root / ".git").is_symlink() or directory.is_symlink():
        return []
    try:
        entries = list(islice(directory.iterdir(), _MOST_WORKTREES))
    except OSError:
        return []
    tops = set[Path]()
    for entry in entries:
        named = read_small_file(entry / "gitdir").strip()  # it may be relative (worktree.useRelativePaths)
        with suppress(OSError, ValueError):
            top = _resolve(entry, named).parent
            tree = find_repository(top) if named and top != root and top.is_dir() else None
            if tree is not None and tree.here == top and tree.top == Path(os.path.realpath(root)):
                tops.add(top)
    return sorted(tops)


def list_work_trees(root: Path) -> list[Path]:
    """The linked work trees of a project, behind its root; without it if its repository is bare, which has no files of its own there."""
    found = _repository_at(root)
    is_bare = _is_bare(root if (root / "HEAD").is_file() or found is None else found.common_dir)
    return [*([] if is_bare else [root]), *list_linked_worktrees(root)]


# --- what it has


def _read_head(found: Repository) -> str:
    """HEAD's commit id; "" without a commit. If refs are not files (reftable), it is a hash of their table."""
    tables = found.git_dir / "reftable/tables.list"
    if tables.is_file():
        return "reftable:" + sha256(read_small_file(tables).encode()).hexdigest()[:40]
    head = read_small_file(found.git_dir / "HEAD").strip()
    if head.startswith("ref:"):
        head = _read_ref(found, head.removeprefix("ref:").strip())
    return head if re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", head) else ""


def _read_ref(found: Repository, ref: str) -> str:
    if not ref.startswith("refs/") or ".." in ref.split("/"):
        return ""
    for directory in (found.git_dir, found.common_dir):
        if commit := read_small_file(directory / ref).strip():
            return commit
    packed = read_small_file(found.common_dir / "packed-refs", 64 * _SMALL)
    named = re.search(rf"^(\S+) {re.escape(ref)}$", packed, re.M)
    return named[1] if named else ""


def read_checkout(root: Path) -> str:
    """Given a work tree's top level, return a text that differs after git has checked out something else: HEAD has moved, also
    there and back, or `git stash` put changes away or back. "" without git.

    It ends in the size of HEAD's log, to which each move and each `reset` appends; 0 without one (core.logAllRefUpdates).
    """
    found = _repository_at(root)
    return _read_checkout(found) if found is not None else ""


def _read_checkout(found: Repository) -> str:
    stash = read_small_file(found.common_dir / "refs/stash").strip()
    try:
        size = (found.git_dir / "logs/HEAD").stat().st_size
    except OSError:
        size = 0
    return f"{_read_head(found)} {stash} {size}"


def is_same_commit(checkout: str, other: str) -> bool:
    """Whether two texts of `read_checkout` have the same commit and stash, whatever was checked out in between."""
    return checkout.rpartition(" ")[0] == other.rpartition(" ")[0]


def look_at(directory: Path) -> GitLook:
    """Look at the project and the work tree that a directory belongs to. The directory need not exist."""
    root, found = _find_root(directory)
    if found is None:
        found = _repository_at(root)  # it may be bare
    marks = [found.git_dir / name for name in (INDEX_LOCK, *_UNDER_WAY)] if found is not None else []
    unsettled = next((mark for mark in marks if mark.exists()), None)
    if found is None:
        return GitLook(root, root, unsettled, "")
    return GitLook(root, found.here, unsettled, _read_checkout(found))


def is_ignored(root: Path, path: Path) -> bool:
    """Whether git ignores this path (which need not exist) in the work tree `root`. False if git fails."""
    return run_git(["check-ignore", "-q", "--", os.fspath(path)], root) == 0


def is_tracked(root: Path, path: Path) -> bool:
    """Whether this path is in the index of the work tree `root`. False if git fails."""
    return path.is_relative_to(root) and read_index_mode(root, path) not in ("", "unknown")


def read_index_mode(root: Path, path: Path) -> str:
    """Return how the index of the work tree `root` has this path: as `100644`, `120000` for a link; "" if it has not.

    "unknown" if git cannot say. Case is ignored, because a file system may ignore it. git is not started for a path that no entry
    of the index can be.
    """
    found, name = _repository_at(root), path.relative_to(root).as_posix()
    if found is None or not _may_list(found.git_dir / "index", name):
        return ""
    done = _execute(["ls-files", "-s", "-z", "--", f":(top,icase,literal){name}"], root)
    return "unknown" if done is None or done[0] else done[1][:6].decode()


def _may_list(index: Path, path: str) -> bool:
    """Whether an index may list a path: in versions 2 and 3 each entry ends with its path, unless the index is split or sparse."""
    data = _read_start(index, _LARGEST_INDEX)
    is_plain = 12 <= len(data) < _LARGEST_INDEX and data.startswith((b"DIRC\0\0\0\2", b"DIRC\0\0\0\3"))
    if not is_plain or b"link" in data or b"sdir" in data or not path.isascii():
        return index.exists()
    return path.encode().lower() in data.lower()


def _read_start(path: Path, limit: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.pread(fd, limit, 0) if is_regular(os.fstat(fd)) else b""
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return b""


def read_small_file(path: Path, limit: int = _SMALL) -> str:
    """Return the first `limit` bytes of a file as text; "" if it is not a readable regular file. Does not wait for a FIFO."""
    return os.fsdecode(_read_start(path, limit))


# --- the program


def run_git(arguments: Sequence[str], directory: Path) -> int | None:
    """Run `git` in a top-level directory and return its exit code; None if it is absent or takes over 5 s."""
    done = _execute(arguments, directory)
    return done[0] if done is not None else None


def _execute(arguments: Sequence[str], directory: Path) -> tuple[int, bytes] | None:
    """The exit code and what it printed; None as in `run_git`. Raises FileRefusedError if git does not
    read a repository that belongs to another user: it would seem to track nothing."""
    import subprocess  # most commands only read git's files, and it takes nearly as long to import as Python to start
    from shutil import which

    program = which("git")
    if sys.platform == "darwin" and program == "/usr/bin/git":
        # On a Mac without the developer tools, it only opens a window that offers them.
        tools = ("/Library/Developer/CommandLineTools", "/Applications/Xcode.app")
        program = program if any(Path(tool).exists() for tool in tools) else None
    if program is None:
        return None
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Without the ceiling, a git that refuses this directory's `.git` would search the parents and answer for another repository.
    environment = kept | _ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": str(directory.parent)}
    pipe, command = subprocess.PIPE, [program, *_SAFE, *arguments]
    try:
        child = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe,
            start_new_session=True,
        )  # fmt: skip
    except OSError:
        return None
    with child:
        try:
            printed, said = child.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)  # with what it started, which holds its pipes open
            return None
    if child.returncode and b"dubious ownership" in said:
        hint = f"if you trust it: git config --global --add safe.directory {directory}"
        raise FileRefusedError(f"git does not read {directory}, which belongs to another user", hint)
    return child.returncode, printed


# --- the address that identifies a repository: its remote, without what differs between clones

_REMOTE = compile_lazily(
    r'^\s*\[\s*remote\s+"([^"]*)"\s*\][^[]*?^\s*url\s*=[ \t]*(\S[^\n]*?)\s*$', re.IGNORECASE | re.MULTILINE
)
_ADDRESS = compile_lazily(
    r"(?:(?!file:)[a-z][a-z0-9+.-]*://(?:[^/]*@)?(?P<host>\[[^]]+\]|[^/:]+)(?::\d+)?/|(?:[^/@:]+@)?(?P<short>[^/@:]{2,}):(?!//))/*(?P<path>[^?#]*)",
    re.IGNORECASE,
)
"""A URL, or `git@github.com:me/app.git`."""


def read_remote(repository: Repository) -> str:
    """Return the normalised address of a repository's remote `origin`, otherwise of its first remote; "" without one."""
    found = _REMOTE.findall(read_small_file(repository.common_dir / "config"))
    urls = dict(reversed(found))  # of several, the first counts
    url = urls.get("origin") or next((urls[name] for name in sorted(urls)), "")
    return normalise_remote(url, repository.top)


def normalise_remote(url: str, base: Path | None = None) -> str:
    """Return `github.com/me/app` for any form of the address, or a path for a repository on this machine; "" for none. It is compared
    and never shown. `base`: the directory that a relative path starts at."""
    url = url.strip().strip("\"'")
    found = _ADDRESS.match(url)
    if found is not None:
        path = found["path"].casefold().rstrip("/").removesuffix(".git")
        return f"{(found['host'] or found['short']).casefold()}/{path}"
    place = (
        os.path.realpath((base or Path("/")) / Path(url.removeprefix("file://")).expanduser()) if url else ""
    )
    return place.removesuffix("/.git").removesuffix(".git")
