"""The terminal's columns and lines, without `shutil`, which takes longer to import than Python takes to start."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing takes a third of a start of Python
if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL = (80, 24)


def measure_terminal(environ: Mapping[str, str]) -> tuple[int, int]:
    """Columns and lines as `shutil.get_terminal_size` finds them: COLUMNS and LINES, the terminal, 80 and 24."""
    columns, lines = (_read_number(environ.get(name, "")) for name in ("COLUMNS", "LINES"))
    if columns <= 0 or lines <= 0:
        try:
            found = tuple(os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else -1))
        except (ValueError, OSError):  # a closed stdout, or one that is not a terminal
            found = (0, 0)
        columns = columns if columns > 0 else found[0] or USUAL[0]
        lines = lines if lines > 0 else found[1] or USUAL[1]
    return columns, lines


def _read_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0
