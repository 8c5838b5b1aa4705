"""Another installed package than the running one is a degradation in `status`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from tacitd import __version__, housekeeping
from tacitd.housekeeping import check_installed_version


def test_another_version_is_said_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint is `tacitd restart`."""
    monkeypatch.setattr(housekeeping, "version", lambda name: "0.2.0")
    (one,) = check_installed_version()
    assert one.id == "daemon.outdated" and "0.2.0" in one.what and "tacitd restart" in one.hint


def test_the_same_version_and_none_are_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """During an update there may be no package for a moment."""

    def none(_: str) -> str:
        raise PackageNotFoundError

    for installed in (lambda name: __version__, none):
        monkeypatch.setattr(housekeeping, "version", installed)
        assert check_installed_version() == []
