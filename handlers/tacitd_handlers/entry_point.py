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
    try:
        from tacitd.cli.program import main as run

        run()
    except KeyboardInterrupt:  # during the imports; a command that runs ends with a message
        sys.exit(130)
    finally:
        gc.freeze()  # otherwise the interpreter's end looks through all modules for garbage


if __name__ == "__main__":
    main()
