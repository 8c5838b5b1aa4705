"""How slices are found: entry points of the group `tacitd.handlers`. For the daemon only; the fast commands never scan.

One slice that cannot be loaded is said in `status` and stops nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from pydantic import BaseModel

from tacitd.handler import Degradation, Plugin

GROUP = "tacitd.handlers"


@dataclass(frozen=True, slots=True)
class FoundPlugins:
    """The slices that could be loaded, and what is said of the others."""

    plugins: tuple[Plugin, ...]
    failed: tuple[Degradation, ...] = ()

    def collect_sections(self) -> Mapping[str, type[BaseModel]]:
        """The configuration's sections of all slices."""
        return {name: model for s in self.plugins for name, model in s.settings.items()}


def find_plugins(points: Iterable[EntryPoint] | None = None) -> FoundPlugins:
    """Load every slice that is installed, in the order of their names."""
    slices: list[Plugin] = []
    failed: list[Degradation] = []
    for point in sorted(points if points is not None else entry_points(group=GROUP), key=lambda p: p.name):
        try:
            make: Callable[[], Plugin] = point.load()
            one = make()
            if any(one.name == other.name for other in slices):
                raise ValueError(f"there is another handler {one.name!r}")
            slices.append(one)
        except Exception as error:  # noqa: BLE001  a stranger's package may raise anything when imported
            what = (
                f"the handler {point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            )
            failed.append(Degradation("handler.broken", what, "update or remove the package that brings it"))
    return FoundPlugins(tuple(slices), tuple(failed))


def find_job_owners(slices: Iterable[Plugin], job: str) -> list[str]:
    """The names of the slices that have this job."""
    return [s.name for s in slices if any(j.name == job for j in s.jobs)]
