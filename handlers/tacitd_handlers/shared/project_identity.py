"""Which project a directory belongs to, so that two folders of one name are two projects and two clones are one.

A project is its remote, without user, token and scheme; without a remote it is the path of its main work tree. Its scope is
one word, `app-1a2b3c4d`: its name, and eight digits of the hash of its identity.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from tacitd.files.git import find_repository
from tacitd.files.git_remotes import read_remote
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily

DIGITS = 8
_SCOPE = compile_lazily(r"(.+)-([0-9a-f]{8})")
_LONGEST_NAME = 48


class ProjectIdentity(Struct, frozen=True):
    """A project."""

    key: str
    """`github.com/me/app`, or the path of its main work tree."""
    scopes: tuple[str, ...]
    """`app-1a2b3c4d`, the same for each clone; then that of its path, which it had before it got a remote."""
    names: tuple[str, ...]
    """The names by which people know it, normalised: the folder's name, and the remote's last part. () if none is left."""
    root: Path
    """The top of its main work tree."""


def identify_project(directory: Path) -> ProjectIdentity:
    """Return the project that contains a directory, which need not exist. Outside git it is the directory itself."""
    here = next((path for path in (directory, *directory.parents) if path.is_dir()), directory)
    found = find_repository(Path(os.path.realpath(here)))
    top = found.top if found is not None else Path(os.path.realpath(directory))
    remote = read_remote(found) if found is not None else ""
    key = remote or os.fspath(top)
    names = [simplify_name(name) for name in (top.name, key.rsplit("/", 1)[-1])]
    keys = dict.fromkeys((key, os.fspath(top)))
    known = tuple(dict.fromkeys(name for name in names if name))
    return ProjectIdentity(key, tuple(map(_make_scope, keys)), known, top)


def _make_scope(key: str) -> str:
    digest = sha256(key.encode(errors="surrogateescape")).hexdigest()[:DIGITS]
    name = simplify_name(key.rsplit("/", 1)[-1])[:_LONGEST_NAME].rstrip("-._+")
    return f"{name or 'project'}-{digest}"


def simplify_name(name: str) -> str:
    """Return one word in lower case for a folder's name: `my-app` for `My App`; "" if nothing remains."""
    kept = "".join(char if char.isalnum() or char in "._-+" else "-" for char in name.strip().lower())
    while "--" in kept:
        kept = kept.replace("--", "-")
    return kept.strip("-._+")


def split_scope(scope: str) -> tuple[str, str]:
    """Return (name, digits) of a project's scope; (scope, "") for any other."""
    found = _SCOPE.fullmatch(scope)
    return (found[1], found[2]) if found else (scope, "")
