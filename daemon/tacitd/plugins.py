"""How plugins are found: entry points of the group `tacitd.handlers`, in the `entry_points.txt` of installed distributions.

A plugin that cannot be loaded is reported, and the others run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from tacitd.handler import Degradation, Footprint, load_hook
from tacitd.logging_setup import logger
from tacitd.plugin import ENGINE_PARTS, PluginSpec

if TYPE_CHECKING:
    from pydantic import BaseModel

GROUP = "tacitd.handlers"


class EntryPoint(NamedTuple):
    """A line of the group: `name = module:function`."""

    name: str
    where: str


class FoundPlugins(Struct, frozen=True):
    plugins: tuple[PluginSpec, ...]
    failed: tuple[Degradation, ...] = ()

    def collect_sections(self) -> Mapping[str, type[BaseModel]]:
        """The configuration's sections. Raises what a module of settings raises."""
        return {name: model for one in self.plugins for name, model in load_settings(one).items()}

    def collect_prompt_extensions(self) -> dict[str, list[str]]:
        """The hooks of prompt extensions by the prompt's name."""
        found: dict[str, list[str]] = {}
        for one in self.plugins:
            for prompt, where in one.prompt_parts.items():
                if prompt not in ENGINE_PARTS:
                    found.setdefault(prompt, []).append(where)
        rules = list(self.collect_person_rules().values())
        return found | ({"person-rules": rules} if rules else {})

    def collect_person_rules(self) -> dict[str, str]:
        """The hooks of person rules by plugin name, in the order of the plugins."""
        ordered = sorted(self.plugins, key=lambda one: (one.order, one.name))
        return {one.name: hook for one in ordered if (hook := one.prompt_parts.get("person-rules"))}


def find_declarations() -> FoundPlugins:
    """As `find_plugins`, without importing what the hooks name: for commands that need some of them."""
    return find_plugins(check=lambda _: None)


def list_entry_points(places: Iterable[str] | None = None) -> list[EntryPoint]:
    """The entry points of all plugins in these directories (None: `sys.path`), by name. As with `importlib.metadata`, which
    takes longer to import than all plugins, the first distribution of a name counts."""
    found, known = list[EntryPoint](), set[str]()
    for place in dict.fromkeys(sys.path if places is None else places):
        try:
            names = os.listdir(place or ".")  # noqa: PTH208  for the names alone, which is faster
        except OSError:  # not a directory: a zip file, or nothing
            continue
        for name in names:
            stem, _, kind = name.rpartition(".")
            distribution = stem.partition("-")[0].lower()
            if kind in ("dist-info", "egg-info") and distribution not in known:
                known.add(distribution)
                found += _read_group(f"{place or '.'}/{name}/entry_points.txt")
    return sorted(found)


def _read_group(file: str) -> Iterator[EntryPoint]:
    try:
        with open(file, "rb") as opened:
            data = opened.read()
        # Of a hundred distributions, few have the group.
        lines = data.decode().splitlines() if GROUP.encode() in data else []
    except (OSError, UnicodeDecodeError):
        return
    group = ""
    for line in map(str.strip, lines):
        name, equals, value = line.partition("=")
        if line.startswith("["):
            group = line
        elif group == f"[{GROUP}]" and equals and not line.startswith(("#", ";")):
            yield EntryPoint(name.strip(), value.partition("[")[0].strip())  # `[extra]` may follow


def load_settings(one: PluginSpec) -> dict[str, type[BaseModel]]:
    return {name: load_hook(hook) for name, hook in one.settings.items()}


def find_plugins(
    points: Iterable[EntryPoint] | None = None, check: Callable[[PluginSpec], object] = load_settings
) -> FoundPlugins:
    """Load every plugin that is installed, in the order of their names. One for which `check` raises is left out."""
    plugins: list[PluginSpec] = []
    failed: list[Degradation] = []
    for point in list_entry_points() if points is None else sorted(points):
        try:
            one = load_hook(point.where)()
            _check_declaration(one)
            if one.name in ("", "engine", *(other.name for other in plugins)):
                raise ValueError(f"the name {one.name!r} is taken")
            check(one)
            plugins.append(one)
        except Exception as error:  # noqa: BLE001  a third-party package may raise anything when it is imported
            why = f"{type(error).__name__}: {error}"
            what = f"the handler {point.name} ({point.where}) cannot be loaded: {why}"
            failed.append(Degradation("handler.broken", what, "update or remove the package that brings it"))
    return FoundPlugins(tuple(plugins), tuple(failed))


def _check_declaration(one: object) -> None:
    """Raises TypeError if a field by which commands are listed or sections are sorted is wrong."""
    if not isinstance(one, PluginSpec):
        raise TypeError(f"it returned {type(one).__name__}, not PluginSpec")
    for name, row in one.commands.items():
        if len(row) != 3 or not all(isinstance(text, str) for text in row):
            raise TypeError(f"the command {name} has not three texts")
    if not all(isinstance(number, int) for number in (one.order, one.session_budget)):
        raise TypeError("order and session_budget are not both whole numbers")


def collect_footprints(plugins: Iterable[PluginSpec], environ: Mapping[str, str]) -> dict[str, Footprint]:
    """By plugin name, the files outside the state directory. A plugin whose `footprint` raises gets an empty one."""
    found: dict[str, Footprint] = {}
    for one in plugins:
        try:
            found[one.name] = load_hook(one.footprint)(environ) if one.footprint else Footprint()
        except Exception as error:  # noqa: BLE001  a third-party handler may raise anything
            logger.warning("the files of {} are unknown: {}", one.name, error)
            found[one.name] = Footprint()
    return found
