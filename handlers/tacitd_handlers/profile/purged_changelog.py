"""Blank a forgotten value or line in the profile's changelog: the hook `purge` of the profile plugin.

The values that profile.json has now stay: they are other values, or the person's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tacitd.files.log import BLANK, Log
from tacitd.files.purge import blank_value
from tacitd.handler import Handler, Tools
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.changelog import QUARANTINE, prune_changelog
from tacitd_handlers.profile.store import ProfileStore


def purge_words(handler: Handler, tools: Tools, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank these texts, and the values of the path `id`, in the changelog; return the files that changed.

    Raises OSError, LogDamagedError.
    """
    del handler
    store = ProfileStore.from_environ(os.environ, tools.clock)
    quarantine = Log(store.directory / QUARANTINE, store.disk)
    prune_changelog(store.log, tools.clock.now(), quarantine)  # what is no entry would be lost below
    return [log.path for log in (store.log, quarantine, store.waiting_log) if _purge_log(log, id, texts)]


def _purge_log(log: Log, id: str, texts: Sequence[str]) -> bool:
    with closing(log):
        if all(_blank_entry(entry, id, texts) == entry for entry in log.read()):
            return False
        log.compact(_blank_entry(entry, id, texts) for entry in log.read())
        return True


def _blank_entry(entry: Mapping[str, Any], id: str, texts: Sequence[str]) -> dict[str, Any]:
    blanked: dict[str, Any] = blank_value(dict(entry), texts)
    changes = blanked.get("changes")
    if isinstance(changes, dict) and (value := dot_paths.get_value(changes, id)) is not None:
        blanked["changes"] = dot_paths.put_value(changes, id, [BLANK] if isinstance(value, list) else BLANK)
    return blanked
