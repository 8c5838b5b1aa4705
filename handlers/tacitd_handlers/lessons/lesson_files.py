"""The lessons' files for `uninstall --purge`.

The log and promoted/ belong to the person, the lock and the index do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.handler import Footprint
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.store import LOCK


def lessons_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes, those that it keeps, and their directories.

    The index can be rebuilt from the log.
    """
    place = lesson_paths.lessons_dir(environ)
    promoted = place / lesson_paths.PROMOTED
    removed, kept = [place / LOCK, place / lesson_paths.INDEX], [place / lesson_paths.LOG, promoted]
    return Footprint(removed, kept, [place, promoted], [promoted, place])
