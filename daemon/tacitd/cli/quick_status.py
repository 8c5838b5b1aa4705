"""The last status document, for `tacitd status` while no daemon runs. `entry_point` prints it without click.

With a daemon, or with options, `status_command` answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from tacitd.cli.quick_answer import print_message
from tacitd.cli.status_lines import list_status_lines
from tacitd.cli.terminal_size import measure_terminal
from tacitd.cli.terminal_text import layout_lines, wants_colour
from tacitd.errors import UNAVAILABLE
from tacitd.statusline import find_state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ABSENT = "no daemon runs; `tacitd run` starts one"
SNAPSHOT_FILE = "status.json"
LONGEST_SOCKET = 100
"""`SNAPSHOT` and `LONGEST` of `state.paths`, which imports pathlib: that takes half as long as Python takes to start."""


def print_last_status() -> int | None:
    """Print what the command prints if no daemon ran since it ended; None if the full program must look for one.

    Returns the exit code.
    """
    state = os.path.abspath(find_state_dir(os.environ))  # noqa: PTH100
    if _is_in_the_way(state) or _may_have_daemon(state, os.environ):
        return None
    document = read_last_status(f"{state}/{SNAPSHOT_FILE}")
    columns = measure_terminal(os.environ)[0] if sys.stdout.isatty() else None
    colours = columns is not None and wants_colour(os.environ)
    lines = layout_lines(list_status_lines(document, time.time()), columns, colours=colours)
    try:
        sys.stdout.write("".join(f"{text}\n" for text in lines))
        sys.stdout.flush()
    except OSError:
        return None
    print_message(f"{ABSENT}\n")
    return UNAVAILABLE


def _is_in_the_way(state: str) -> bool:
    """Whether a file is in place of the state directory or of one of its parents."""
    while state and not os.access(state, os.F_OK):
        state = os.path.dirname(state)  # noqa: PTH120
    return os.path.isfile(state)  # noqa: PTH113


def _may_have_daemon(state: str, environ: Mapping[str, str]) -> bool:
    """Whether something is where `state.paths` looks for a socket, or where only that module can look. It may be a leftover."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    places = [f"{state}/socket", f"{state}/tacitd.sock", f"{runtime}/tacitd/tacitd.sock"]
    is_named = "TACITD_SOCKET" in environ or (runtime and "TACITD_STATE_DIR" in environ)
    is_long = any(len(os.fsencode(place)) > LONGEST_SOCKET for place in places)
    return bool(is_named) or is_long or any(map(_may_exist, places))


def _may_exist(path: str) -> bool:
    """Whether there is something of this name, or that cannot be found out."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def read_last_status(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The saved status of the last daemon, with `running` false; a document without `version` if there is none."""
    never: dict[str, Any] = {"schema": 1}
    gone = {"running": False, "pid": None, "state": "stopped"}
    try:
        document: dict[str, Any] = {**json.loads(_read_bytes(path)), **gone}
        list_status_lines(document, 0.0, verbose=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return never | gone  # missing, damaged, or of another version
    return document


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()
