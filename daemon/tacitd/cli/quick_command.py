"""An `AnsweredCommand` in a process of its own, without click."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from tacitd.cli.quick_answer import NoTrace, is_usable

TYPE_CHECKING = False  # importing typing takes a third of a start of Python
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

OBJECTS = 50_000
"""Objects that are made before the memory is searched for garbage. Imports make fewer, and are not searched then, which saves
`learned` 0.3 starts of Python."""
EXTENSIONS = "typing_extensions"


def run_without_click(arguments: Sequence[str]) -> None:
    """Run a command and end the process. Return, with nothing printed, if the full program must run it."""
    if not (is_usable(sys.stdout) and is_usable(sys.stderr) and sys.stdin is not None):
        return
    gc.set_threshold(OBJECTS)
    with NoTrace():
        try:
            _import_msgspec()
            from tacitd.cli.answered_command import load_answered, locate_answered
            from tacitd.cli.command_table import COMMANDS, keep_plugin_table
            from tacitd.cli.standard_streams import end_process, write_text
            from tacitd.errors import FAILED

            if arguments[0] not in COMMANDS:
                keep_plugin_table(os.environ)
            found = locate_answered(arguments)
            command = load_answered(found[1]) if found else None
        except Exception:  # noqa: BLE001  a package that cannot be imported: the full program says so
            return
    values = command.read_arguments(arguments[len(found[0]) :]) if command and found else None
    if command is None or values is None:
        return

    def run() -> object:
        try:
            return command.function(**values)
        except Exception as error:
            if not _is_click_error(error, "Abort"):  # a person did not answer a question
                raise
            with suppress(OSError):
                write_text("aborted\n", sys.stderr)
            return FAILED

    try:
        end_process(run, "tacitd", leave)
    except Exception as error:
        # The full program reports an error of usage, with the usage of the command.
        if not _is_click_error(error, "UsageError"):
            raise


def leave(code: int) -> NoReturn:
    """End the process without taking the interpreter apart, which takes 0.8 starts of Python after `learned`.

    Nothing is left for it to do: the streams are flushed, and these commands leave no threads and no exit handlers.
    """
    os._exit(code)


def _import_msgspec() -> None:
    """Import msgspec without `typing_extensions`, which saves 0.6 starts of Python: an eighth of what `learned` takes.

    msgspec takes `get_type_hints`, `Required` and `NotRequired` from it if there is one, otherwise from `typing`, where they do
    the same since Python 3.11. A later import of `typing_extensions` finds it.
    """
    if "msgspec" in sys.modules or EXTENSIONS in sys.modules:
        return
    sys.modules[EXTENSIONS] = None  # type: ignore[assignment]  # for `import`: there is no such module
    try:
        __import__("msgspec")
    finally:
        del sys.modules[EXTENSIONS]


def _is_click_error(error: Exception, name: str) -> bool:
    """Whether it is the error of click that has this name. click may not be imported."""
    click = sys.modules.get("click")
    return click is not None and isinstance(error, getattr(click, name))
