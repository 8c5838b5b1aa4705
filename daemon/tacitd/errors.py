"""Every error that tacitd raises on purpose. Nothing else belongs here.

    TacitdError              what happened, the hint that fixes it, the exit code
    ├── UsageError           2   the command line was used wrongly
    ├── UnavailableError     69  another daemon runs, or none does
    ├── ParkedError          75  something waits; it is not lost
    ├── ConfigError          78  the configuration is wrong, or a state directory is from a newer version
    ├── FileRefusedError     1   this one file cannot be read or written now: the item waits, nothing else does
    │   └── FileBusyError    1   somebody is editing the file: it is tried again, and written in the end
    └── LogDamagedError      1   a log could not be opened for writing

Three branches, as everywhere in the project: an item failed (its handler parks it), a source is degraded
(it is listed in `status` until it is well again), the service cannot run (the process ends with the code).
The codes of sysexits.h are used where they fit, because systemd and cron understand them.
"""

from __future__ import annotations

import errno
import os

OK = 0
FAILED = 1
USAGE = 2
UNAVAILABLE = 69
PARKED = 75
CONFIG = 78


class TacitdError(Exception):
    """What happened, what mends it, and the exit code of a command that ends with it."""

    code = FAILED

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} (hint: {self.hint})" if self.hint else self.what


class UsageError(TacitdError):
    """The command line was used wrongly."""

    code = USAGE


class UnavailableError(TacitdError):
    """Another daemon holds the lock, or none answers on the socket."""

    code = UNAVAILABLE


class ParkedError(TacitdError):
    """Work waits for something that is missing; nothing is lost."""

    code = PARKED


class ConfigError(TacitdError):
    """A configuration value that is not allowed, or a state directory that a newer version wrote."""

    code = CONFIG


class FileRefusedError(TacitdError):
    """One file that cannot be read or written as it is: not UTF-8, a link that leads out, read-only."""


class FileBusyError(FileRefusedError):
    """One file that is being edited: an editor has it open, or it changed within the last second.

    The caller tries again after `seconds`. `files.busy` limits how long a file counts as busy.
    """

    def __init__(self, what: str, hint: str = "", *, seconds: float, editor: str = "") -> None:
        super().__init__(what, hint)
        self.seconds = seconds
        """Seconds after which it is worth trying again."""
        self.editor = editor
        """The editor that has the file open; empty if the file only changed a moment ago."""


class LogDamagedError(TacitdError):
    """A log of ours that cannot be opened or appended to."""


_ROOM = "make room on that disk; what waits goes on by itself"
_RIGHT = (
    "give yourself the right to it (ls -l, chown, chmod); `tacitd doctor` looks at tacitd's own directories"
)
CURES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "it is mounted read-only: look at `dmesg` for why, and mount it writable again",
    errno.EACCES: _RIGHT,
    errno.EPERM: _RIGHT,
    errno.ENOTDIR: "a file is where a directory belongs: move it away",
    errno.EISDIR: "a directory is where a file belongs: move it away",
    errno.EIO: "the disk fails: look at `dmesg`, and at your backups",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`, LimitNOFILE) for whoever starts it",
    errno.ENFILE: "too many files are open on the whole machine: look at `lsof`",
}
"""What a person can do about an error of the system, by its number."""


def said_by_system(error: OSError) -> tuple[str, str]:
    """Given an error of the system, return what happened, with the file where it is known, and what mends it."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    what = error.strerror or str(error) or type(error).__name__
    return where + what, CURES.get(error.errno or 0, "`tacitd doctor` looks at what may be wrong")
