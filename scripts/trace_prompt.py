"""Trace one learned prompt: which modules and functions run between the growth of its transcript and LEARNED.md.

    python scripts/trace_prompt.py [--names]

The script runs `tacitd demo` in this process: the real engine in a temporary directory, with a scripted model. It counts
from step 1 of the demonstration (the transcript grows) to step 3 (LEARNED.md is written), in all threads, with
`sys.setprofile`. The start of the engine is not counted. A function counts once, by module and qualified name;
comprehensions and lambdas do not count. A thread change is a call in another thread than the call before it.
The figures are printed for each part too, which is a package of the engine or a plugin. Everything that runs meanwhile is
counted, also what the demonstration asks the daemon for. `--names` lists the functions.
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from importlib.metadata import entry_points
from types import CodeType, FrameType

PACKAGES = ("tacitd", "tacitd_handlers")
BEGIN, END = "1. ", "3. "
"""How the lines of the demonstration begin between which calls are counted."""


class CallCounter(io.StringIO):
    """Counts the calls in our packages while the demonstration is between two of its lines.

    It replaces standard output, since the lines that the demonstration prints are what begins and ends the count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[CodeType, str] = {}
        self.thread_changes = -1
        self._counting = False
        self._last_thread = 0

    def write(self, text: str) -> int:
        line = text.lstrip()
        self._counting = line.startswith(BEGIN) or (self._counting and not line.startswith(END))
        return super().write(text)

    def count_call(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count one event of the profiler; a `sys.setprofile` function."""
        if event != "call" or not self._counting:
            return
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] not in PACKAGES or "<" in frame.f_code.co_name:
            return
        self.modules.setdefault(frame.f_code, module)
        thread = threading.get_ident()
        self.thread_changes += thread != self._last_thread
        self._last_thread = thread

    @property
    def functions(self) -> list[str]:
        """`module:qualified.name` of each function that ran, sorted."""
        return sorted({f"{module}:{code.co_qualname}" for code, module in self.modules.items()})


def trace_demo() -> CallCounter:
    """Run the demonstration under the profiler."""
    (command,) = entry_points(group="console_scripts", name="tacitd")
    main = command.load()
    counter = CallCounter()
    arguments, sys.argv = sys.argv, ["tacitd", "demo"]
    threading.setprofile(counter.count_call)
    sys.setprofile(counter.count_call)
    try:
        with contextlib.redirect_stdout(counter), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        sys.argv = arguments
    return counter


def _part_of(function: str) -> str:
    """The package of the engine, or the plugin, that a function belongs to; `tacitd` for the engine's root."""
    package, _, rest = function.partition(":")[0].partition(".")
    part = rest.partition(".")
    return f"{package}.{part[0]}" if part[1] else package


def main() -> None:
    """Print the figures, by part and together, and with `--names` the functions."""
    counter = trace_demo()
    functions = counter.functions
    modules = {name.partition(":")[0] for name in functions}
    for part in sorted({_part_of(name) for name in functions}):
        within = [name for name in functions if _part_of(name) == part]
        count = len({name.partition(":")[0] for name in within})
        sys.stdout.write(f"{part:<32} {count:>4} modules {len(within):>5} functions\n")
    if "--names" in sys.argv[1:]:
        sys.stdout.writelines(f"{name}\n" for name in functions)
    sys.stdout.write(
        f"{len(modules)} modules, {len(functions)} functions, {counter.thread_changes} thread changes\n"
    )


if __name__ == "__main__":
    main()
