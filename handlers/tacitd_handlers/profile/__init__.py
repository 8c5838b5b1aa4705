"""What a person is like to work with (seed 001): a profile that fades where nobody repeats it, and its changelog.

Pure rules (`paths`, `ops`, `merge`, `meta`, `beside`, `plans`) -> `store`, `changelog`, `turns` -> `handler` -> `cli`.
What is in it comes from the learning's call: `rider` says what is asked for besides, and takes it out of the answer.
Nothing heavy is imported here: a session's start waits for `context`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from tacitd.handler import Slice

__all__ = ["slice"]


def slice() -> Slice:
    """The entry point."""
    from tacitd.handler import Job, Slice
    from tacitd_handlers.profile.handler import FADE, PRUNE, TURNS, Profiles
    from tacitd_handlers.usermemory.memory_files import profile_footprint

    return Slice(
        "profile",
        Profiles,
        jobs=(Job(FADE, 3600.0, at_start=True), Job(PRUNE, 86400.0, at_start=True), Job(TURNS, 600.0)),
        pays=False,
        footprint=profile_footprint,
    )
