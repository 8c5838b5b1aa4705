"""Trace one learned prompt: which modules and functions run between the growth of its transcript and LEARNED.md.

    python scripts/trace_prompt.py [--names]

The script runs `tacitd demo` in this process: the real engine in a temporary directory, with a scripted model. It counts
from step 1 of the demonstration (the transcript grows) to step 3 (LEARNED.md is written), with `sys.setprofile`. The start of
the engine is not counted. A function counts once, by module and qualified name; comprehensions and lambdas do not count.

Counted is what the prompt passes: the passes of the engine's loop, and the tasks that follow from it. Not counted is what
happens beside it: what the demonstration itself does, the engine's own tasks, the start of the session, and timed jobs but the
synthesis. The demonstration runs in one thread; in a daemon a worker takes each task, which is counted as a hand-over.
The figures are printed for each part too, which is a package of the engine or a plugin. `--names` lists the functions.
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from importlib.metadata import entry_points
from types import CodeType, FrameType
from typing import Any

PACKAGES = ("tacitd", "tacitd_handlers")
PASS, TASK = "Engine.run_pass", "TaskRunner._call"
"""The functions that a pass of the loop, and a task, begin with."""
JOB = "synthesize"
"""The job that the prompt waits for, as the end of its session does."""
BEGIN, END = "1. ", "3. "
"""How the lines of the demonstration begin between which calls are counted."""


class CallCounter(io.StringIO):
    """Counts the calls in our packages while the demonstration is between two of its lines.

    It replaces standard output, since the lines that the demonstration prints are what begins and ends the count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[CodeType, str] = {}
        self.hand_overs = 0
        self._counting = False
        self._pass: FrameType | None = None
        self._beside: FrameType | None = None
        """What is not on the way of the prompt, while it runs."""

    def write(self, text: str) -> int:
        line = text.lstrip()
        self._counting = line.startswith(BEGIN) or (self._counting and not line.startswith(END))
        return super().write(text)

    def count_call(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count one event of the profiler; a `sys.setprofile` function."""
        if event == "return":
            self._pass = None if frame is self._pass else self._pass
            self._beside = None if frame is self._beside else self._beside
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if event != "call" or not self._counting or module.split(".")[0] not in PACKAGES:
            return
        if name == PASS:
            self._pass = self._pass or frame
        if name == TASK and self._beside is None and not _is_on_the_way(frame.f_locals):
            self._beside = frame
        if self._pass is None or self._beside is not None or "<" in frame.f_code.co_name:
            return
        self.hand_overs += name == TASK
        self.modules.setdefault(frame.f_code, module)

    @property
    def functions(self) -> list[str]:
        """`module:qualified.name` of each function that ran, sorted."""
        return sorted({f"{module}:{code.co_qualname}" for code, module in self.modules.items()})


def _is_on_the_way(arguments: dict[str, Any]) -> bool:
    """Whether a task follows from the prompt, given the arguments with which it is begun."""
    task = arguments["task"]
    is_other_job = task.kind == "job" and not task.key.startswith(JOB)
    return arguments["name"] != "engine" and task.kind != "session-started" and not is_other_job


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
    sys.stdout.write(f"{len(modules)} modules, {len(functions)} functions, {counter.hand_overs} hand-overs\n")


if __name__ == "__main__":
    main()
