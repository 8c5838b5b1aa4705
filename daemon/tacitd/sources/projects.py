"""From a record's working directory to its project, or to the reason why it has none (S-10).

The rule of DESIGN "Where it writes" belongs here: only this module decides what is never a project. It starts no process
and writes nothing. Questions about a known repository are answered by `tacitd.files.git`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from tacitd.events import NoProject, Project
from tacitd.files import git

NEVER_INSIDE = (".git", "node_modules")
_UNIX = "/etc /usr /bin /sbin /var /opt /lib /lib32 /lib64 /libx32 /boot /dev /proc /sys /run /snap /nix"
_MAC = "/System /Library /Applications /private/etc /private/var /cores /usr /bin /sbin /etc /var /opt /dev"
SYSTEM = tuple((_MAC if sys.platform == "darwin" else _UNIX).split())
"""System directories: they and everything below are not projects, except for a home directory below them."""


def temporary_directories(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Given an environment, return all directories for temporary files, with their links resolved."""
    import tempfile  # with shutil, lzma and random, for a command that asks for no default

    named = [tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm", env.get("TMPDIR", "")]
    mac = ["/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders"]
    every = [*named, *(mac if sys.platform == "darwin" else [])]
    return tuple(dict.fromkeys(Path(os.path.realpath(one)) for one in every if one.startswith("/")))


class ProjectFinder:
    """Finds projects. Thread-safe.

    `excludes`: paths (with everything below) and globs; `~` is allowed; a pattern without `/` matches the name of any
    folder on the path. `private`: `~/.claude` and the daemon's own directories.
    """

    def __init__(
        self,
        home: Path,
        *,
        excludes: Sequence[str] = (),
        private: Sequence[Path] = (),
        tmpdirs: Sequence[Path] | None = None,
        system: Sequence[str] = SYSTEM,
        is_off: Callable[[Path], bool] = lambda root: False,
        list_aliases: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`list_aliases`: directories as other machines name them, such as a container's, and which they are here. `is_off`: whether a
        person excluded the project with this root (`tacitd exclude`). Asked only where it cannot be found any more: otherwise its
        write mode says so."""
        self._home = _real(home)
        self._excludes = [_pattern(text, home) for text in excludes]
        self._private = [_real(path) for path in private]
        found = temporary_directories(os.environ) if tmpdirs is None else tmpdirs
        self._tmpdirs = [_real(path) for path in found]
        self._system = [Path(path) for path in system]
        self._is_off = is_off
        self._list_aliases = list_aliases

    def find_project(self, cwd: str) -> Project | NoProject:
        """Given a working directory as a record names it, return its project."""
        if not cwd:
            return NoProject(cwd, "the record names no working directory")
        if not cwd.startswith("/") or "\0" in cwd:
            return NoProject(cwd, "the working directory is not an absolute path")
        aliases = self._list_aliases()
        alias = max((one for one in aliases if f"{cwd}/".startswith(f"{one}/")), key=len, default="")
        place = _real(Path(aliases[alias] + cwd.removeprefix(alias) if alias else cwd))
        try:
            existing = next(one for one in (place, *place.parents) if one.is_dir())
            repository = git.find_repository(existing)
            jj = git.find_jj(existing) if repository is None else None
        except OSError as error:
            reason = f"the working directory cannot be looked at ({error.strerror})"
            # No directory can have a name that is too long; everything else may be over later.
            return self._refuse(cwd, place, place, reason, gone=error.errno != errno.ENAMETOOLONG)
        if repository is not None and self._home.is_relative_to(repository.top):
            repository = None  # a person's dotfiles: below them, each directory is what it is without git
        if jj is not None and not self._home.is_relative_to(jj):
            reason = f"{jj} is a jj workspace without `.git`, so what tacitd writes could not be ignored"
            return self._refuse(cwd, place, jj, reason)
        root = repository.top if repository is not None else place
        if existing != place and (repository is None or self._refusal(existing, root, True)):
            return self._refuse(cwd, place, root, "the working directory does not exist", gone=True)
        reason = self._refusal(place, root, repository is not None)
        return self._refuse(cwd, place, root, reason) if reason else Project(root, repository is not None)

    def _refuse(self, cwd: str, place: Path, root: Path, reason: str, *, gone: bool = False) -> NoProject:
        """Of several reasons, a person's exclusion counts: it forbids more than the others."""
        exclusion = self._exclusion(place, root) or (self._past_exclusion(place) if gone else "")
        return NoProject(cwd, exclusion or reason, gone and not exclusion, bool(exclusion))

    def _refusal(self, place: Path, root: Path, is_git: bool) -> str:
        """Why neither this directory nor its top level may be a project; "" if it may."""
        for name in NEVER_INSIDE:
            if name in place.parts:
                return f"it is inside a {name} directory"
        for own in self._private:
            if place.is_relative_to(own) or root.is_relative_to(own):
                return f"it belongs to Claude Code or to tacitd itself ({own})"
        return self._exclusion(place, root) or self._refused_root(root, is_git)

    def _exclusion(self, place: Path, root: Path) -> str:
        """Why a person does not want this directory or its top level as a project; "" if there is no reason."""
        for pattern in self._excludes:
            if _matches(place, pattern) or _matches(root, pattern):
                return f"the configuration excludes it (projects.exclude: {pattern})"
        return ""

    def _past_exclusion(self, place: Path) -> str:
        """Why a project that was here is excluded; "" if none was. Its root is this directory, or one above it that is gone too."""
        for one in (place, *place.parents):
            with suppress(OSError):  # it is there perhaps, and cannot be examined
                if one.is_dir():
                    return ""
            if self._is_off(one):
                return f"{one} is excluded"
        return ""

    def _refused_root(self, root: Path, is_git: bool) -> str:
        """Why this directory is too general to be a project; "" if it is not."""
        if root == self._home:
            return "it is the home directory"
        if self._home.is_relative_to(root):
            return "it contains home directories"
        for tmpdir in self._tmpdirs:
            if root == tmpdir:
                return "it is a directory for temporary files"
            if root.is_relative_to(tmpdir):
                is_own = is_git or self._at_home(root, than=tmpdir)
                return "" if is_own else "it is a temporary folder without git"
        is_system = any(root.is_relative_to(one) for one in self._system) and not self._at_home(root)
        return "it is a system directory" if is_system or root == Path("/") else ""

    def _at_home(self, root: Path, than: Path = Path("/")) -> bool:
        """Whether it is in the home directory, and that is below `than`."""
        return root.is_relative_to(self._home) and self._home != than and self._home.is_relative_to(than)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _pattern(text: str, home: Path) -> str:
    """An exclusion as configured with `~` resolved and, for a plain path, its links too."""
    whole = os.fspath(home) + text[1:] if text == "~" or text.startswith("~/") else text
    plain = whole.startswith("/") and not any(mark in whole for mark in "*?[")
    return os.path.realpath(whole) if plain else whole.rstrip("/")


def _matches(path: Path, pattern: str) -> bool:
    """Whether a pattern matches this path or any folder above it."""
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in path.parts)
    return any(
        str(one) == pattern or fnmatchcase(str(one), pattern.removesuffix("/**"))
        for one in (path, *path.parents)
    )
