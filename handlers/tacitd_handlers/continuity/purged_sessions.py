"""Blank a forgotten line's words in the sessions' files: the hook `purge` of the continuity plugin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tacitd.files.purge import blank_in_place
from tacitd.handler import Handler, Tools
from tacitd_handlers.continuity.session_names import PREFIX, SUFFIX
from tacitd_handlers.continuity.store import SessionStore


def purge_words(handler: Handler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank these texts in every session's file; return the files that changed. The first and third argument are not needed.

    Raises OSError.
    """
    del handler, id
    folder = SessionStore.from_environ(os.environ, tools.clock).folder
    return [path for path in sorted(folder.glob(f"{PREFIX}*{SUFFIX}")) if blank_in_place(path, texts)]
