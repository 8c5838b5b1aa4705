"""The entry point of the `tacitd` program: it prepares signals before the slow imports, and prints the version and the status
line without them.

Nothing else belongs here. Each import above `prepare_start` extends the time in which Ctrl-C prints a traceback.
"""

from __future__ import annotations

import sys

from tacitd import __version__


def main() -> None:
    """Prepare signals, then import and run the program."""
    if sys.argv[1:] == ["--version"] and _print_version():
        return
    if sys.argv[1:] == ["statusline"]:
        from tacitd.statusline import print_status_line

        print_status_line()
        return
    from tacitd.service.early_signals import no_trace_on_interrupt, prepare_start

    prepare_start(sys.argv[1:])
    with no_trace_on_interrupt():
        from tacitd.cli.program import main as run
    run()


def _print_version() -> bool:
    """Print the version as the full program does, in a tenth of its time. False if stdout is closed: the program reports it."""
    try:
        sys.stdout.write(f"tacitd {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # AttributeError: there is no stdout at all
        return False
    return True


if __name__ == "__main__":
    main()
