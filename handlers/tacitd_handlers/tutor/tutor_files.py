"""The tutor's files for `uninstall --purge`: sessions and scores belong to the person, the overview is derived."""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.handler import Footprint
from tacitd_handlers.tutor.tutor_paths import find_tutor_paths


def tutor_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes, those that it keeps, and their directories."""
    at = find_tutor_paths(environ)
    kept = [at.sessions, at.mastery]
    return Footprint(
        [at.overview], kept, [at.directory, at.sessions], own=[at.directory, at.directory.parent]
    )
