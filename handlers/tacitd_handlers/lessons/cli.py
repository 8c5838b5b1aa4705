"""The program `lesson`.

Nothing heavy is imported here, because `lesson load` must be fast; all other commands go to `full_program.py`.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the program, and end the process with its exit code."""
    if sys.argv[1:2] == ["load"]:
        from tacitd_handlers.lessons.fast_path import answer_load, print_text

        text = answer_load(sys.argv[2:], os.environ)
        if text is not None:
            sys.exit(print_text(text))
    from tacitd_handlers.lessons.full_program import run_program

    run_program()
