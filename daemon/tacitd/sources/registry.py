"""The source of transcripts that is used: the only place that names clients' own packages.

app.py passes it to the engine. Commands that read transcripts without a daemon get it here too. A session's start needs only
the names of files, so what reads transcripts is imported when a source is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tacitd.sources.claude_code import RULES

if TYPE_CHECKING:
    from tacitd.sources.source import OwnCalls, Source

__all__ = ["RULES", "find_codex", "make_source"]


def make_source(
    home: Path, own: OwnCalls | None = None, environ: Mapping[str, str] = MappingProxyType({})
) -> Source:
    """Given Claude Code's own directory (`Paths.config_dir`), return the source of its transcripts, and of those of Codex if the
    environment says where these are. `own`: what identifies the model calls of tacitd, which are not prompts."""
    from tacitd.sources.claude_code.transcripts import ClaudeCode
    from tacitd.sources.codex.rollouts import Codex, find_home
    from tacitd.sources.source import CombinedSource

    first, codex = ClaudeCode(home, own), find_home(environ)
    return CombinedSource(first, Codex(codex, own)) if codex is not None else first


def find_codex(environ: Mapping[str, str]) -> Path | None:
    """Codex's own directory, if it was used here."""
    from tacitd.sources.codex.rollouts import find_home

    home = find_home(environ)
    return home if home is not None and home.is_dir() else None
