"""Two renames that Python does not offer: one that exchanges two names, one that never overwrites.

They use `renameat2` (Linux 3.15, glibc 2.28) and `renamex_np` (macOS 10.12) through ctypes. If the C library or the file
system has neither, `exchange_names` returns False, and the caller compares and replaces instead. Only these two calls belong
here; replaced.py uses them.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

# rename(2): EINVAL if the file system does not support the flag. ENOSYS: the kernel is older than the C library.
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY}
_SWAP, _EXCLUSIVE = (0x2, 0x4) if sys.platform == "darwin" else (0x2, 0x1)
_AT_FDCWD = -100


def exchange_names(one: Path, other: Path) -> bool:
    """Exchange two names on one file system atomically. False if that is not possible here. Raises OSError."""
    return _rename(one, other, _SWAP)


def rename_exclusive(source: Path, target: Path) -> None:
    """Rename without overwriting. Raises FileExistsError if the target exists, and OSError.

    Three ways, by what the system offers: an exclusive rename; a hard link, which fails if the name exists; and a check
    followed by a rename.
    """
    if _rename(source, target, _EXCLUSIVE):
        return
    try:
        # link(2) fails with EEXIST if the name exists, and there is no moment at which the file has no name.
        os.link(source, target)
    except OSError as error:
        # link(2): EPERM if the file system has no hard links, EMLINK if the file has as many as it can have.
        if error.errno not in _UNSUPPORTED | {errno.EPERM, errno.EMLINK}:
            raise
        # No hard links either (FAT). A file that is created between the check and the rename would be overwritten.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.replace(target)
    else:
        source.unlink()


def _rename(source: Path, target: Path, flag: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    code = call(os.fsencode(source), os.fsencode(target), flag)
    if code == 0:
        return True
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))


@cache
def _system_call() -> Callable[[bytes, bytes, int], int] | None:
    """The system's call, which returns 0 or the error's number; None if there is none."""
    import ctypes  # imported at the first write: commands that only read take half of Python's start less without it

    library = ctypes.CDLL(None, use_errno=True)
    name = "renamex_np" if sys.platform == "darwin" else "renameat2"
    function = getattr(library, name, None)
    if function is None:
        return None
    function.restype = ctypes.c_int
    if sys.platform == "darwin":
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
        return lambda source, target, flag: ctypes.get_errno() if function(source, target, flag) else 0
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return lambda source, target, flag: (
        ctypes.get_errno() if function(_AT_FDCWD, source, _AT_FDCWD, target, flag) else 0
    )
