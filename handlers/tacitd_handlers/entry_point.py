"""The entry point of the `tacitd` program: it prepares signals before the slow imports.

Nothing else belongs here. Each import above `prepare_start` extends the time in which Ctrl-C prints a traceback.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Print the status line, or prepare signals, then import and run the program."""
    if sys.argv[1:] == ["statusline"]:  # the client runs it again and again
        from tacitd.statusline import print_status_line

        print_status_line()
        return
    from tacitd.service.early_signals import no_trace_on_interrupt, prepare_start

    prepare_start(sys.argv[1:])
    with no_trace_on_interrupt():
        from tacitd.cli.program import main as run
    run()


if __name__ == "__main__":
    main()
