"""`tacitd --help` from the stored table, in half of the time that click takes to be imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from tacitd.cli.stored_table import TABLE_FILE, count_help_columns, read_stored, stamp_entry_points


def read_help(environ: Mapping[str, str]) -> str | None:
    """The help as `program` stored it for this width of the terminal; None if it did not, or must make it again."""
    file = _find_table(environ)
    if file is None:
        return None
    try:
        text = read_stored(file, stamp_entry_points(sys.path))["help"].get(str(count_help_columns(environ)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return f"{text}\n" if isinstance(text, str) else None


def _find_table(environ: Mapping[str, str]) -> str | None:
    """The table's file where `state.paths.cache_dir` has it; None if variables do not tell that."""
    base, home = environ.get("XDG_CACHE_HOME", ""), environ.get("HOME", "")
    if base.startswith("/"):
        return os.path.join(base, "tacitd", TABLE_FILE)  # noqa: PTH118  importing pathlib takes longer than all this
    if sys.platform.startswith("linux") and home.startswith("/"):
        return os.path.join(home, ".cache", "tacitd", TABLE_FILE)  # noqa: PTH118
    return None
