"""The projects that the last status names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacitd.state.known_projects import list_known_projects
from tacitd.state.paths import SNAPSHOT


def test_the_projects_of_plugins_and_of_parked_work_are_known(tmp_path: Path) -> None:
    """Each once, and only absolute paths."""
    slices = {
        "a": {"projects": {"/w/app": {}, "": {}}},
        "b": {"projects": {"/w/lib": 1}},
        "c": {"projects": ["/x"]},
        "d": 1,
    }
    parked = [{"project": "/w/parked"}, {"project": "word"}, 5, {}]
    (tmp_path / SNAPSHOT).write_text(json.dumps({"slices": slices, "parked": parked}))
    assert list_known_projects(tmp_path) == ["/w/app", "/w/lib", "/w/parked"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"\xff", b'{"slices": 5, "parked": 5}'])
def test_a_damaged_status_names_none(tmp_path: Path, raw: bytes) -> None:
    """A snapshot of another version, or half of one."""
    assert list_known_projects(tmp_path) == []
    (tmp_path / SNAPSHOT).write_bytes(raw)
    assert list_known_projects(tmp_path) == []
