"""The fast path of `lesson load`: five milliseconds on top of the interpreter's start.

Agents call it often, so click, pydantic, dataclasses and json are not imported here. Only the plain forms of the
options are parsed. For anything else, and if the index does not match the log, `answer_load` returns None, and
`read_commands.load_` prints the same text.
"""

from __future__ import annotations

import os
import sys

from tacitd_handlers.lessons import lesson_index, lesson_paths
from tacitd_handlers.lessons.load_output import LINES, render_lessons
from tacitd_handlers.lessons.named_scopes import rows_of_name
from tacitd_handlers.lessons.scopes import GLOBAL, normalise_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacitd_handlers.lessons.lesson_index import LessonIndex
    from tacitd_handlers.lessons.load_output import Rows

LOST = "the output could not be written"
_NAMES = {
    "-s": "scope",
    "--scope": "scope",
    "--lines": "lines",
}


def answer_load(args: list[str], env: Mapping[str, str]) -> str | None:
    """The text to print for the arguments after `load`; None if the full command line is needed."""
    wanted = parse_load_args(args)
    if wanted is None:
        return None
    scope, lines = wanted
    log = lesson_paths.log_path(env)
    try:
        found = lesson_index.read_index(log, lesson_paths.index_path(env)) or lesson_index.read_missing(log)
    except OSError:  # the full command reports it
        return None
    if found is None:
        return None
    text, _ = render_lessons(select_for_load(found, scope, env), lines)
    return text


def select_for_load(index: LessonIndex, scope: str, env: Mapping[str, str]) -> dict[str, Rows]:
    """The rows by scope that a load prints, global first and only once (SPEC E-18). Raises OSError."""
    return {name: rows_of_name(index, name, env) for name in dict.fromkeys([GLOBAL, scope])}


def parse_load_args(args: list[str]) -> tuple[str, int] | None:
    """The scope and the maximum of lines, from options in their plain forms `--name value`, `--name=value`, `-s value`; None for anything else."""
    given: dict[str, str] = {}
    rest = iter(args)
    for word in rest:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name not in _NAMES:
            return None
        if not equals:
            value = next(rest, "")
        given[_NAMES[name]] = value
    scope = normalise_scope(given.get("scope", "global"))
    lines = given.get("lines", str(LINES))
    if scope is None or "" in given.values():
        return None
    if not (lines.isascii() and lines.isdigit() and len(lines) < 10):
        return None
    return scope, int(lines)


def print_text(text: str) -> int:
    """Print the text as UTF-8 in any locale; return the exit code. A closed pipe is not an error."""
    if sys.stdout is None:  # started with `>&-`
        return 0
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Trigger: `lesson load | head -1`. Why: the interpreter flushes again at exit and would print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if sys.stderr is not None:
            sys.stderr.write(f"lesson: {LOST}: {error.strerror}\n")
        return 1
    return 0
