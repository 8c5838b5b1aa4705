"""Finding the client (ANCHORS P7: service managers give a bare PATH)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.model.environment import find_command


def put(path: Path) -> Path:
    """Create a program at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_path_comes_first(tmp_path: Path) -> None:
    """The program that the person's shell would start is started."""
    put(tmp_path / "home/.local/bin/claude")
    first = put(tmp_path / "bin/claude")
    assert find_command("claude", {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}) == first


@pytest.mark.parametrize("place", [".claude/local/claude", ".local/bin/claude", ".npm-global/bin/claude"])
def test_well_known_places(tmp_path: Path, place: str) -> None:
    """The installers' places are checked if PATH has none."""
    program = put(tmp_path / place)
    assert find_command("claude", {"PATH": "/nowhere", "HOME": str(tmp_path)}) == program


def test_the_newest_node_wins(tmp_path: Path) -> None:
    """nvm: v22 before v9, by number."""
    nvm = tmp_path / ".nvm/versions/node"
    put(nvm / "v9.11.2/bin/claude")
    newest = put(nvm / "v22.3.0/bin/claude")
    (nvm / "v23.0.0").mkdir()
    assert find_command("claude", {"PATH": "/nowhere", "HOME": str(tmp_path)}) == newest


def test_a_path_is_only_looked_for_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`claude.command` may be a path, with `~`."""
    program = put(tmp_path / "own/claude")
    environ = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    assert find_command("~/own/claude", environ) == program
    assert find_command(str(program), environ) == program
    put(tmp_path / ".local/bin/claude")
    assert find_command("/nowhere/claude", environ) is None


def test_none_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client is an ordinary state (DESIGN "Model", S-08)."""
    monkeypatch.setattr("tacitd.model.environment._places", lambda command, home: iter([tmp_path / "x"]))
    (tmp_path / "claude").write_text("not executable")
    assert find_command("claude", {"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None
