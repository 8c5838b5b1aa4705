"""Take a forgotten item out of the person's rules file: the hook `purge` of the reach plugin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacitd.handler import Tools
from tacitd_handlers.reach.handler import ReachHandler


def purge_words(handler: ReachHandler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Bring the rules file up to date at once; return it if it changed. What was forgotten is not in its sources any more.

    Raises OSError, FileBusyError, FileRefusedError.
    """
    del id, texts
    return handler.update_now(tools)
