"""A bench for each test, and few processes of git."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import Bench, list_tracked_without_git
from tacitd.files import git


@pytest.fixture(autouse=True)
def _few_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git is run only where its answer is not known."""
    monkeypatch.setattr(git, "list_tracked", list_tracked_without_git)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A git work tree, and a model that says "use pnpm"."""
    return Bench(tmp_path)
