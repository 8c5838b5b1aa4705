"""What handlers are tested with: tacitd's own, and yours.

clock = FakeClock(wall=1_700_000_000)
model = ScriptedModel([("Message:", "Prefers pnpm over npm")])
disk = FaultyDisk(crash_at=3)
with HandlerBench(tmp_path, make_plugin(), model=model, clock=clock) as bench:
    bench.type("no, use pnpm")
    bench.settle()

`HandlerBench` runs the real engine, so it imports all of it; the others import little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacitd.testing.fakes import DAY, START, FakeClock, Reply, ScriptedModel

if TYPE_CHECKING:
    from tacitd.testing.bench import HandlerBench
    from tacitd.testing.faulty_disk import Crash, FaultyDisk

__all__ = ["DAY", "START", "Crash", "FakeClock", "FaultyDisk", "HandlerBench", "Reply", "ScriptedModel"]


def __getattr__(name: str) -> Any:
    """Import the engine or the disk when one of their names is used."""
    if name == "HandlerBench":
        from tacitd.testing.bench import HandlerBench

        return HandlerBench
    if name in ("Crash", "FaultyDisk"):
        from tacitd.testing import faulty_disk

        return getattr(faulty_disk, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
