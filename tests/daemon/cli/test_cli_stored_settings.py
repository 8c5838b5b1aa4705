"""The stored settings: the same as those that are read and checked, and never those of another configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel

from support_cli import Cli
from tacitd.cli.stored_settings import SETTINGS_FILE, load_settings_table
from tacitd.config.settings import list_settings, load_config
from tacitd.errors import ConfigError
from tacitd.handler import Degradation, Plugin
from tacitd.plugins import FoundPlugins, find_plugins

WRITTEN = """
directives = ["~/a.md", "/b – é.md"]
[session]
idle = "90s"
[projects]
exclude = ["~/private", "**/secret"]
[extraction]
max_prompts = 7
"""


@pytest.fixture
def file(cli: Cli) -> Path:
    """config.toml, which does not exist yet."""
    place = cli.home / ".config/tacitd/config.toml"
    place.parent.mkdir(parents=True)
    return place


def stored(cli: Cli) -> Path:
    """The file in the cache directory."""
    return Path(os.environ["XDG_CACHE_HOME"]) / "tacitd" / SETTINGS_FILE


def forbid_reading(patch: pytest.MonkeyPatch) -> None:
    """From now on, reading the configuration fails."""

    def fail(*_: object) -> None:
        raise AssertionError("the configuration was read again")

    patch.setattr("tacitd.config.settings.load_config", fail)


@pytest.mark.parametrize("content", [None, "", WRITTEN])
@pytest.mark.parametrize(
    "variables", [{}, {"TACITD_SESSION__IDLE": "2h", "TACITD_BUDGET__USD_PER_DAY": "1.5"}]
)
def test_they_are_those_of_the_configuration(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, variables: Mapping[str, str]
) -> None:
    """Keys, values, descriptions: at the first call, and from the file, which only this user can read."""
    cli.set(**variables)
    if content is not None:
        file.write_text(content)
    config = load_config(file, os.environ, find_plugins().collect_sections())
    expected = [
        (key, list(value) if isinstance(value, tuple) else value, about)
        for key, value, about in list_settings(config)
    ]
    first = load_settings_table(file, os.environ)
    assert [row[:3] for row in first.rows] == expected
    shown = cli.run("config", "show"), cli.run("config", "show", "--json")
    assert stored(cli).stat().st_mode & 0o777 == 0o600
    forbid_reading(monkeypatch)
    again = load_settings_table(file, os.environ)
    assert again == first
    assert [type(row.value) for row in again.rows] == [type(value) for _, value, _ in expected]
    assert (cli.run("config", "show"), cli.run("config", "show", "--json")) == shown
    assert again.get_value("session", "idle") == config.session.idle


def test_they_are_read_again_when_something_changed(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file's bytes, a variable, also in small letters, and another file."""
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 1800.0
    file.write_text("[session]\nidle = 5\n")
    times = file.stat()
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 5.0
    file.write_text("[session]\nidle = 6\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 6.0
    cli.set(TACITD_SESSION__IDLE="7")
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 7.0
    cli.set(tacitd_session__idle="8")
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 8.0
    monkeypatch.delenv("TACITD_SESSION__IDLE")
    monkeypatch.delenv("tacitd_session__idle")
    other = file.with_name("other.toml")
    assert load_settings_table(other, os.environ).get_value("session", "idle") == 1800.0
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 6.0


def test_errors_are_found_each_time(cli: Cli, file: Path) -> None:
    """After a valid configuration, and twice."""
    load_settings_table(file, os.environ)
    for wrong in ("[session]\nidle = -1\n", "[session", "[unknown]\nx = 1\n", b"\xff"):
        file.write_bytes(wrong if isinstance(wrong, bytes) else wrong.encode())
        for _ in range(2):
            with pytest.raises(ConfigError):
                load_settings_table(file, os.environ)
    file.unlink()
    cli.set(TACITD_SESSION__IDEL="1h")
    for _ in range(2):
        with pytest.raises(ConfigError):
            load_settings_table(file, os.environ)


def test_removed_settings_are_named_each_time(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`config check` and `doctor` report them."""
    sections = find_plugins().collect_sections()
    section, name = next(
        (section, name)
        for section, model in sections.items()
        for name in getattr(model, "removed_settings", {})
    )
    file.write_text(f"[{section}]\n{name} = 1\n")
    first = load_settings_table(file, os.environ)
    assert first.removed and f"{section}.{name}" in first.removed[0]
    forbid_reading(monkeypatch)
    assert load_settings_table(file, os.environ).removed == first.removed


def test_an_edited_module_makes_them_again(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edited checkout changes no metadata: every module that was loaded is compared."""
    load_settings_table(file, os.environ)
    content = json.loads(stored(cli).read_bytes())
    names = [name for name in content["modules"] if name.endswith("learning/settings.py")]
    assert names and any(name.endswith("tacitd/config/types.py") for name in content["modules"])
    content["modules"][names[0]][0] += 1
    stored(cli).write_text(json.dumps(content))
    forbid_reading(monkeypatch)
    with pytest.raises(AssertionError):
        load_settings_table(file, os.environ)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"schema": 4}', b"[" * 100_000])
def test_a_damaged_file_is_made_again(cli: Cli, file: Path, damage: bytes) -> None:
    """As if there were none."""
    expected = load_settings_table(file, os.environ)
    stored(cli).write_bytes(damage)
    assert load_settings_table(file, os.environ) == expected
    assert stored(cli).read_bytes() != damage


def test_a_file_that_others_can_write_is_not_read(cli: Cli, file: Path) -> None:
    """It could name other settings."""
    load_settings_table(file, os.environ)
    content = json.loads(stored(cli).read_bytes())
    content["rows"] = [["session.idle", 1.0, "", "1"]]
    stored(cli).write_text(json.dumps(content))
    stored(cli).chmod(0o666)
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 1800.0


class ForeignSettings(BaseModel):
    """Of a third party: its checks may look at files."""

    path: str = "/x"


def test_a_third_party_s_settings_are_not_stored(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything while a plugin cannot be loaded."""
    foreign = Plugin("toy", "toy:Handler", settings={"toy": f"{__name__}:ForeignSettings"})
    real = find_plugins()
    plugins = FoundPlugins((*real.plugins, foreign))
    monkeypatch.setattr("tacitd.plugins.find_plugins", lambda: plugins)
    assert load_settings_table(file, os.environ).get_value("toy", "path") == "/x"
    assert not stored(cli).exists()
    broken = (Degradation("handler.broken", "x", "y"),)
    monkeypatch.setattr("tacitd.plugins.find_plugins", lambda: FoundPlugins(real.plugins, broken))
    assert load_settings_table(file, os.environ).failed == broken
    assert not stored(cli).exists()
    monkeypatch.setattr("tacitd.plugins.find_plugins", lambda: real)
    load_settings_table(file, os.environ)
    assert stored(cli).exists()


def test_a_file_that_changes_while_it_is_read_is_not_stored(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the new values would be stored with the old bytes."""
    real = load_config

    def change(*given: object) -> object:
        file.write_text("[session]\nidle = 9\n")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("tacitd.config.settings.load_config", change)
    assert load_settings_table(file, os.environ).get_value("session", "idle") == 9.0
    assert not stored(cli).exists()
