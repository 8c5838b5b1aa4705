"""Codex CLI as a source of transcripts: its rollouts, which it only appends to.

`<home>/sessions/YYYY/MM/DD/rollout-<local time>-<session>.jsonl`; `codex archive` moves one to `<home>/archived_sessions/`. The name
does not say whether it is a sub-agent's or a program's: its first line does. No rollout says which process writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.sources.codex.rollout_reader import RolloutReader
from tacitd.sources.lines import read_some
from tacitd.sources.source import Source

HEAD_BYTES = 256 << 10
"""Bytes of a rollout's beginning that are read for its first lines, which contain the client's own instructions."""


def find_home(environ: Mapping[str, str]) -> Path | None:
    """Codex's own directory: `CODEX_HOME`, otherwise `~/.codex`; None if the environment names no home."""
    chosen, home = environ.get("CODEX_HOME", ""), environ.get("HOME", "")
    if chosen.startswith("/"):
        return Path(chosen)
    return Path(home) / ".codex" if home.startswith("/") else None


class Codex(Source):
    """The client whose own directory is `~/.codex`."""

    name = "Codex"

    @property
    def roots(self) -> Sequence[Path]:
        """None if Codex was never used here. Both are made when they are needed."""
        return (self.home / "sessions", self.home / "archived_sessions") if self.home.is_dir() else ()

    def why_odd(self, path: str) -> str:
        is_rollout = path.rpartition("/")[2].startswith("rollout-") and path.endswith(".jsonl.zst")
        return "a compressed rollout, which is not read" if is_rollout else ""

    def is_transcript(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.startswith("rollout-") and name.endswith(".jsonl")

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> RolloutReader:
        """If the rollout is read from the middle, its first lines are read here."""
        head = read_some(path, HEAD_BYTES).split(b"\n", 2)[:2] if start else ()
        return RolloutReader(path, self.own, start, explain, head)
