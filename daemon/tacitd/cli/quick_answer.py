"""A command that the running daemon answers, without click: arguments and surroundings out, what to print in.

The daemon answers only if this process would print the same: if both are the same version of the same program, with the same
values of the variables that matter, and see the same files under the same names. It leaves errors and unknown options to the full
program, which runs then, also if no daemon answers soon. What the daemon does is in `command_answers.py`.

As in `tacitd.statusline`, only what the interpreter has loaded already is imported, and modules of C.
"""

from __future__ import annotations

import os
import sys

from tacitd import __version__
from tacitd.cli.terminal_size import measure_terminal
from tacitd.statusline import exchange_line, find_socket

TYPE_CHECKING = False  # importing typing takes a third of a start of Python
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PATIENCE = 1.0
"""Seconds for the answer. Most take a hundredth of one. A process of its own answers within a quarter, unless it must wait for what
a daemon waits for too."""
METHOD = "command"
SAME = frozenset(
    [
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "CLAUDE_CONFIG_DIR",
        "USER_MEMORY_DIR",
        "TZ",
        "PYTHONPATH",
    ]
)
"""Variables that decide what a command prints, with those that begin with `TACITD_`, in small letters too."""
SENT = ("CLAUDE_CODE_SESSION_ID", "NO_COLOR", "PATH", "TERM")
"""Variables of the caller that the command uses."""


def select_same(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that must have the same values in the daemon. The pager's does not matter: the daemon runs none."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name in SAME or (name.upper().startswith("TACITD_") and name != "TACITD_PAGER")
    }


def identify_program() -> str:
    """What differs between two installations: version, interpreter's environment, and this file's path and time of writing.

    A daemon keeps what it was when it started, so one that runs older code under the same version is not taken for this one.
    """
    written = os.stat(__file__).st_mtime_ns  # noqa: PTH116  importing pathlib takes too long
    return f"{__version__} {sys.prefix} {__file__} {written}"


def identify_places(directory: str, arguments: Sequence[str]) -> list[str]:
    """What the current directory and the arguments are as files; "" for one that is none.

    The same name is another file in another mount namespace, and `/dev/fd/63` is in each process.
    """
    return [_identify_place(os.path.join(directory, one)) for one in ("", *arguments)]  # noqa: PTH118


def _identify_place(path: str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):  # ValueError: a NUL
        return ""
    return f"{found.st_dev} {found.st_ino}"


def answer_command(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Print what the daemon answers to a command. False, with nothing printed, if the full program must run."""
    if not (is_usable(sys.stdout) and is_usable(sys.stderr)):
        return False
    with NoTrace():
        try:
            answer = exchange_line(find_socket(environ), _make_request(arguments, environ), PATIENCE)
            if not answer.endswith(b"\n"):
                return False  # the daemon ended in the middle, perhaps between two texts
            printed = list(_read_strings(answer.decode("utf-8")))
            # Declined or damaged: not one text and pairs.
            return len(printed) % 2 == 1 and _print_texts(printed[1:])
        except (OSError, ValueError, ImportError):  # ImportError: an interpreter without these modules of C
            return False


class NoTrace:
    """While this is entered, Ctrl-C ends the process without a traceback: as in `early_signals`, but without `signal`, which imports
    enum.
    """

    def __enter__(self) -> None:
        import _signal  # type: ignore[import-not-found]

        self._before = _signal.getsignal(_signal.SIGINT)
        if self._before is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

    def __exit__(self, *_: object) -> None:
        import _signal  # pyright: ignore[reportMissingImports]

        _signal.signal(_signal.SIGINT, self._before)


def is_usable(stream: object) -> bool:
    """Whether any text can be printed. Else the full program prints what can be."""
    return str(getattr(stream, "encoding", "")).lower().replace("-", "") == "utf8"


def _make_request(arguments: Sequence[str], environ: Mapping[str, str]) -> bytes:
    """The line for the daemon. Raises ImportError, OSError if the current directory was removed."""
    here = os.getcwd()  # noqa: PTH109
    sent = {name: environ[name] for name in SENT if name in environ}
    columns = measure_terminal(environ)[0] if sys.stdout.isatty() else None
    params = {
        "arguments": list(arguments),
        "program": identify_program(),
        "directory": here,
        "places": identify_places(here, arguments),
        "same": select_same(environ),
        "sent": sent,
        "columns": columns,
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params}
    return f"{_encode_value(request)}\n".encode("ascii")


def _encode_value(value: object) -> str:
    """A value as JSON: texts, lists and mappings of them, integers, None."""
    from _json import encode_basestring_ascii

    if isinstance(value, dict):
        pairs = (f"{encode_basestring_ascii(name)}:{_encode_value(each)}" for name, each in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_encode_value, value))}]"
    return (
        "null" if value is None else encode_basestring_ascii(value) if isinstance(value, str) else f"{value}"
    )


def _read_strings(answer: str) -> Iterator[str]:
    """The texts of the answer's list. Raises ValueError if there is none."""
    from _json import scanstring

    at = answer.index('"printed":["') + len('"printed":[')
    while answer.startswith('"', at):
        text, at = scanstring(answer, at + 1)
        yield text
        at += answer.startswith(",", at)


def _print_texts(printed: Sequence[str]) -> bool:
    """Print texts, each after the name of its stream. False if that is not possible: the full program says why."""
    paged = [text for name, text in zip(printed[::2], printed[1::2], strict=True) if name == "paged"]
    try:
        for name, text in zip(printed[::2], printed[1::2], strict=True):
            if name != "paged":
                _print_text(text, is_message=name == "err")
            elif paged:
                from tacitd.cli.pager import print_paged

                print_paged([line.removesuffix("\n") for line in paged], _print_line)
                paged = []
    except BrokenPipeError:
        # The reader is gone, which is no error; the interpreter's last flush must not fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except OSError:
        return False
    return True


def _print_text(text: str, *, is_message: bool) -> None:
    if is_message:
        print_message(text)
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def print_message(text: str) -> None:
    """Print on stderr. If that is not possible, end the process as the full program does, which would print stdout's part again."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError as error:
        from tacitd.cli.standard_streams import end_process

        reason = error

        def fail() -> None:
            raise reason

        end_process(fail, "tacitd")


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
