"""The program in a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Nothing of the person's environment but PATH; no claude on it."""
    return Cli(tmp_path, monkeypatch, capsys)
