"""Leaves the tests of this folder out of a plain `pytest`; its test files name this module as a plugin.

They install some 360 MB from npm and start a terminal: a surprise for who only wants to run the tests.
"""

from __future__ import annotations

import pytest

MARK = "real_client"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`pytest -m real_client` asks for them; everything else leaves them out."""
    if MARK in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker(MARK) is not None]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.get_closest_marker(MARK) is None]
