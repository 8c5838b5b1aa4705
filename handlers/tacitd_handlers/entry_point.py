"""The entry point of the `tacitd` program: it prepares signals before the slow imports, and answers common commands without
them.

Nothing else belongs here. Each import above `prepare_start` extends the time in which Ctrl-C prints a traceback.
"""

from __future__ import annotations

import os
import sys

from tacitd import __version__

ANSWERED = frozenset(
    {"config show", "context", "doctor", "history", "learned", "prompts", "show", "spend", "status", "why"}
)
"""Commands that run without click, all or some of them: in a running daemon, otherwise here."""


def main() -> None:
    """Answer without the full program, or prepare signals, then import and run it."""
    if sys.argv[1:] == ["statusline"]:
        from tacitd.statusline import print_status_line

        print_status_line()
        return
    if _answer_quickly(sys.argv[1:]):
        return
    from tacitd.service.early_signals import no_trace_on_interrupt, prepare_start

    prepare_start(sys.argv[1:])
    with no_trace_on_interrupt():
        from tacitd.cli.program import main as run
    run()


def _answer_quickly(arguments: list[str]) -> bool:
    """Print what the full program prints, with modules that import no click; False if the full program is needed."""
    if "_TACITD_COMPLETE" in os.environ:  # a shell asks for completions
        return False
    match arguments:
        case ["--version"]:
            return _print_text(f"tacitd {__version__}\n")
        case [] | ["--help"] | ["-h"]:
            from tacitd.cli.quick_help import read_help

            text = read_help(os.environ)
            return text is not None and _print_text(text)
        case [command, *_] if command in ANSWERED or " ".join(arguments[:2]) in ANSWERED:
            from tacitd.cli.quick_answer import answer_command

            return (
                answer_command(arguments, os.environ)
                or (arguments == ["status"] and _print_last_status())
                or _run_without_click(arguments)
            )
        case _:
            return False


def _run_without_click(arguments: list[str]) -> bool:
    """Run the command and end the process; False if that needs click."""
    from tacitd.cli.quick_command import run_without_click

    run_without_click(arguments)
    return False


def _print_last_status() -> bool:
    """Print the last status if no daemon runs, and end the process; False if that is not so."""
    from tacitd.cli.quick_answer import NoTrace

    with NoTrace():
        from tacitd.cli.quick_status import print_last_status

        code = print_last_status() if sys.stdout is not None and sys.stderr is not None else None
    if code is not None:
        sys.exit(code)
    return False


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
