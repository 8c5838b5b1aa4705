"""The learner's checks for `tacitd doctor`. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tacitd.service.finding import DoctorFinding
from tacitd_handlers.learner.context import BUDGET
from tacitd_handlers.learner.learner_paths import load_paths

OWN_BLOCKS = 500
"""Characters of a session start without the profile and without notices."""


def check_profile_size(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Yield a finding if the profile does not fit into a session's start, or cannot be read (SPEC L-50a)."""
    path = load_paths(environ).profile
    try:
        size = len(path.read_bytes().decode("utf-8", "surrogateescape"))
    except FileNotFoundError:
        return
    except OSError as error:
        hint = "make it readable by your user"
        yield DoctorFinding("learner.files", "error", f"{path}: {error.strerror}", hint)
        return
    if size + OWN_BLOCKS > BUDGET:
        what = f"{path} has {size} characters; a session start has room for {BUDGET - OWN_BLOCKS}"
        hint = (
            "older sessions and resolved weaknesses are left out first; shorten About Me or long descriptions"
        )
        yield DoctorFinding("learner.long", "warning", what, hint)
