"""The address that identifies a repository (SPEC E-30)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacitd.files.git import find_repository, normalise_remote, read_remote

SAME = """
https://github.com/me/app https://github.com/Me/App.git https://github.com/me/app/ http://github.com/me/app.git
https://me:ghp_token@github.com/me/app.git https://x-access-token:ghs_token@GitHub.com/me/app git@github.com:me/app.git
github.com:me/app ssh://git@github.com/me/app.git ssh://git@github.com:22/me/app.git git://github.com/me/app.git
git+ssh://git@github.com/me/app https://github.com/me/app.git?token=x#y
"""
OTHER = {
    "https://github.com/you/app.git": "github.com/you/app",
    "https://gitlab.com/me/app.git": "gitlab.com/me/app",
    "git@host:group/sub/app.git": "host/group/sub/app",
    "ssh://git@[::1]:2222/me/app": "[::1]/me/app",
    "/srv/git/app.git": "/srv/git/app",
    "file:///srv/git/app.git": "/srv/git/app",
    "../app": "/home/u/app",
    "": "",
    "  ": "",
    "https://example.com/me/app@v2": "example.com/me/app@v2",
    "https://example.com:8443/@scope/app": "example.com/@scope/app",
    "ssh://git@intranet/me/app@v2": "intranet/me/app@v2",
}


@pytest.mark.parametrize(
    ("url", "address"), [*dict.fromkeys(SAME.split(), "github.com/me/app").items(), *OTHER.items()]
)
def test_clones_of_one_repository_have_one_address(url: str, address: str) -> None:
    """Whatever the way to it, and without what identifies a person."""
    assert normalise_remote(url, Path("/home/u/clone")) == address


def repository(root: Path, config: str | bytes) -> str:
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_bytes(config.encode() if isinstance(config, str) else config)
    found = find_repository(root)
    assert found is not None
    return read_remote(found)


def test_origin_is_the_remote_that_counts(tmp_path: Path) -> None:
    """Otherwise the first by name; a section with another name has no remote."""
    both = '[remote "fork"]\n\turl = git@h:me/fork\n[remote "origin"]\n\turl = https://h/me/app\n\turl = https://h/second\n'
    assert repository(tmp_path / "a", both) == "h/me/app"
    two = '[remote "z"]\nurl=git@h:me/z\n[branch "main"]\nurl = https://h/no\n[remote "b"]\n  URL = https://u:p@h/me/b\n'
    assert repository(tmp_path / "b", two) == "h/me/b"
    assert repository(tmp_path / "c", "[core]\n\tbare = false\n") == ""


@pytest.mark.timeout(10)
def test_a_config_that_cannot_be_read_has_no_remote(tmp_path: Path) -> None:
    """Bad input: bytes, no file, a directory in its place, a FIFO, which would wait for a writer."""
    assert repository(tmp_path, b"\xff\xfe[remote\0") == ""
    found, config = find_repository(tmp_path), tmp_path / ".git/config"
    assert found is not None
    config.unlink()
    assert read_remote(found) == ""
    config.mkdir()
    assert read_remote(found) == ""
    config.rmdir()
    os.mkfifo(config)
    assert read_remote(found) == ""
