"""How plugins are found: entry points of the group `tacitd.handlers`.

The daemon loads all of them. The command line does so only to make its table (`cli/plugin_table`). A plugin that cannot be
loaded is reported in `status`, and the others run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.handler import Degradation, Footprint, Plugin
from tacitd.logging_setup import logger

if TYPE_CHECKING:
    from pydantic import BaseModel

GROUP = "tacitd.handlers"


class FoundPlugins(Struct, frozen=True):
    """The plugins that could be loaded, and a degradation for each of the others."""

    plugins: tuple[Plugin, ...]
    failed: tuple[Degradation, ...] = ()

    def collect_sections(self) -> Mapping[str, type[BaseModel]]:
        """The configuration's sections of all plugins. Raises what a module of settings raises."""
        return {name: model for one in self.plugins for name, model in one.load_settings().items()}

    def collect_prompt_extensions(self) -> dict[str, list[str]]:
        """The hooks of prompt extensions by the prompt's name, in the order of the plugins."""
        found: dict[str, list[str]] = {}
        for one in self.plugins:
            for prompt, where in one.prompt_extensions.items():
                found.setdefault(prompt, []).append(where)
        return found

    def collect_person_rules(self) -> dict[str, str]:
        """The hooks of person rules by plugin name, in the order of `Plugin.order`."""
        named = [one for one in self.plugins if one.person_rules]
        return {one.name: one.person_rules for one in sorted(named, key=lambda one: (one.order, one.name))}


def find_plugins(points: Iterable[EntryPoint] | None = None) -> FoundPlugins:
    """Load every plugin that is installed, in the order of their names."""
    return _load_plugins(points, lambda one: one.load_settings())


def find_declarations(points: Iterable[EntryPoint] | None = None) -> FoundPlugins:
    """The same without importing what the hooks name: for the command line's table."""
    return _load_plugins(points, lambda _: None)


def list_entry_points() -> list[EntryPoint]:
    """The entry points of all plugins that are installed, by name."""
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _load_plugins(points: Iterable[EntryPoint] | None, check: Callable[[Plugin], object]) -> FoundPlugins:
    plugins: list[Plugin] = []
    failed: list[Degradation] = []
    named = list_entry_points() if points is None else sorted(points, key=lambda point: point.name)
    for point in named:
        try:
            make: Callable[[], Plugin] = point.load()
            one = make()
            if any(one.name == other.name for other in plugins):
                raise ValueError(f"there is another handler {one.name!r}")
            check(one)
            plugins.append(one)
        except Exception as error:  # noqa: BLE001  a third-party package may raise anything when it is imported
            what = (
                f"the handler {point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            )
            failed.append(Degradation("handler.broken", what, "update or remove the package that brings it"))
    return FoundPlugins(tuple(plugins), tuple(failed))


def find_job_owners(plugins: Iterable[Plugin], job: str) -> list[str]:
    """The names of the plugins that have this job."""
    return [one.name for one in plugins if any(each.name == job for each in one.jobs)]


def collect_footprints(plugins: Iterable[Plugin], environ: Mapping[str, str]) -> dict[str, Footprint]:
    """By plugin name, the files outside the state directory. A plugin whose `footprint` raises gets an empty one."""
    found: dict[str, Footprint] = {}
    for one in plugins:
        try:
            found[one.name] = one.find_footprint(environ)
        except Exception as error:  # noqa: BLE001  a third-party handler may raise anything
            logger.warning("the files of {} are unknown: {}", one.name, error)
            found[one.name] = Footprint()
    return found
