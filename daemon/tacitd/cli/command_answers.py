"""Commands that the daemon runs for other processes, because their imports take longer than what they do.

It runs the command itself, in the thread of the connection: what is printed is collected by `caller.py`. It declines
whatever another process might print differently, and what takes long. How it is asked is in `quick_answer.py`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.cli.answered_command import load_answered, locate_answered
from tacitd.cli.caller import DeclinedError, RemoteCaller, run_for
from tacitd.cli.quick_answer import METHOD, SENT, identify_places, identify_program, select_same
from tacitd.cli.stored_table import stamp_entry_points
from tacitd.control.protocol import encode_result
from tacitd.service.heap import return_memory

RpcMethod = Callable[[Mapping[str, Any]], Any]
RUNNING = 2
"""Commands that run at the same time."""
LONG = 0.05
"""Seconds of CPU time after which a command is long: memory is returned then."""
MOST_SECONDS = 0.25
"""Seconds of CPU time after which a command is declined from then on. In a process of its own the imports make little
difference to such a command, and the daemon's work does not wait for it."""
DECLINED: Mapping[str, Any] = {"printed": []}


class CommandAnswers:
    """Answers the method `command`."""

    def __init__(self, methods: Mapping[str, RpcMethod]) -> None:
        self._methods = methods
        self._program = identify_program()
        self._plugins = stamp_entry_points(sys.path)
        self._slots = threading.BoundedSemaphore(RUNNING)
        self._imported = set[tuple[str, ...]]()
        self._slow = set[tuple[str, ...]]()

    def answer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run a command for another process; return what is printed, or nothing if that process must run it.

        Raises KeyError, TypeError if the parameters are not those of `quick_answer`.
        """
        arguments = [str(word) for word in params["arguments"]]
        caller = self._describe_caller(arguments, params)
        if caller is None or not self._slots.acquire(blocking=False):
            return DECLINED
        try:
            return self._run_command(arguments, caller)
        except (DeclinedError, Exception):  # noqa: BLE001  the other process finds it too, and reports it
            return DECLINED
        finally:
            self._slots.release()

    def _describe_caller(self, arguments: Sequence[str], params: Mapping[str, Any]) -> RemoteCaller | None:
        """The other process; None if it differs from this one in what matters."""
        directory, columns = str(params["directory"]), params["columns"]
        mine = (self._program, select_same(os.environ), identify_places(directory, arguments))
        if mine != (params["program"], params["same"], params["places"]):
            return None
        if stamp_entry_points(sys.path) != self._plugins:
            return None  # this process may have imported plugins that were updated since
        environ = {name: value for name, value in os.environ.items() if name not in SENT}
        environ |= {str(name): str(value) for name, value in dict(params["sent"]).items()}
        return RemoteCaller(
            Path(directory), environ, columns if isinstance(columns, int) else None, self._call_method
        )

    def _call_method(self, method: str, /, **params: Any) -> Any:
        """Call a method of this daemon as through the socket, but without a second connection."""
        return json.loads(encode_result(1, self._methods[method](params)))["result"]

    def _run_command(self, arguments: Sequence[str], caller: RemoteCaller) -> Mapping[str, Any]:
        found = locate_answered(arguments)
        if found is None or found[0] in self._slow:
            return DECLINED
        path, command = found[0], load_answered(found[1])
        values = command.read_arguments(arguments[len(path) :]) if command else None
        if command is None or values is None:
            return DECLINED
        began = time.thread_time()
        try:
            # A process keeps the zone of its first local time, and the machine's may have changed since.
            time.tzset()
            with run_for(caller):
                code = command.function(**values)
        finally:
            took = time.thread_time() - began
            # A first run also imports, and may have to compile.
            if took > MOST_SECONDS and path in self._imported:
                self._slow.add(path)
            self._imported.add(path)
            if took > LONG:
                return_memory()
        texts = [text for printed in caller.printed for text in printed]
        "".join(texts).encode("utf-8")  # half characters would be replaced on their way
        return DECLINED if code else {"printed": ["", *texts]}


def add_command_method(methods: Mapping[str, RpcMethod]) -> dict[str, RpcMethod]:
    """The methods of the socket, with the one that runs commands."""
    return {**methods, METHOD: CommandAnswers(methods).answer}
