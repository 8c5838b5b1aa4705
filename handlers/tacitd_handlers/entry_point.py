"""The `tacitd` program's first lines: signals are prepared before anything else is imported."""

from __future__ import annotations

import sys

from tacitd.service.early_signals import no_trace_on_interrupt, prepare_start


def main() -> None:
    """Run the program."""
    prepare_start(sys.argv[1:])
    with no_trace_on_interrupt():
        from tacitd_handlers import commands
    commands.main()


if __name__ == "__main__":
    main()
