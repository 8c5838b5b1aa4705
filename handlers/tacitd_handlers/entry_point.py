"""The entry point of the `tacitd` program."""

from __future__ import annotations

import gc
import os
import sys

GARBAGE = 30_000
"""So many new objects are looked through for garbage at once: the modules that a command imports are none, and few are made besides."""


def use_utf8() -> None:
    """Start again in Python's UTF-8 mode if the locale has another encoding, in which a project's path might have no form. Returns if
    there is nothing to do, or if that cannot be done."""
    if sys.getfilesystemencoding() != "utf-8":
        from contextlib import suppress

        with suppress(OSError):
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def main() -> None:
    """Print the status line, or import and run the program."""
    use_utf8()
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
    is_daemon = sys.argv[1:2] == ["run"]
    if is_daemon:
        from tacitd.without_asyncio import import_without_asyncio

        import_without_asyncio()
    else:  # a daemon's memory counts
        gc.set_threshold(GARBAGE)
    from tacitd.cli.program import main as run

    if is_heard and not is_daemon:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # otherwise the interpreter's end looks through all modules for garbage


if __name__ == "__main__":
    main()
