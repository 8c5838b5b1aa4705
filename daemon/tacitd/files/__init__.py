"""Durable files: those that people edit too, the appended and the replaced file (DESIGN "Files").

Guarantees:

- A replaced file is either the old one or the new one at every moment. Its mode, owner and symlink are kept.
- A change that was planned is finished or absent. If the process ends in the middle, the next start finishes it.
- In a file that people edit too, every byte that is not tacitd's is kept, and what a person saves takes precedence.
  If such a file is being edited, tacitd waits for it for a limited time.
- A file that cannot be written as it is (conflict markers, not UTF-8, a link that leads out of the project)
  raises FileRefusedError before anything is changed.

Every system call goes through `Disk`, so the tests can make each call fail in turn. Code about transcripts, handlers
or the model does not belong here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacitd.files.busy_files import BusyFiles
    from tacitd.files.disk import Disk, RealDisk
    from tacitd.files.late_writes import LateWrites, RecoveredCopy
    from tacitd.files.locks import Lock, acquire_lock, make_private_dir, wait_for_lock
    from tacitd.files.rename import remove_files
    from tacitd.files.replaced import EditGuards, edit_file, replace_file
    from tacitd.files.temporary import SAVED_SUFFIX, TEMP_PREFIX
    from tacitd.text.markdown import has_line, lines_of, put_line, swap_line, take_line

__all__ = [
    "SAVED_SUFFIX",
    "TEMP_PREFIX",
    "BusyFiles",
    "Disk",
    "EditGuards",
    "LateWrites",
    "Lock",
    "RealDisk",
    "RecoveredCopy",
    "acquire_lock",
    "edit_file",
    "has_line",
    "lines_of",
    "make_private_dir",
    "put_line",
    "remove_files",
    "replace_file",
    "swap_line",
    "take_line",
    "wait_for_lock",
]

_PARTS = (
    "tacitd.files.busy_files",
    "tacitd.files.disk",
    "tacitd.files.late_writes",
    "tacitd.files.locks",
    "tacitd.files.rename",
    "tacitd.files.replaced",
    "tacitd.files.temporary",
    "tacitd.text.markdown",
)
"""The modules that have these names."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name from the module that has it. Commands use a few of the modules, and import no others."""
        if name in __all__:
            for part in map(import_module, _PARTS):
                if name in vars(part):
                    return vars(part)[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
