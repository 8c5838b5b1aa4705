"""The copy of the program that a client's hooks run, in `hooks/` of the state directory. What it sends is in sources/."""

from __future__ import annotations

from pathlib import Path

from tacitd.files.disk import Disk
from tacitd.files.locks import make_private_dir
from tacitd.files.replaced import replace_file

HOOKS_DIR = "hooks"
"""Directory in the state directory."""


def write_hook_program(state_dir: Path, program: Path, name: str, disk: Disk | None = None) -> None:
    """Copy the program there under this name, unless it is there in this version. Raises OSError."""
    copy = make_private_dir(state_dir / HOOKS_DIR, disk) / name
    wanted = program.read_bytes()
    if not copy.is_file() or copy.read_bytes() != wanted:
        replace_file(copy, wanted, mode=0o700, disk=disk)
