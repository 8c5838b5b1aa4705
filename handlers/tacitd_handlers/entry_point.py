"""The entry point of the `tacitd` program: it prepares signals before the slow imports, and answers common commands without
them.

Nothing else belongs here. Each import above `prepare_start` extends the time in which Ctrl-C prints a traceback.
"""

from __future__ import annotations

import os
import sys

from tacitd import __version__


def main() -> None:
    """Answer without the full program, or prepare signals, then import and run it."""
    if sys.argv[1:] == ["statusline"]:
        from tacitd.statusline import print_status_line

        print_status_line()
        return
    if (text := _answer_quickly(sys.argv[1:])) is not None and _print_text(text):
        return
    from tacitd.service.early_signals import no_trace_on_interrupt, prepare_start

    prepare_start(sys.argv[1:])
    with no_trace_on_interrupt():
        from tacitd.cli.program import main as run
    run()


def _answer_quickly(arguments: list[str]) -> str | None:
    """What the full program prints, from modules that import no click; None if the full program is needed."""
    if "_TACITD_COMPLETE" in os.environ:  # a shell asks for completions
        return None
    match arguments:
        case ["--version"]:
            return f"tacitd {__version__}\n"
        case [] | ["--help"] | ["-h"]:
            from tacitd.cli.quick_help import read_help

            return read_help(os.environ)
        case ["status"]:
            return _answer_status()
        case _:
            return None


def _answer_status() -> str | None:
    from tacitd.service.early_signals import no_trace_on_interrupt

    with no_trace_on_interrupt():
        from tacitd.cli.quick_status import answer_status
        from tacitd.errors import TacitdError

        try:
            return answer_status(os.environ) if sys.stdout is not None else None
        except TacitdError as error:
            from tacitd.cli.program import end_with_error

            end_with_error(error)


def _print_text(text: str) -> bool:
    """Print the text. False if that is not possible: the full program tries again, and reports why."""
    try:
        if sys.stdout.encoding.lower() not in ("utf-8", "utf8") and not text.isascii():
            return False
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, AttributeError):  # AttributeError: there is no stdout at all
        return False
    return True


if __name__ == "__main__":
    main()
