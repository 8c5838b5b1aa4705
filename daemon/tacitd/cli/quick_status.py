"""The last status document, for `tacitd status` while no daemon runs. `entry_point` prints it without click.

With a daemon, or with options, `status_command` answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tacitd.cli.status_lines import list_status_lines
from tacitd.cli.terminal_size import measure_terminal
from tacitd.cli.terminal_text import layout_lines, wants_colour
from tacitd.errors import UNAVAILABLE
from tacitd.state.paths import SNAPSHOT, Paths, find_file_in_the_way

ABSENT = "no daemon runs; `tacitd run` starts one"


def print_last_status() -> int | None:
    """Print what the command prints if no daemon runs, and return its exit code; None if the full program must run.

    Raises ConfigError if the environment names no usable socket.
    """
    places = Paths.from_env(os.environ)
    if places.socket.exists() or find_file_in_the_way(places.state_dir) is not None:
        return None
    document = read_last_status(places.state_dir / SNAPSHOT)
    columns = measure_terminal(os.environ)[0] if sys.stdout.isatty() else None
    colours = columns is not None and wants_colour(os.environ)
    lines = layout_lines(list_status_lines(document, time.time()), columns, colours=colours)
    try:
        sys.stdout.write("".join(f"{text}\n" for text in lines))
        sys.stdout.flush()
        sys.stderr.write(f"{ABSENT}\n")
    except OSError:
        return None
    return UNAVAILABLE


def read_last_status(path: Path) -> dict[str, Any]:
    """The saved status of the last daemon, with `running` false; a document without `version` if there is none."""
    never: dict[str, Any] = {"schema": 1}
    gone = {"running": False, "pid": None, "state": "stopped"}
    try:
        document: dict[str, Any] = {**json.loads(path.read_bytes()), **gone}
        list_status_lines(document, 0.0, verbose=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return never | gone  # missing, or of another version
    return document
