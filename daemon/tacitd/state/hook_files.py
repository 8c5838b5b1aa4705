"""The script that a client's hooks run, in `hooks/` of the state directory. What the hooks say is in sources/."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from tacitd.files.atomic import replace_file
from tacitd.files.disk import DISK, Disk
from tacitd.files.locks import make_private_dir

HOOKS_DIR = "hooks"
"""Directory in the state directory."""
SCRIPT = "tacitd-hook"
"""Of the shell script in it, which the plugin's `run-hook.sh` looks for and reads."""


def write_hook_script(state_dir: Path, program: Path | None, disk: Disk = DISK) -> None:
    """Write the script that runs the hooks' program for this state directory, unless it is there as wanted. Raises OSError.

    The interpreter outside the virtual environment runs it, without `site`, which takes most of the time to start: a `python3`
    on the PATH may be a shim that takes seven times as long.
    """
    if program is None:  # this client has no hooks
        return
    script = make_private_dir(state_dir / HOOKS_DIR, disk) / SCRIPT
    words = [os.path.realpath(sys.executable), "-I", "-S", str(program), str(state_dir)]
    head = "# Written by tacitd's daemon at its start; the plugin's hooks run it.\n"
    wanted = f"{head}exec {shlex.join(words)}\n".encode()
    if not script.is_file() or script.read_bytes() != wanted:
        replace_file(script, wanted, mode=0o600, disk=disk)
