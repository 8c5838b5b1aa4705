"""Service commands of two accounts: one service for each user, and a second daemon beside it with its own state directory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.service import detach, managers
from tacitd.service.managers import Systemd, ToolExit
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.work_status import DaemonNote, NoteWriter


@pytest.fixture
def unit(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The unit of the account with the usual directories, installed. The manager's tool, and the start of a daemon, are
    replaced."""
    file = cli.home / ".config/systemd/user/tacitd.service"

    def run_tool(argv: Sequence[str]) -> ToolExit:
        if "start" in argv:
            running.append("service")
        if "is-active" in argv:
            return ToolExit(0 if running else 3, "")
        if "--property=Environment" not in argv:
            return ToolExit(0, "")
        lines = file.read_text().splitlines()
        return ToolExit(0, " ".join(one[12:] for one in lines if one.startswith("Environment=")))

    def find_manager(*_: object) -> Systemd:
        return Systemd.for_user({}, cli.home, run_tool)

    running = list[str]()
    monkeypatch.setattr(managers, "find_manager", find_manager)
    monkeypatch.setattr(detach, "spawn_daemon", lambda *_: 7)
    monkeypatch.setattr(detach, "ping_daemon", lambda _: 8 if running else None)
    (cli.config_dir / "projects").mkdir(parents=True)
    installed = cli.run("service", "install", "--no-now")
    assert installed.code == 0, installed.err
    return file


def use_second_account(cli: Cli) -> None:
    cli.set(CLAUDE_CONFIG_DIR=str(cli.home / ".claude-work"), TACITD_STATE_DIR=str(cli.home / "second state"))
    (cli.home / ".claude-work/projects").mkdir(parents=True)


def test_a_second_daemon_starts_beside_the_service(cli: Cli, unit: Path) -> None:
    """`start` of the account that has the service starts the service."""
    use_second_account(cli)
    started = cli.run("start")
    assert started.code == 0 and "tacitd is running (process 7)" in started.err
    assert "missing: `claude` was not found\nhint: install Claude Code" in started.err, "issue 39, point 9"
    assert "hint: `tacitd plugin install`" in started.err
    assert cli.run("pause").code == 0 and "missing" in cli.run("start").err, "no daemon has run yet"
    with closing(Store.open(cli.home / "second state", FakeClock(), owner=False)) as store:
        NoteWriter(store).write(DaemonNote("0", 7, 0.0, 0.0, "", 0))
    assert "missing" not in cli.run("start").err, "only the first start says it"


def test_start_starts_whatever_is_installed(cli: Cli, unit: Path) -> None:
    """The service; a second time it says that it runs. `service status` of a service that does not run ends with 3."""
    assert cli.run("service", "status").code == 3
    started = cli.run("start")
    assert started.code == 0 and "the service is running (process 8)" in started.err
    assert cli.run("service", "status").code == 0
    again = cli.run("start")
    assert again.code == 0 and "already running (process 8)" in again.err
    assert "already running" in cli.run("service", "install").err
    assert cli.run("service", "uninstall").code == 0
    assert cli.run("service", "status").code == 69


def test_the_service_of_one_account_is_not_taken_by_another(cli: Cli, unit: Path) -> None:
    """Its unit would be written over, and the first account would no longer be read after the next login."""
    before = unit.read_bytes()
    assert cli.run("service", "install", "--no-now").code == 0 and unit.read_bytes() == before
    use_second_account(cli)
    refused = cli.run("service", "install")
    assert refused.code == 69 and "the daemon of another account" in refused.err
    assert "`tacitd start`" in refused.err and unit.read_bytes() == before


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "TACITD_STATE_DIR"])
def test_one_other_directory_is_no_other_account(cli: Cli, unit: Path, variable: str) -> None:
    """Two daemons would read the same transcripts, or write the same state."""
    cli.set(**{variable: str(cli.home / "other")})
    assert "the service is running" in cli.run("start").err
    assert cli.run("service", "install", "--no-now").code == 0 and f'"{variable}=' in unit.read_text()
    assert cli.run("uninstall", "--yes").code == 0 and not unit.exists()


def test_the_second_account_is_uninstalled_alone(cli: Cli, unit: Path) -> None:
    before = unit.read_bytes()
    use_second_account(cli)
    assert cli.run("uninstall", "--purge", "--yes").code == 0
    assert unit.read_bytes() == before


def test_a_service_with_a_state_directory_of_its_own_is_known(cli: Cli, unit: Path) -> None:
    """Also where no manager answers, over ssh: the unit itself is read then."""
    assert cli.run("service", "uninstall").code == 0
    use_second_account(cli)
    assert cli.run("service", "install", "--no-now").code == 0
    assert "the service is running" in cli.run("start").err
    silent = Systemd.for_user({}, cli.home, lambda _: ToolExit(1, "no bus"))
    assert silent.read_environment()["TACITD_STATE_DIR"] == str(cli.home / "second state")
    gone = cli.run("uninstall", "--yes")
    assert gone.code == 0 and not unit.exists()


def test_purge_removes_the_page_of_the_report(cli: Cli) -> None:
    """It has words of the person; its folder in the cache goes with it."""
    page = Path(cli.run("report", "--all").out.strip())
    assert page.is_file()
    said = cli.run("uninstall", "--purge", "--yes")
    assert said.code == 0 and f"removed {page}" in said.err and not page.parent.exists()
