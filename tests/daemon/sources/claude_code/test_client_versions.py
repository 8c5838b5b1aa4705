"""Which clients wrote the newest transcripts."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacitd.sources.base import ClientUse
from tacitd.sources.claude_code.client_versions import TAIL
from tacitd.sources.registry import make_source

NOW = 1_700_000_000.0


def write(home: Path, name: str, at: float, *records: dict[str, Any] | str) -> Path:
    path = home / "projects" / "p" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("".join(f"{line}\n" for line in lines))
    os.utime(path, (at, at))
    return path


def user(version: str, cwd: str, **more: str) -> dict[str, Any]:
    return {"type": "user", "version": version, "cwd": cwd, "message": {"content": "hi"}, **more}


def test_who_wrote_last_in_each_transcript(tmp_path: Path) -> None:
    """The newest first; the last client of a session that was resumed with another; what a program drove."""
    summary = {"type": "summary", "summary": "no version here"}
    write(tmp_path, "a.jsonl", NOW, user("2.1.63", "/old"), user("2.1.328", "/w/app"), summary)
    write(tmp_path, "b.jsonl", NOW + 1, user("2.1.63", "/w/app", entrypoint="sdk-cli"), summary)
    assert make_source(tmp_path).list_clients(NOW - 10) == [
        ClientUse("2.1.63", "/w/app", True, NOW + 1),
        ClientUse("2.1.328", "/w/app", False, NOW),
    ]
    assert [use.version for use in make_source(tmp_path).list_clients(NOW)] == ["2.1.63"]


def test_only_the_end_is_read(tmp_path: Path) -> None:
    """A transcript of megabytes costs no more than a short one."""
    long = {"type": "user", "message": {"content": "x" * TAIL}}
    write(tmp_path, "a.jsonl", NOW, user("2.0.76", "/a"), long, user("2.1.328", ""), '{"torn')
    assert make_source(tmp_path).list_clients(0.0) == [ClientUse("2.1.328", "", False, NOW)]


def test_a_folder_that_cannot_be_examined_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems do not say in a listing what is a directory: then each entry is examined, which may fail."""
    write(tmp_path, "a.jsonl", NOW, user("2.1.328", "/a"))

    class Listed:
        """Directories as `os.scandir` lists them, with one that cannot be examined."""

        def __init__(self, path: str | Path) -> None:
            self.entries = [*scan(path), *([Refused()] if Path(path).name == "projects" else [])]

        def __enter__(self) -> Iterator[Any]:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None: ...

    class Refused:
        path = str(tmp_path / "projects/q")

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            raise PermissionError(errno.EACCES, "Permission denied")

    scan = os.scandir
    monkeypatch.setattr(os, "scandir", Listed)
    assert [use.cwd for use in make_source(tmp_path).list_clients(0.0)] == ["/a"]


def test_bad_files_are_left_out(tmp_path: Path) -> None:
    """A FIFO does not block; a link is not followed; sub-agents and records without a version say nothing."""
    path = write(tmp_path, "a.jsonl", NOW, "null", "[1]", '{"version":7}', "\0\0")
    os.mkfifo(path.with_name("fifo.jsonl"))
    path.with_name("link.jsonl").symlink_to(path)
    write(tmp_path, "agent-1.jsonl", NOW, user("2.1.328", "/a"))
    assert make_source(tmp_path).list_clients(0.0) == []
    assert make_source(tmp_path / "nowhere").list_clients(0.0) == []
