"""The transcripts of persons, as the follower lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from tacitd.sources.follow import Follower
from tacitd.sources.watch import SilentWatcher
from tacitd.testing import FakeClock


class _Source:
    def __init__(self, root: Path) -> None:
        self.roots = [root]

    def is_transcript(self, path: object) -> bool:
        return str(path).endswith(".jsonl")

    def is_subagent(self, path: str) -> bool:
        return "agent" in path

    def why_odd(self, path: str) -> str:
        return ""


def test_what_is_listed_is_as_of_the_last_poll(tmp_path: Path) -> None:
    """`status` and `sync` count unread bytes by it: growth, new files and removed ones are in it after the poll that finds them."""
    root = tmp_path / "projects"
    root.mkdir()
    one, agent = root / "one.jsonl", root / "agent.jsonl"
    one.write_text("a")
    agent.write_text("a")
    follower = Follower(cast("Any", _Source(root)), FakeClock(1_000_000.0), SilentWatcher, lambda: None)
    follower.start()
    follower.poll(full=True)

    def sizes() -> dict[str, int]:
        return {Path(name).name: stamp.size for name, stamp in follower.list_own().items()}

    assert sizes() == {"one.jsonl": 1}
    one.write_text("abc")
    (root / "two.jsonl").write_text("a")
    follower.poll(full=True)
    assert sizes() == {"one.jsonl": 3, "two.jsonl": 1}
    one.unlink()
    follower.poll(full=True)
    assert sizes() == {"two.jsonl": 1}
