"""The entry point of the `tacitd` program: it prepares signals before the slow imports.

Nothing else belongs here. Each import above `prepare_start` extends the time in which Ctrl-C prints a traceback.
"""

from __future__ import annotations

import sys

from tacitd.service.early_signals import no_trace_on_interrupt, prepare_start


def main() -> None:
    """Prepare signals, then import and run the program."""
    prepare_start(sys.argv[1:])
    with no_trace_on_interrupt():
        from tacitd.cli import main as run
    run()


if __name__ == "__main__":
    main()
