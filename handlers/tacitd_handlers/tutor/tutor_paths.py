"""The paths of the tutor's files, from the environment. Nothing heavy is imported: a session's start waits for this."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tacitd.state.paths import data_dir, state_dir

GRAPHS = "tutor"
"""The directory of a project that contains its graphs."""
SUFFIXES = (".yaml", ".yml", ".json")


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

    @property
    def overview(self) -> Path:
        """What `tacitd context` and `tacitd status` show, derived from the others."""
        return self.directory / "overview.json"


def find_tutor_paths(environ: Mapping[str, str]) -> TutorPaths:
    """The paths for an environment."""
    return TutorPaths(data_dir(environ) / "tutor", state_dir(environ) / "handlers" / "tutor" / "locks")
