"""The folders that a session worked in."""

from __future__ import annotations

import json

import pytest

from tacitd.events import ToolUse
from tacitd_handlers.learning.folders import FOLDERS_LIMIT, folders_of


def _use(**given: object) -> ToolUse:
    return ToolUse("t", "Edit", json.dumps(given).encode())


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({"file_path": "/p/src/auth/login.py"}, "src/auth"),
        ({"file_path": "/p/src/auth/Makefile"}, "src/auth"),
        ({"file_path": "src/auth/x.py"}, "src/auth"),
        ({"notebook_path": "/p/nb/x.ipynb"}, "nb"),
        ({"path": "/p/src/auth"}, "src/auth"),
        ({"path": "/p/src/auth/"}, "src/auth"),
        ({"path": "/p/src/auth/login.py"}, "src/auth"),
        ({"path": "/p/.github"}, ".github"),
        ({"file_path": "/p/src/../lib/x.py"}, "lib"),
        ({"file_path": "/w/src/x.py"}, "src"),
    ],
)
def test_folders_of_files(given: dict[str, object], folder: str) -> None:
    """S-30: folders are relative to the project, or to a worktree of it."""
    assert folders_of("/p", [_use(**given)], worktrees=["/w"]) == (folder,)


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "/p/README.md"}, {"path": "/p"}, {"path": "."}, {"file_path": "/etc/passwd"},
        {"file_path": "../out/x.py"}, {"file_path": "/p/../q/a/x"}, {"file_path": "/prefix/a/x"}, {"command": "cat src/x.py"},
        {"file_path": 5}, {"file_path": ""}, {"file_path": "/p/a\nb/x"}, {"file_path": "/p/node_modules/x/y.js"},
        {"path": "~/x"} | {"path": ""},
    ],
)  # fmt: skip
def test_left_out(given: dict[str, object]) -> None:
    """S-30: the root, folders outside the project, vendored folders, and text that is not a path are left out."""
    assert folders_of("/p", [_use(**given)]) == ()


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 5000])
def test_input_that_is_none(data: bytes) -> None:
    """S-30: an input that cannot be parsed names no folder."""
    assert folders_of("/p", [ToolUse("t", "Edit", data)]) == ()


def test_most_often_first_then_by_name_and_capped() -> None:
    """S-30: at most 30."""
    uses = [_use(file_path=f"/p/{name}/x") for name in ("b", "a", "c", "c")]
    assert folders_of("/p", uses) == ("c", "a", "b")
    assert len(folders_of("/p", [_use(file_path=f"/p/f{n}/x") for n in range(50)])) == FOLDERS_LIMIT


def test_relative_to_the_working_directory() -> None:
    """S-30: a relative path is relative to the session's directory."""
    assert folders_of("/p", [_use(file_path="x.py")], cwd="/p/src") == ("src",)
