"""How plugins are found."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

from support_engine import Scripted
from tacitd.config.settings import LogSettings
from tacitd.handler import Plugin
from tacitd.plugins import find_plugins


class Point:
    """An entry point that answers what the test wants."""

    def __init__(self, name: str, answer: Any) -> None:
        self.name, self.value, self._answer = name, f"there:{name}", answer

    def load(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return lambda: self._answer


def _points(*points: Point) -> list[EntryPoint]:
    return points  # type: ignore[return-value]


def _slice(name: str, **sections: Any) -> Plugin:
    return Plugin(name, Scripted, settings=sections)


def test_slices_are_found_in_the_order_of_their_names() -> None:
    """Issue "Dispatch": handlers are found by entry points."""
    found = find_plugins(_points(Point("b", _slice("b")), Point("a", _slice("a", log=LogSettings))))
    assert [one.name for one in found.plugins] == ["a", "b"] and found.failed == ()
    assert found.collect_sections() == {"log": LogSettings}


def test_one_that_cannot_be_loaded_is_said_and_stops_no_other() -> None:
    """Issue "Dispatch": a stranger's package may raise anything when it is imported."""
    found = find_plugins(_points(Point("bad", ImportError("no module")), Point("good", _slice("good"))))
    (said,) = found.failed
    assert [one.name for one in found.plugins] == ["good"] and "bad" in said.what and "no module" in said.what


def test_two_of_one_name_would_share_a_log() -> None:
    """The second is left out and said: two handlers must never write one log."""
    found = find_plugins(_points(Point("x", _slice("same")), Point("y", _slice("same"))))
    assert len(found.plugins) == 1 and len(found.failed) == 1


def test_ours_are_installed() -> None:
    """The plugin `learning` is found in the way in which another package's would be."""
    found = find_plugins()
    assert "learning" in [one.name for one in found.plugins] and found.failed == ()


def test_person_rules_are_collected_in_the_plugins_order() -> None:
    """`Plugin.person_rules`: the order of the lines' sections does not depend on names of packages."""
    found = find_plugins(
        _points(
            Point("a", Plugin("a", Scripted, person_rules="a:rules", order=60)),
            Point("b", Plugin("b", Scripted)),
            Point("c", Plugin("c", Scripted, person_rules="c:rules", order=20)),
        )
    )
    assert list(found.collect_person_rules().items()) == [("c", "c:rules"), ("a", "a:rules")]
