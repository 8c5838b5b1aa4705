"""`tacitd status` without options while a daemon runs, without click. For all else there is `status_command`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from tacitd.cli.status_lines import list_status_lines
from tacitd.cli.terminal_text import layout_for_stream
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import UnavailableError
from tacitd.state.paths import Paths


def answer_status(environ: Mapping[str, str]) -> str | None:
    """The text that the command prints; None if no daemon runs.

    Raises BusyError if it does not answer, and ConfigError if the environment names no usable socket.
    """
    try:
        document = call_daemon(Paths.from_env(environ).socket, "status")
    except BusyError:
        raise  # asked again, it would be waited for twice as long
    except UnavailableError:
        return None
    if not document["running"]:
        return None
    lines = list_status_lines(document, time.time())
    return "".join(f"{text}\n" for text in layout_for_stream(lines, sys.stdout))
