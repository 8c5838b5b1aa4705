"""Installing hooks into a settings file that a person and the client also write."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacitd.errors import FileRefusedError
from tacitd.service.hook_installation import KEPT_COPIES, HookInstaller, make_command
from tacitd.sources.claude_code.hook_entries import ClaudeCodeHooks
from tacitd.sources.claude_code.hook_events import EVENTS
from tacitd.state.hook_files import write_hook_program
from tacitd.state.paths import Paths
from tacitd.testing import FakeClock

SETTINGS = '{\n  "model": "opus",\n  "permissions": { "allow": ["Bash(ls)"] }\n}\n'


@pytest.fixture
def installer(tmp_path: Path) -> HookInstaller:
    """A home with a configuration directory of the client."""
    (tmp_path / "claude").mkdir()
    state = tmp_path / "state"
    state.mkdir()
    paths = Paths(tmp_path, tmp_path / "claude", state, tmp_path / "config.toml", tmp_path / "s")
    return HookInstaller(ClaudeCodeHooks(), paths, FakeClock())


def settings_of(installer: HookInstaller, text: str | bytes | None = SETTINGS) -> Path:
    """Write the person's settings."""
    path = installer.find_settings(None)
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "text", [SETTINGS, "{}\n", '{"a":1}', "\ufeff" + SETTINGS, SETTINGS.replace("\n", "\r\n")]
)
def test_install_and_remove_leave_the_file_as_it_was(installer: HookInstaller, text: str) -> None:
    """Byte for byte, with its mode; twice is once; the copy has the bytes of before."""
    path = settings_of(installer, text)
    path.chmod(0o640)
    report = installer.install()
    assert report.changed and sorted(entry.event for entry in report.entries) == sorted(EVENTS)
    assert report.backup is not None and report.backup.read_bytes() == text.encode()
    assert report.backup.stat().st_mode & 0o777 == 0o600
    assert installer.program.stat().st_mode & 0o777 == 0o700
    added = path.read_bytes()
    again = installer.install()
    assert not again.changed and again.backup is None and path.read_bytes() == added
    assert not installer.inspect().stale
    assert installer.remove().changed and path.read_bytes() == text.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert not installer.remove().changed and installer.inspect().entries == ()


def test_a_file_that_only_we_made_goes_again(installer: HookInstaller) -> None:
    """Unless something else is in it by then; a person's own empty file stays."""
    path = settings_of(installer, None)
    installer.install()
    installer.remove()
    assert not path.exists()
    installer.install()
    document = json.loads(path.read_text())
    path.write_text(json.dumps({"model": "opus", **document}))
    installer.remove()
    assert json.loads(path.read_text()) == {"model": "opus"}


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, // mine\n}', '{"a": 1,}', "", "[]", b"\xff\xfe{}", '{"hooks": {"Stop": 1}}', '{"a": 1'],
)
def test_settings_that_are_not_understood_stay(
    installer: HookInstaller, text: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No byte changes, nothing is copied, and the hint says what to do."""
    monkeypatch.setattr("tacitd.files.json_document.PATIENCE", 0.0)
    path = settings_of(installer, text)
    before = path.read_bytes()
    for work in (installer.install, installer.remove, installer.inspect):
        with pytest.raises(FileRefusedError) as refused:
            work()
        assert refused.value.hint
    assert path.read_bytes() == before and not (installer.program.parent / "backups").exists()


def test_a_link_into_a_dotfiles_repository_stays_a_link(installer: HookInstaller, tmp_path: Path) -> None:
    """The file that it points to is changed and restored."""
    target = tmp_path / "dotfiles.json"
    target.write_text(SETTINGS)
    path = settings_of(installer, None)
    path.symlink_to(target)
    installer.install()
    assert path.is_symlink() and "hooks" in json.loads(target.read_text())
    installer.remove()
    assert path.is_symlink() and target.read_text() == SETTINGS


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_something_else_in_the_file_s_place_is_an_error(installer: HookInstaller, kind: str) -> None:
    """It is left as it is, and nothing waits for it."""
    path = installer.find_settings(None)
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises((OSError, FileRefusedError)):
        installer.install()
    assert path.is_dir() or path.is_fifo()


def test_what_the_client_writes_meanwhile_is_kept(installer: HookInstaller) -> None:
    """The client saved the file between our read and our write."""
    path = settings_of(installer)
    hooks = ClaudeCodeHooks()
    saved: list[str] = []

    class Saving(ClaudeCodeHooks):
        def add_entries(self, text: str, command: str, events: Sequence[str] = EVENTS) -> str:
            if not saved and "theme" not in text:
                saved.append(text)
                path.write_text(text.replace('"opus"', '"opus",\n  "theme": "dark"'))
            return hooks.add_entries(text, command)

    paths = Paths(
        path.parent, path.parent, installer.program.parent.parent, path.parent / "c", path.parent / "s"
    )
    HookInstaller(Saving(), paths, FakeClock()).install()
    document = json.loads(path.read_text())
    assert saved and document["theme"] == "dark" and set(document["hooks"]) == set(EVENTS)


def test_old_copies_go(installer: HookInstaller) -> None:
    """The newest ones stay."""
    for _ in range(KEPT_COPIES + 3):
        settings_of(installer)
        installer.install()
    assert len(list((installer.program.parent / "backups").iterdir())) == KEPT_COPIES


def test_all_settings_files_are_found_again(installer: HookInstaller, tmp_path: Path) -> None:
    """`uninstall` takes the entries out of each project's settings too, and names one that it cannot read."""
    settings_of(installer)
    installer.install()
    installer.install(tmp_path / "app")
    broken = tmp_path / "other/.claude/settings.local.json"
    installer.install(tmp_path / "other")
    broken.write_text(broken.read_text() + "// mine\n")
    said = list(installer.remove_all())
    assert len(said) == 3 and sum("kept the hooks in" in one for one in said) == 1
    assert installer.find_settings(None).read_text() == SETTINGS
    assert not (tmp_path / "app/.claude/settings.local.json").exists() and broken.exists()


def test_the_command_does_no_harm_when_everything_is_gone(tmp_path: Path) -> None:
    """Run by a shell as the client runs it: exit code 0 and no output without the program or the interpreter."""
    for interpreter in (os.path.realpath("/usr/bin/env"), str(tmp_path / "no python")):
        command = make_command(tmp_path / "it's gone.py", tmp_path / "s", interpreter)
        done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_program_that_is_gone_or_moved_shows(installer: HookInstaller) -> None:
    """`hooks status` says that the entries run something else."""
    settings_of(installer)
    installer.install()
    installer.program.unlink()
    assert installer.inspect().stale
    installer.install()
    assert not installer.inspect().stale


PLUGIN_ON = '{"enabledPlugins": {"other@x": true, "tacitd@tacitd": true}}'


def test_the_program_is_written_once(installer: HookInstaller) -> None:
    """A daemon does it at each start: only a missing or an older one is written."""

    def write() -> None:
        write_hook_program(
            installer.program.parent.parent, ClaudeCodeHooks.program, ClaudeCodeHooks.program_name
        )

    write()
    first = installer.program.stat()
    write()
    assert installer.program.stat().st_ino == first.st_ino and first.st_mode & 0o777 == 0o700
    installer.program.write_text("of an older version")
    write()
    assert installer.program.read_bytes() == ClaudeCodeHooks.program.read_bytes()


@pytest.mark.parametrize("where", ["person", "project"])
def test_hooks_are_not_added_beside_the_plugin(installer: HookInstaller, tmp_path: Path, where: str) -> None:
    """The plugin brings the same; it is found in the person's settings and in their own ones of the project."""
    project = tmp_path / "app"
    settings = installer.find_settings(project if where == "project" else None)
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(PLUGIN_ON)
    with pytest.raises(FileRefusedError, match="brings the same hooks"):
        installer.install(project)
    assert settings.read_text() == PLUGIN_ON and installer.find_plugin(project) == settings
    assert [said for said in installer.remove_all() if "plugin uninstall" in said] == (
        ["kept the plugin in Claude Code: `claude plugin uninstall tacitd@tacitd` removes it"]
        if where == "person"
        else []
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"enabledPlugins": {"tacitd@tacitd": false}}', '{"enabledPlugins": {"tacitd-x@tacitd": true}}',
        '{"enabledPlugins": ["tacitd@tacitd"]}', '{"enabledPlugins": 1}', "[]", "{,}", "\ufeff{}",
    ],
)  # fmt: skip
def test_a_plugin_that_is_off_does_not_count(installer: HookInstaller, text: str) -> None:
    """Nor another one, nor text that is not understood."""
    settings_of(installer, text)
    assert installer.find_plugin() is None


def test_settings_of_five_megabytes(installer: HookInstaller) -> None:
    """Byte-equal afterwards, as a small file is."""
    rules = ",\n".join(f'      "Bash(command-{number}:*)"' for number in range(180_000))
    path = settings_of(installer, f'{{\n  "permissions": {{\n    "allow": [\n{rules}\n    ]\n  }}\n}}\n')
    before = path.read_bytes()
    assert len(before) > 5_000_000
    assert installer.install().changed and len(path.read_bytes()) > len(before)
    assert installer.remove().changed and path.read_bytes() == before
