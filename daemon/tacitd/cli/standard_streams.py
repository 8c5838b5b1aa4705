"""The standard streams of a command, and its end: they are opened, written, flushed, and errors are reported on them.

Nothing heavy is imported here, because each command needs this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn, TextIO

from tacitd.errors import FAILED, TacitdError, describe_os_error


class ReaderGoneError(Exception):
    """The reader of stdout closed it. click would report a BrokenPipeError as a failure."""


def write_text(text: str, stream: TextIO) -> None:
    """Print a text on stdout or stderr at once, with its colours if it has any."""
    if has_unicode(stream):
        stream.write(text)
        stream.flush()
        return
    import click  # it has a way for each stream that cannot show all characters

    click.echo(text, nl=False, err=stream is sys.stderr, color=True)


def has_unicode(stream: TextIO) -> bool:
    """Whether the stream can show characters beyond ASCII."""
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def end_process(run: Callable[[], object], name: str) -> NoReturn:
    """Run a command of the program `name` and end the process with the exit code that it returns; 0 if it returns no number.

    A TacitdError ends it with its own code, an OSError and an interrupt with 1, a closed stdout with 0.
    """
    open_streams()
    try:
        code = run()
    except (EOFError, KeyboardInterrupt):
        with suppress(OSError):
            write_text("\naborted\n", sys.stderr)
        code = FAILED
    except TacitdError as error:
        echo_error(error, name)
        code = error.code
    except (BrokenPipeError, ReaderGoneError):
        _silence_stream(sys.stdout)
        code = 0
    except OSError as error:
        echo_error(_describe_lost_output(error) or TacitdError(*describe_os_error(error)), name)
        code = FAILED
    sys.exit(_flush_streams(code if isinstance(code, int) else 0, name))


def _flush_streams(code: int, name: str) -> int:
    """Flush stdout and stderr; return the exit code. At the interpreter's end an error could not be reported any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _silence_stream(stream)
        except OSError as error:
            _silence_stream(stream)
            if not code:  # otherwise an error was printed already
                echo_error(
                    TacitdError(
                        f"the output could not be written: {error.strerror}",
                        LOST_HINT,
                    ),
                    name,
                )
            code = code or FAILED
    return code


LOST_HINT = "free space where it goes to, or name another file"


def _describe_lost_output(error: OSError) -> TacitdError | None:
    """The error for a person if it was the output that could not be written, which only `write_text` and `click.echo` write; otherwise None."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    writer = "" if place is None else str(place.tb_frame.f_globals.get("__name__"))
    if writer != __name__ and writer.partition(".")[0] != "click":
        return None
    return TacitdError(f"the output could not be written: {error.strerror}", LOST_HINT)


def _silence_stream(stream: TextIO) -> None:
    """Point the stream to /dev/null: after `tacitd prompts | head` the interpreter's last flush must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Open closed standard streams.

    Trigger: the program was started with a standard stream closed (`>&-`, some supervisors). Why: Python has None for it,
    and the next file that is opened gets its number, so a child's output could end up in a log. Outcome: the stream is
    /dev/null.
    """
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
    from tacitd.text.sanitize import escape_lines

    with suppress(OSError):  # stderr itself cannot be written: there is no other place to report that
        write_text(f"{escape_lines(f'{name}: {error.what}')}\n", sys.stderr)
        if error.hint:
            write_text(f"{escape_lines(f'hint: {error.hint}')}\n", sys.stderr)
