"""What a commit of the profile means to a person. Pure.

Only the path is announced: the value is private, and others may read the log.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacitd.handler import Commit, Notice
from tacitd_handlers.profile.profile_reader import PROFILE


def describe_commit(commit: Commit) -> Iterator[Notice]:
    """Given a commit, yield a notice for each preference that was learned. The hook `Plugin.activity`."""
    for path in commit.data.get("paths", ()):
        yield Notice("learned", f"your {path}", PROFILE, item=str(path))
