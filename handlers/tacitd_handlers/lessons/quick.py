"""`lesson load` without waiting: five milliseconds beside the interpreter's own start.

Agents call it often, so neither click nor pydantic nor dataclasses nor json are imported here. Only the plain forms of
the command line are understood; for every other one, and for a log that the index does not belong to, `answer` returns
None and the whole command line does it (`commands.load`), with the same text.
"""

from __future__ import annotations

import os
import sys
import time

from tacitd_handlers.lessons import hits, index, places
from tacitd_handlers.lessons.gather import Wanted, groups
from tacitd_handlers.lessons.loading import LINES, render
from tacitd_handlers.lessons.scopes import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PHASES = ("validate", "execute")
LOST = "what was to be printed is lost"
_NAMES = {
    "-s": "scope",
    "--scope": "scope",
    "--path": "path",
    "--query": "query",
    "--phase": "phase",
    "--lines": "lines",
}


def answer(args: list[str], env: Mapping[str, str]) -> str | None:
    """Given what stands after `load`, return what is to be printed; None where it takes the whole command line."""
    wanted = understood(args)
    if wanted is None:
        return None
    found = index.read(places.log(env), places.index(env))
    if found is None:
        return None
    text, ids = render(groups(found, wanted), wanted.lines)
    hits.count(places.hits(env), time.time(), ids, wanted.phase or "load")
    return text


def understood(args: list[str]) -> Wanted | None:
    """What the plain forms say: `--name value`, `--name=value`, `-s value`; None for anything else."""
    given: dict[str, str] = {}
    rest = iter(args)
    for word in rest:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name not in _NAMES:
            return None
        if not equals:
            value = next(rest, "")
        given[_NAMES[name]] = value
    scope = folded(given.get("scope", "global"))
    lines = given.get("lines", str(LINES))
    if scope is None or given.get("phase", PHASES[0]) not in PHASES or "" in given.values():
        return None
    if not (lines.isascii() and lines.isdigit() and len(lines) < 10):
        return None
    return Wanted(scope, given.get("path", ""), given.get("query", ""), given.get("phase", ""), int(lines))


def put(text: str) -> int:
    """Print it as UTF-8, whatever the locale; return the exit code. A reader that went away is no error."""
    if sys.stdout is None:  # started with `>&-`: nobody listens
        return 0
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Trigger: `lesson load | head -1`. Why: the interpreter flushes once more at its end and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if sys.stderr is not None:
            sys.stderr.write(f"lesson: {LOST}: {error.strerror}\n")
        return 1
    return 0
