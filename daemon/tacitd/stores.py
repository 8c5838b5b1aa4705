"""The logs and directories in the state directory, by name. docs/files.md describes each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacitd.files.locks import private_dir
from tacitd.files.log import Log


@dataclass(slots=True)
class Stores:
    """What is in a state directory."""

    root: Path

    def log(self, name: str, *, terminated: bool = False) -> Log:
        """A log of ours, 0600. `terminated`: as `Log` says."""
        return Log(self.root / name, terminated=terminated)

    def home(self, slice_name: str) -> Path:
        """A handler's private directory, made when it is asked for."""
        return private_dir(self.root / "handlers" / slice_name)
