"""Claude Code as a source of transcripts: where they are, which are a sub-agent's, and what reads them.

`<home>/projects/<encoded directory>/<session>.jsonl` is a transcript. A sub-agent's is in `<session>/subagents/` (since
about 2.1.2) or beside the session as `agent-<id>.jsonl` (2.0.76). Older clients wrote sub-agents into the session's own
transcript; see rule 1 in prompts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from tacitd.sources.base import ClientUse, HookFormat, OwnCalls, SessionClaim
from tacitd.sources.claude_code import session_files
from tacitd.sources.claude_code.client_versions import list_clients
from tacitd.sources.claude_code.context_locations import CONTEXT_FILES
from tacitd.sources.claude_code.hook_events import ClaudeCodeHooks
from tacitd.sources.claude_code.line_reader import LineReader
from tacitd.sources.instruction_files import ContextFiles
from tacitd.text.lazy_pattern import compile_lazily

SUFFIX = ".jsonl"
"""The suffix of a transcript's name."""
_FIRST_ID = compile_lazily(rb'"uuid": ?"([^"]+)"')


class ClaudeCode(Struct, frozen=True):
    """The client whose own directory is `home` (`~/.claude`). `own`: the calls of it that are tacitd's."""

    home: Path
    own: OwnCalls = field(default_factory=OwnCalls)
    name: str = "Claude Code"
    context_files: ContextFiles = CONTEXT_FILES
    hooks: HookFormat = field(default_factory=ClaudeCodeHooks)

    @property
    def roots(self) -> Sequence[Path]:
        """The directory of all transcripts."""
        return (self.home / "projects",)

    @property
    def names(self) -> Sequence[str]:
        """Its name."""
        return (self.name,)

    def name_of(self, path: Path) -> str:
        """Its name."""
        return self.name

    def absent_hint(self, root: Path) -> str:
        """How the directory comes to be."""
        return "Use Claude Code once, or set CLAUDE_CONFIG_DIR."

    def why_odd(self, path: str) -> str:
        """Other files have nothing that a person typed."""
        return ""

    def is_transcript(self, path: str) -> bool:
        """Whether the name has the suffix of a transcript."""
        return path.endswith(SUFFIX)

    def is_subagent(self, path: str) -> bool:
        """Whether this is a sub-agent's transcript (rule 1)."""
        return is_subagent(path)

    def session_of_subagent(self, path: Path) -> str | None:
        """The session that a sub-agent works for; None for a name that does not say it."""
        return session_of_subagent(path)

    def list_sessions(self) -> set[str]:
        """The sessions that have a transcript: the files' names without the suffix."""
        return {path.stem for root in self.roots for path in root.glob(f"*/*{SUFFIX}")}

    def list_originals(self, path: Path) -> set[str]:
        """The sessions beside it whose transcripts begin with the same record: a fork copies the history with its ids."""
        first = _read_first_id(path)
        others = (other for other in path.parent.glob(f"*{SUFFIX}") if other != path)
        return {other.stem for other in others if first and _read_first_id(other) == first}

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        """Who wrote last in the newest transcripts."""
        return list_clients(
            self.roots, lambda path: self.is_transcript(path) and not is_subagent(path), since
        )

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> LineReader:
        """The assembler for a transcript."""
        return LineReader(path, self.own, start, explain)

    def read_claims(self) -> list[SessionClaim]:
        """What the files `sessions/<pid>.json` say."""
        return session_files.read_claims(self.home)


def _read_first_id(path: Path) -> bytes:
    """The id of the first record that has one in the first 64 KB of a transcript; b"" if there is none."""
    try:
        with path.open("rb") as file:
            found = _FIRST_ID.search(file.read(64 << 10))
    except OSError:
        return b""
    return found[1] if found else b""


def is_subagent(path: str) -> bool:
    """Whether this is a sub-agent's transcript (rule 1): it contains nothing that the person said."""
    if "/subagents/" in f"/{path}/":
        return True
    return path.rpartition("/")[2].startswith("agent-") and path.endswith(SUFFIX)


def session_of_subagent(path: Path) -> str | None:
    """Given `…/<session>/subagents/…/x.jsonl`, return the session; None for any other path."""
    parts = path.parts
    if "subagents" not in parts[:-1]:
        return None
    place = len(parts) - 2 - parts[-2::-1].index("subagents")
    return parts[place - 1] if place > 0 else None
