"""`tacitd uninstall`: tacitd's own files are removed, what was learned stays, and each is named."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from tacitd.errors import UnavailableError
from tacitd.files.locks import acquire_lock
from tacitd.handler import Footprint
from tacitd.plugin import PluginSpec
from tacitd.plugins import collect_footprints
from tacitd.service.managers import Systemd, ToolExit
from tacitd.service.uninstall import STATE_FILES, describe_removal, uninstall_daemon
from tacitd.state.paths import Paths


@pytest.fixture
def places(tmp_path: Path) -> Paths:
    made = Paths(
        tmp_path, tmp_path / "claude", tmp_path / "state", tmp_path / "config.toml", tmp_path / "run/tacitd/s"
    )
    made.socket.parent.mkdir(parents=True)
    made.state_dir.mkdir()
    (made.state_dir / "choices.jsonl").write_text("{}\n")
    made.config_file.write_text("")
    return made


def leave_a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def test_without_purge_the_state_stays(places: Paths, tmp_path: Path) -> None:
    """The unit and the leftover socket are removed."""
    leave_a_socket(places.socket)
    manager = Systemd.for_user({}, tmp_path, lambda argv: ToolExit(0, ""))
    manager.file.parent.mkdir(parents=True)
    manager.file.write_text("")
    said = list(uninstall_daemon(places, manager, purge=False))
    assert not manager.file.exists() and not places.socket.parent.exists()
    assert (places.state_dir / "choices.jsonl").exists()
    assert any("--purge" in text for text in said) and "learned" in said[-1]


def test_what_is_not_tacitds_stays_in_the_state_directory(places: Paths) -> None:
    """TACITD_STATE_DIR may name a directory with other things in it, also in folders of the same names: only what docs/files.md lists is
    removed, and the target of a link is not tacitd's."""
    mine = {"notes.txt", "web/app.py", "model/house.obj", "lock.txt", "tacitd.old.log", "hooks/pre-commit"}
    mine |= {"model/work/weights.bin"}
    away = places.home / "away"
    away.mkdir()
    (away / "mine").write_text("mine")
    for name in mine:
        (places.state_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (places.state_dir / name).write_text("mine")
    for name in (one.replace("[0-9]", "1") for one in STATE_FILES):
        (places.state_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (places.state_dir / name).write_text("")
    (places.state_dir / "tacitd.sock").unlink()
    leave_a_socket(places.state_dir / "tacitd.sock")
    (places.state_dir / ".tacitd-0123456789abcdef.new").write_text("")
    (places.state_dir / "model/away").symlink_to(away)
    said = list(uninstall_daemon(places, None, purge=True, footprints=lambda: {"lessons": Footprint()}))
    left = {str(p.relative_to(places.state_dir)) for p in places.state_dir.rglob("*") if p.is_file()}
    assert left == mine and (away / "mine").exists()
    for name in ("notes.txt", "hooks/pre-commit", "model/work/weights.bin", "model/away"):
        assert f"kept {places.state_dir / name}: it is not tacitd's" in said


@pytest.mark.parametrize("purge", [False, True])
def test_a_file_that_is_no_socket_stays(places: Paths, purge: bool) -> None:
    """TACITD_SOCKET may name a person's file by mistake, and `tacitd.sock` in the state directory may be one too."""
    inside = places.state_dir / "tacitd.sock"
    for path in (places.socket, inside):
        path.write_text("mine")
    said = list(uninstall_daemon(places, None, purge=purge))
    assert places.socket.read_text() == "mine" and inside.read_text() == "mine"
    assert f"kept {places.socket}: it is not a socket" in said
    assert (f"kept {inside}: it is not a socket" in said) == purge


def test_a_kept_file_is_named_with_its_reason(places: Paths, tmp_path: Path) -> None:
    """The plugin's reason is printed; a file that does not exist is not named."""
    file, none = tmp_path / "exclude", tmp_path / "none"
    file.write_text("/LEARNED.md\n")
    one = Footprint(kept=[file, none], reasons={file: "git's own", none: "absent"})
    said = list(uninstall_daemon(places, None, purge=True, footprints=lambda: {"x": one}))
    assert f"kept {file}: git's own" in said and not any(str(none) in text for text in said)


def test_the_files_of_a_kept_directory_are_counted(places: Paths, tmp_path: Path) -> None:
    """A directory is named with its number of files; an empty one is not named."""
    one, two, none = tmp_path / "one", tmp_path / "two", tmp_path / "none"
    for made in (one, two, none):
        made.mkdir()
    for file in (one / "a", two / "a", two / "b"):
        file.write_text("mine")
    kept = Footprint(kept=[one, two, none])
    said = list(uninstall_daemon(places, None, purge=True, footprints=lambda: {"x": kept}))
    assert f"kept {one} (1 file)" in said and f"kept {two} (2 files)" in said
    assert not any(str(none) in text for text in said)


def test_a_footprint_is_removed_or_named(places: Paths, tmp_path: Path) -> None:
    """Links and directories under the name of a file of tacitd's stay; an empty directory of tacitd's is removed."""
    own, away = tmp_path / "own", tmp_path / "away"
    (own / "sub").mkdir(parents=True)
    away.write_text("away")
    for name in ("mark", "kept", ".tacitd-0123456789abcdef.new"):
        (own / name).write_text(name)
    (tmp_path / "link").symlink_to(away)
    one = Footprint(
        [own / "mark", tmp_path / "link", own], [own / "kept", own / "none"], [own], [own / "sub", own]
    )
    said = list(uninstall_daemon(places, None, purge=True, footprints=lambda: {"x": one}))
    assert sorted(path.name for path in own.iterdir()) == ["kept"]
    assert away.read_text() == "away" and (tmp_path / "link").is_symlink()
    assert f"removed {own / 'mark'}" in said and f"kept {own / 'kept'}" in said


@pytest.mark.parametrize("purge", [False, True])
def test_a_copy_for_the_client_is_always_removed(places: Paths, tmp_path: Path, purge: bool) -> None:
    """A generated copy would be loaded for ever and never updated; a link or a directory under its name stays."""
    copy, link, directory = tmp_path / "copy.md", tmp_path / "link.md", tmp_path / "directory.md"
    edited = tmp_path / "edited.md"
    edited.write_text("mine")
    copy.write_text("generated")
    link.symlink_to(copy)
    directory.mkdir()
    said = list(
        uninstall_daemon(
            places,
            None,
            purge=purge,
            footprints=lambda: {
                "toy": Footprint(
                    copies=[link, copy, directory, tmp_path / "none.md"],
                    edited_copies=[edited],
                    reasons={edited: "it has a line of yours"},
                )
            },
        )
    )
    assert edited.read_text() == "mine" and f"kept {edited}: it has a line of yours" in said
    assert not copy.exists() and link.is_symlink() and directory.is_dir()
    assert said.count(f"removed {copy}") == 1


def _find_none(environ: Mapping[str, str]) -> Footprint:
    raise RuntimeError(environ)


def _find_one(_: Mapping[str, str]) -> Footprint:
    return Footprint([Path("/x")])


def test_a_slice_that_cannot_say_its_files_hides_no_other() -> None:
    """A third-party handler may raise anything."""
    plugins = [
        PluginSpec("a", footprint=f"{__name__}:_find_none"),
        PluginSpec("b", footprint=f"{__name__}:_find_one"),
    ]
    assert collect_footprints(plugins, {}) == {"a": Footprint(), "b": Footprint([Path("/x")])}


def test_a_daemon_that_does_not_go_stops_it(places: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is removed while a daemon runs."""
    monkeypatch.setattr("time.monotonic", iter(range(0, 10_000, 30)).__next__)
    with acquire_lock(places.state_dir / "lock"), pytest.raises(UnavailableError):
        list(uninstall_daemon(places, None, purge=True))
    assert (places.state_dir / "choices.jsonl").exists()


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("/home/me/.local/share/uv/tools/tacitd", "`uv tool uninstall tacitd`"),
        ("/home/me/.local/share/pipx/venvs/tacitd", "`pipx uninstall tacitd`"),
        ("/home/me/.local/share/tacitd/venv", "virtual environment /home/me/.local/share/tacitd/venv"),
    ],
)
def test_who_installed_the_program_removes_it(prefix: str, words: str) -> None:
    """A user of uv or pipx is told its command, and not to delete what it manages."""
    assert words in describe_removal(prefix)
