"""Codex CLI as a source of transcripts: its rollouts, which it only appends to.

`<home>/sessions/YYYY/MM/DD/rollout-<local time>-<session>.jsonl`; `codex archive` moves one to `<home>/archived_sessions/`. The name
does not say whether it is a sub-agent's or a program's: its first line does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from tacitd.sources.base import ClientUse, HookFormat, OwnCalls, SessionClaim
from tacitd.sources.codex.rollout_reader import RolloutReader
from tacitd.sources.instruction_files import ContextFiles

HEAD_BYTES = 256 << 10
"""Bytes of a rollout's beginning that are read for its first lines, which contain the client's own instructions."""


def find_home(environ: Mapping[str, str]) -> Path | None:
    """Codex's own directory: `CODEX_HOME`, otherwise `~/.codex`; None if the environment names no home."""
    chosen, home = environ.get("CODEX_HOME", ""), environ.get("HOME", "")
    if chosen.startswith("/"):
        return Path(chosen)
    return Path(home) / ".codex" if home.startswith("/") else None


class Codex(Struct, frozen=True):
    """The client whose own directory is `home`. `own`: the calls that are tacitd's."""

    home: Path
    own: OwnCalls = field(default_factory=OwnCalls)
    name: str = "Codex"
    context_files: ContextFiles = field(default_factory=ContextFiles)
    hooks: HookFormat | None = None

    @property
    def roots(self) -> Sequence[Path]:
        """The directories of its rollouts; none if Codex was never used here."""
        return (self.home / "sessions", self.home / "archived_sessions") if self.home.is_dir() else ()

    @property
    def names(self) -> Sequence[str]:
        """Its name."""
        return (self.name,)

    def name_of(self, path: Path) -> str:
        """Its name."""
        return self.name

    def absent_hint(self, root: Path) -> str:
        """ "": a root that is missing is no problem, as both are made when they are needed."""
        return ""

    def why_odd(self, path: str) -> str:
        """A reason why a file with this name is not read, although it has a person's words; "" for others."""
        is_rollout = path.rpartition("/")[2].startswith("rollout-") and path.endswith(".jsonl.zst")
        return "a compressed rollout, which is not read" if is_rollout else ""

    def is_transcript(self, path: str) -> bool:
        """Whether the name is that of a rollout."""
        name = path.rpartition("/")[2]
        return name.startswith("rollout-") and name.endswith(".jsonl")

    def is_subagent(self, path: str) -> bool:
        """The name does not say it."""
        return False

    def session_of_subagent(self, path: Path) -> str | None:
        """The name does not say it."""
        return None

    def list_sessions(self) -> set[str]:
        """The ids at the end of the rollouts' names."""
        return {path.stem[-36:] for root in self.roots for path in root.glob("**/rollout-*.jsonl")}

    def list_originals(self, path: Path) -> set[str]:
        """None is known: Codex has no hook by which a text could be shown twice."""
        return set()

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        """None: what Codex loads does not depend on its version, as far as it was seen."""
        return ()

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> RolloutReader:
        """The assembler for a rollout. If it is read from the middle, its first lines are read here."""
        return RolloutReader(
            path, self.own, start, explain=explain, head=_read_beginning(path) if start else b""
        )

    def read_claims(self) -> Sequence[SessionClaim]:
        """None: a rollout does not say which process writes it."""
        return ()


def _read_beginning(path: Path) -> bytes:
    """The first lines of a rollout; b"" if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = os.pread(descriptor, HEAD_BYTES, 0)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"\n".join(data.split(b"\n", 2)[:2])
