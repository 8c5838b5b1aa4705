"""A directory where a file is expected: it is refused, and no descriptor stays open (priority 2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacitd.errors import FileRefusedError
from tacitd_handlers.shared.places import read_plain_bytes


def count_open() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/dev/fd"))


def test_a_directory_in_a_files_place_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """A daemon that looks at such a file every minute would otherwise run out of descriptors within a day."""
    before = count_open()
    for _ in range(3):
        with pytest.raises(FileRefusedError):
            read_plain_bytes(tmp_path, 10)
    assert count_open() == before
