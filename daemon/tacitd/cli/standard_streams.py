"""The standard streams of a command: they are opened and flushed, and errors are reported on them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from tacitd.cli.common import echo_message
from tacitd.errors import FAILED, TacitdError, describe_os_error


class ReaderGoneError(Exception):
    """The reader of stdout closed it. click would report a BrokenPipeError as a failure."""


def flush_streams(code: int, name: str) -> int:
    """Flush stdout and stderr; return the exit code. At the interpreter's end an error could not be reported any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            silence_stream(stream)
        except OSError as error:
            silence_stream(stream)
            if not code:  # otherwise an error was printed already
                echo_error(_lost_output(error), name)
            code = code or FAILED
    return code


LOST_HINT = "free space where it goes to, or name another file"


def _lost_output(error: OSError) -> TacitdError:
    return TacitdError(f"the output could not be written: {error.strerror}", LOST_HINT)


def describe_error(error: OSError) -> TacitdError:
    """The error for a person; what click writes is the output."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    writer = "" if place is None else str(place.tb_frame.f_globals.get("__name__"))
    return _lost_output(error) if writer.startswith("click") else TacitdError(*describe_os_error(error))


def silence_stream(stream: TextIO) -> None:
    """Point the stream to /dev/null: after `tacitd prompts | head` the interpreter's last flush must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Open standard streams that are closed (`>&-`, some supervisors) as /dev/null: Python has None for them, and the next file that is
    opened would get their number, so that a child's output could end up in a log."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - for life
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            # A terminal without UTF-8 shows `?` for what it does not have. Otherwise the command would fail.
            stream.reconfigure(errors="replace")


def echo_error(error: TacitdError, name: str = "tacitd") -> None:
    """Print what happened and its hint on stderr."""
    with suppress(OSError):  # stderr itself cannot be written: there is no other place to report that
        echo_message(f"{name}: {error.what}", error.hint)
