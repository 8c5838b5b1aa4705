"""The program in a home directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """PATH is the only variable of the real environment, and there is no claude on it."""
    return Cli(tmp_path, monkeypatch, capsys)
