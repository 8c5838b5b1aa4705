"""The paths of the tutor's files, from the environment, and which of them a purge removes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tacitd.handler import Footprint
from tacitd.state.paths import data_dir, state_dir


class TutorPaths(Struct, frozen=True):
    """The paths of the tutor's files, all absolute."""

    directory: Path
    """The data directory: graphs of the person's own, mastery, sessions."""
    locks: Path
    """One lock for each session, below the state directory."""

    @property
    def sessions(self) -> Path:
        """The directory with a log and a readable copy of each session."""
        return Path(self.directory, "sessions")

    @property
    def mastery(self) -> Path:
        """The log of graded scores."""
        return self.directory / "mastery.jsonl"


def find_tutor_paths(environ: Mapping[str, str]) -> TutorPaths:
    """The paths for an environment."""
    return TutorPaths(data_dir(environ) / "tutor", state_dir(environ) / "handlers" / "tutor" / "locks")


def tutor_footprint(environ: Mapping[str, str]) -> Footprint:
    """For `uninstall --purge`: sessions and scores belong to the person and stay."""
    at = find_tutor_paths(environ)
    return Footprint(
        [],
        [at.sessions, at.mastery],
        [at.directory, at.sessions],
        own=[at.directory, at.directory.parent],
    )
