"""The errors that tacitd raises on purpose, their exit codes, and hints for errors of the system.

    TacitdError              what happened, the hint that fixes it, the exit code
    ├── UsageError           2   the command line was used wrongly
    ├── UnavailableError     69  another daemon runs, none does, or it does not answer
    ├── ParkedError          75  work is parked; it is not lost
    ├── ConfigError          78  the configuration is wrong, or the state directory is from a newer version
    ├── FileRefusedError     1   one file cannot be read or written now; only the work on it waits
    │   └── FileBusyError    1   an editor has the file open: the write is tried again until it succeeds
    ├── UnwritableError      1   the store cannot be read or written now; the same transaction is tried again
    │   └── BusyStoreError   75  another process holds the store's write lock
    └── StoreLostError       1   the store was damaged, deleted or replaced while it was open

There are three kinds: a work item failed (its handler parks it), a source is degraded (`status` lists it until its cause is
gone), the service cannot run (the process ends with the code). Codes are those of sysexits.h where they fit, because systemd
and cron understand them.
"""

from __future__ import annotations

import errno
import os

__all__ = [
    "CONFIG",
    "FAILED",
    "OK",
    "PARKED",
    "UNAVAILABLE",
    "USAGE",
    "BusyStoreError",
    "ConfigError",
    "FileBusyError",
    "FileRefusedError",
    "ParkedError",
    "StoreLostError",
    "TacitdError",
    "UnavailableError",
    "UnwritableError",
    "UsageError",
    "describe_failure",
    "describe_os_error",
]

OK = 0
FAILED = 1
USAGE = 2
UNAVAILABLE = 69
PARKED = 75
CONFIG = 78


class TacitdError(Exception):
    """What happened, the hint that fixes it, and the exit code of a command that ends with this error."""

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
    """Another daemon holds the lock, or no daemon answers on the socket."""

    code = UNAVAILABLE


class ParkedError(TacitdError):
    """Work waits for something that is missing. No work is lost."""

    code = PARKED


class ConfigError(TacitdError):
    """A configuration value is not allowed, or a newer version wrote the state directory."""

    code = CONFIG


class FileRefusedError(TacitdError):
    """One file cannot be read or written as it is: not UTF-8, a link that leads out of the project, read-only."""


class FileBusyError(FileRefusedError):
    """An editor has one file open, or it became empty within the last second. The caller tries again after `seconds`."""

    def __init__(self, what: str, hint: str = "", *, seconds: float) -> None:
        super().__init__(what, hint)
        self.seconds = seconds


class UnwritableError(TacitdError):
    """The store cannot be read or written now: the disk is full, read-only or has errors. A commit that failed may be durable
    all the same, so it is repeated by key, and nobody is told that it was not done."""


class BusyStoreError(UnwritableError):
    """Another process holds the store's write lock. After 5 seconds it is named in `what`."""

    code = PARKED


class StoreLostError(TacitdError):
    """The store was damaged, deleted or replaced while it was open. The transaction was not done; the daemon's store has begun
    a new one."""


_ROOM = "free space on that disk; waiting work then continues by itself"
_RIGHT = (
    "make it accessible to your user (ls -l, chown, chmod); `tacitd doctor` checks tacitd's own directories"
)
OS_ERROR_HINTS = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "the file system is mounted read-only: find the cause with `dmesg`, and mount it writable",
    errno.EACCES: _RIGHT,
    errno.EPERM: _RIGHT,
    errno.ENOTDIR: "a file is where a directory belongs: move it away",
    errno.EISDIR: "a directory is where a file belongs: move it away",
    errno.EIO: "the disk has errors: read `dmesg`, and check your backups",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`, LimitNOFILE) in the shell or service that starts tacitd",
    errno.ENFILE: "too many files are open on the whole machine: `lsof` lists them",
}


def describe_os_error(error: OSError) -> tuple[str, str]:
    """Given an error of the system, return what happened, with the file if it is known, and the hint that fixes it."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    what = error.strerror or str(error) or type(error).__name__
    return where + what, OS_ERROR_HINTS.get(error.errno or 0, "`tacitd doctor` checks what may be wrong")


def describe_failure(error: OSError | TacitdError) -> tuple[str, str]:
    return describe_os_error(error) if isinstance(error, OSError) else (error.what, error.hint)


def describe_plugin_error(error: BaseException) -> str:
    """What went wrong in a plugin, in words; the type's name too if the error has no words of its own."""
    if isinstance(error, OSError):
        return describe_os_error(error)[0]
    if isinstance(error, TacitdError):
        return str(error)
    return f"{type(error).__name__}: {error}"
