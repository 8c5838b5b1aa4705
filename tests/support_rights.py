"""Commands that obey permission bits, also if the tests run as root.

Another user may not be able to read the interpreter and the checkout. So the command runs as root, without the
capabilities that override the bits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_WITHOUT = ("setpriv", "--bounding-set", "-all")


def bound() -> list[str]:
    """The words before a command that make it obey its owner's permission bits.

    Skips the test if that is not possible.
    """
    if os.geteuid() != 0:
        return []
    why = _why_not()
    if why:
        pytest.skip(why)
    return list(_WITHOUT)


@cache
def _why_not() -> str:
    if shutil.which(_WITHOUT[0]) is None:
        return "permission bits do not bind root, and there is no setpriv (util-linux)"
    with TemporaryDirectory() as name:
        closed = Path(name, "closed")
        closed.touch(0o000)
        done = subprocess.run([*_WITHOUT, "cat", closed], capture_output=True, text=True, check=False)
    return "" if "Permission denied" in done.stderr else f"root cannot be bound here: {done.stderr.strip()}"
