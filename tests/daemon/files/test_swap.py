"""The two renames that Python does not offer, with and without the system's calls."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tacitd.files import swap
from tacitd.files.replaced import edit_file


def refuse(source: bytes, target: bytes, flag: int) -> int:
    """The call of a file system that has no such rename."""
    return errno.EINVAL


@pytest.fixture(params=["system call", "none", "refused"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A C library that has the call, one that does not, and a file system that refuses it."""
    if request.param != "system call":
        monkeypatch.setattr(
            swap, "_system_call", {"none": lambda: None, "refused": lambda: refuse}[request.param]
        )
    return bool(request.param == "system call")


def test_exchange(tmp_path: Path, system: bool) -> None:
    """DESIGN "Files": RENAME_EXCHANGE if available; False means that the caller must compare and replace."""
    one, other = tmp_path / "1", tmp_path / "2"
    one.write_text("one")
    other.write_text("other")
    swapped = swap.exchange_names(one, other)
    assert (one.read_text(), other.read_text()) == (("other", "one") if swapped else ("one", "other"))
    assert system or not swapped


def test_place_never_overwrites(tmp_path: Path, system: bool) -> None:
    """X-07: a file that appeared meanwhile belongs to a person."""
    (tmp_path / "new").write_text("new")
    (tmp_path / "there").write_text("there")
    with pytest.raises(FileExistsError):
        swap.rename_exclusive(tmp_path / "new", tmp_path / "there")
    swap.rename_exclusive(tmp_path / "new", tmp_path / "free")
    assert sorted(os.listdir(tmp_path)) == ["free", "there"] and (tmp_path / "there").read_text() == "there"
    with pytest.raises(FileNotFoundError):
        swap.rename_exclusive(tmp_path / "gone", tmp_path / "x")


@pytest.mark.usefixtures("system")
def test_an_edit_works_either_way(tmp_path: Path) -> None:
    """DESIGN "Files": compare-then-replace elsewhere."""
    for _ in range(2):
        assert edit_file(tmp_path / "a.md", lambda data: (data or b"") + b"x\n")
    assert (tmp_path / "a.md").read_bytes() == b"x\nx\n" and os.listdir(tmp_path) == ["a.md"]
