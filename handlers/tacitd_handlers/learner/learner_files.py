"""The learner's files for `uninstall --purge`.

Ledger and profile belong to the person, the session-state file does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.handler import Footprint
from tacitd_handlers.learner.learner_paths import load_paths


def learner_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that a purge removes, those that it keeps, and their directories, as configured."""
    at = load_paths(environ)
    places = dict.fromkeys(file.parent for file in (at.profile, at.ledger, at.session_state))
    return Footprint([at.session_state], [at.ledger, at.profile], list(places))
