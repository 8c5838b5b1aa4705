"""The lessons' files for `uninstall --purge`.

The log and promoted/ belong to the person, the lock and the index do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tacitd.handler import Footprint
from tacitd_handlers.lessons import places
from tacitd_handlers.lessons.store import LOCK


def lessons_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes, those that it keeps, and their directories.

    The index can be rebuilt from the log.
    """
    place = Path(places.lessons_dir(environ))
    promoted = place / places.PROMOTED
    removed, kept = [place / LOCK, place / places.INDEX], [place / places.LOG, promoted]
    return Footprint(removed, kept, [place, promoted], [promoted, place])
