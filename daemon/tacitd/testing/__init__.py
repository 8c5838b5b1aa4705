"""What handlers are tested with: tacitd's own, and yours.

clock = FakeClock(wall=1_700_000_000)
model = ScriptedModel([("Message:", "Prefers pnpm over npm")])
with HandlerBench(tmp_path, make_plugin(), model=model, clock=clock) as bench:
    bench.type("no, use pnpm")
    bench.settle()

`HandlerBench` and `World` run the real engine, so they import all of it; the others import little. `HandlerBench` has one
plugin; `World` is a person with everything that is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacitd.testing.fakes import DAY, START, FakeClock, Reply, ScriptedModel

if TYPE_CHECKING:
    from tacitd.testing.bench import HandlerBench
    from tacitd.testing.world import World

__all__ = ["DAY", "START", "FakeClock", "HandlerBench", "Reply", "ScriptedModel", "World"]


def __getattr__(name: str) -> Any:
    """Import the engine when a name needs it."""
    modules = {"HandlerBench": "bench", "World": "world"}
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{modules[name]}"), name)
