"""The logs and directories in the state directory, by name. docs/files.md describes each.

What a log contains belongs in the module that uses it.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tacitd.files.locks import make_private_dir
from tacitd.files.log import Log


class StateLayout(Struct):
    """The files and directories of one state directory."""

    root: Path

    def open_log(self, name: str, *, terminated: bool = False) -> Log:
        """The log of this file name, with mode 0600. `terminated`: see `Log`."""
        return Log(self.root / name, terminated=terminated)

    def make_handler_dir(self, slice_name: str) -> Path:
        """A handler's private directory (0700), created if it does not exist. Raises OSError."""
        return make_private_dir(self.root / "handlers" / slice_name)
