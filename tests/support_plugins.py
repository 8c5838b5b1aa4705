"""A home with one plugin in the real engine, whose commands run in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from unittest import mock

import click
from click.testing import CliRunner, Result
from msgspec.structs import asdict

from support_faulty_disk import Crash
from tacitd.errors import TacitdError
from tacitd.model.port import Model
from tacitd.plugin import PluginSpec
from tacitd.testing import FakeClock, HandlerBench


class PluginHome:
    """Enter it: hooks and commands take their places from the environment."""

    def __init__(
        self,
        tmp: Path,
        plugin: PluginSpec,
        clock: FakeClock,
        *modules: ModuleType,
        model: Model | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`modules`: those that open a connection to the daemon, or read the time."""
        self.clock, self._modules, self._settings = clock, modules, settings or {}
        self.home = tmp.resolve() / "home"
        self._start = partial(HandlerBench, tmp, plugin, model=model, clock=clock, settings=settings)
        self._stack = ExitStack()
        self.bench: HandlerBench

    def __enter__(self) -> Self:
        environ = {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ}
        environ |= {"HOME": str(self.home), "USER": "cameron", **self._settings}
        self._stack.enter_context(mock.patch.dict(os.environ, environ, clear=True))
        parts: dict[str, Any] = {"connect_or_run": self._connect, "SystemClock": lambda: self.clock}
        for module in self._modules:
            for name in parts.keys() & vars(module).keys():
                self._stack.enter_context(mock.patch.object(module, name, parts[name]))
        self.bench = self._stack.enter_context(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def _connect(self) -> Iterator[Callable[..., Any]]:
        def ask(method: str, /, *, plugin: str, key: str, data: dict[str, Any]) -> Any:
            assert (method, plugin) == ("task", self.bench.plugin.name)
            return {"made": [asdict(one) for one in self.bench.run_command(key, data).notices]}

        yield ask

    def invoke(self, group: click.Group, *arguments: str) -> Result:
        """Run a command of the plugin. Raises what the command raises."""
        names = ["-h", "--help"]
        result = CliRunner().invoke(group, arguments, standalone_mode=False, help_option_names=names)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def crash(self, happens: Callable[[], object], is_here: Callable[[str], bool]) -> bool:
        """End as `kill -9` would at a durable step, if it comes to one that is meant, and start again. Returns whether it came to that."""
        reached = False

        def stop(step: str) -> None:
            nonlocal reached
            if not reached and is_here(step):
                reached = True
                raise Crash(step)

        app = self.bench._app
        app.store._on_step = app.plugins._services.files._on_step = stop
        with suppress(Crash, TacitdError):
            happens()
        app.store._on_step = app.plugins._services.files._on_step = lambda step: None
        self.bench.restart(kill=True)
        self.bench.settle(0.001)
        return reached


def save(path: Path, text: str | bytes) -> Path:
    """Save a file as an editor does that replaces it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(text.encode() if isinstance(text, str) else text)
    new.replace(path)
    return path
