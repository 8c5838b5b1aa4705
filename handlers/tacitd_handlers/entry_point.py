"""The entry point of the `tacitd` program."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Print the status line, or import and run the program."""
    if sys.argv[1:] == ["statusline"]:  # the client runs it again and again
        from tacitd.statusline import print_status_line

        print_status_line()
        return
    import signal

    # Ctrl-C during the imports ends the process, without a traceback. As an exception it could come up in a place where Python
    # ignores exceptions, and be lost. A daemon sets its own reactions once it has begun.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tacitd.cli.program import main as run

    if is_heard and sys.argv[1:2] != ["run"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # otherwise the interpreter's end looks through all modules for garbage


if __name__ == "__main__":
    main()
