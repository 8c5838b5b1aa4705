"""Whether the package that is installed is another one than the one that runs. Cheap: asked at each status."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from tacitd import __version__
from tacitd.handler import Degradation


def outdated(running: str = __version__, installed: Callable[[str], str] = version) -> list[Degradation]:
    """A degradation where a restart would bring another version; nothing where that cannot be known."""
    try:
        there = installed("tacitd")
    except (PackageNotFoundError, OSError):  # in the middle of an update there may be none for a moment
        return []
    if there is None or there == running:
        return []
    what = f"version {there} is installed, and version {running} runs still"
    return [Degradation("daemon.outdated", what, "`tacitd restart` changes over; nothing is lost by that")]
