"""Compares the installed package with the running one. It reads the package's metadata, so it is called once a minute."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from tacitd import __version__
from tacitd.handler import Degradation


def check_installed_version(
    running: str = __version__, installed: Callable[[str], str] = version
) -> list[Degradation]:
    """A degradation if another version is installed than the running one; [] if the installed version is unknown."""
    try:
        there = installed("tacitd")
    except (PackageNotFoundError, OSError):  # during an update there may be no package for a moment
        return []
    if there is None or there == running:
        return []
    what = f"version {there} is installed, but version {running} is still running"
    return [Degradation("daemon.outdated", what, "run `tacitd restart`; no work is lost")]
