"""Another installed package than the running one is a degradation in `status`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

from tacitd.housekeeping import check_installed_version


def test_another_version_is_said_with_the_cure() -> None:
    """The hint is `tacitd restart`."""
    (one,) = check_installed_version("0.1.0", lambda name: "0.2.0")
    assert one.id == "daemon.outdated" and "0.2.0" in one.what and "tacitd restart" in one.hint


def test_the_same_version_and_none_are_quiet() -> None:
    """During an update there may be no package for a moment."""

    def none(_: str) -> str:
        raise PackageNotFoundError

    assert (
        check_installed_version("0.1.0", lambda name: "0.1.0") == check_installed_version("0.1.0", none) == []
    )
