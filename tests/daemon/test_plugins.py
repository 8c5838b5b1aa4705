"""How plugins are found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacitd.config.settings import LogSettings
from tacitd.plugin import PluginSpec
from tacitd.plugins import GROUP, EntryPoint, find_plugins, list_entry_points

Points = Callable[..., list[EntryPoint]]


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Points:
    """Entry points by name, each of a function that returns a plugin."""

    def make(**plugins: PluginSpec) -> list[EntryPoint]:
        module = SimpleNamespace(**{name: lambda one=one: one for name, one in plugins.items()})
        monkeypatch.setitem(sys.modules, "there", module)
        return [EntryPoint(name, f"there:{name}") for name in plugins]

    return make


def _slice(name: str, **sections: str) -> PluginSpec:
    return PluginSpec(name, settings=sections)


def _install(place: Path, folder: str, text: str) -> None:
    (place / folder).mkdir(parents=True)
    (place / folder / "entry_points.txt").write_text(text)


def test_slices_are_found_in_the_order_of_their_names(points: Points) -> None:
    """Issue "Dispatch": handlers are found by entry points."""
    found = find_plugins(points(b=_slice("b"), a=_slice("a", log="tacitd.config.settings:LogSettings")))
    assert [one.name for one in found.plugins] == ["a", "b"] and found.failed == ()
    assert found.collect_sections() == {"log": LogSettings}


def test_one_that_cannot_be_loaded_is_said_and_stops_no_other(points: Points) -> None:
    """Issue "Dispatch": a stranger's package may raise anything when it is imported, give something else, or take a name."""
    bad = EntryPoint("bad", "no_such_module:make")
    odd: Any = "plugin"
    same = _slice("good")
    found = find_plugins([bad, *points(good=_slice("good"), odd=odd, same=same)])
    assert [one.name for one in found.plugins] == ["good"]
    for said, why in zip(found.failed, ("No module", "it returned str", "'good' is taken"), strict=True):
        assert why in said.what


@pytest.mark.parametrize(
    "fields",
    [{"commands": {"x": ("x:y",)}}, {"commands": {"x": ("x:y", "X.", 1)}}, {"order": "1"}, {"commands": 5}],
)
def test_a_declaration_that_cannot_be_listed_is_said(points: Points, fields: dict[str, Any]) -> None:
    """docs/handlers.md: a row has three texts, an order is a number. Otherwise the list of commands would fail."""
    found = find_plugins(points(bad=PluginSpec("bad", **fields), good=_slice("good")))
    assert [one.name for one in found.plugins] == ["good"] and "bad" in found.failed[0].what


def test_the_installed_are_those_that_python_finds() -> None:
    """The same names and values as `importlib.metadata`, in this environment."""
    expected = sorted((one.name, one.value) for one in entry_points(group=GROUP))
    assert expected and [tuple(one) for one in list_entry_points()] == expected


def test_entry_points_are_read_as_python_does(tmp_path: Path) -> None:
    """Other groups, comments, spaces and extras; the first distribution of a name counts; what cannot be read is none."""
    first, second = tmp_path / "first", tmp_path / "second"
    text = "[console_scripts]\nx = y:z\n\n[tacitd.handlers]\n# no = no:no\n toy = toy:make [extra]\nb=b:make\n[other]\nc = c:c\n"
    _install(first, "Toy-1.dist-info", text)
    _install(second, "toy-0.9.egg-info", "[tacitd.handlers]\nold = toy:old\n")
    _install(second, "other.egg-info", "[tacitd.handlers]\nother = other:make\n")
    (second / "none-1.dist-info").mkdir()
    (second / "file-1.egg-info").write_text("")
    _install(second, "binary-1.dist-info", "")
    (second / "binary-1.dist-info" / "entry_points.txt").write_bytes(b"[tacitd.handlers]\n\xff = x:y\n")
    places = map(str, (first, tmp_path / "nowhere", second, first))
    assert [tuple(one) for one in list_entry_points(places)] == [
        ("b", "b:make"),
        ("other", "other:make"),
        ("toy", "toy:make"),
    ]


def test_person_rules_are_collected_in_the_plugins_order(points: Points) -> None:
    """The hook `person-rules`: the order of the lines' sections does not depend on names of packages."""
    found = find_plugins(
        points(
            a=PluginSpec("a", prompt_parts={"person-rules": "a:rules"}, order=60),
            b=PluginSpec("b"),
            c=PluginSpec("c", prompt_parts={"person-rules": "c:rules"}, order=20),
        )
    )
    assert list(found.collect_person_rules().items()) == [("c", "c:rules"), ("a", "a:rules")]
