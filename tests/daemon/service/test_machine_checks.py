"""Doctor's checks of the service and the machine, and its repairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support_calls import list_calls
from support_claude import install_stand_in
from support_cli import Cli
from tacitd.handler import DoctorFinding
from tacitd.service import doctor
from tacitd.service.managers import ServiceFacts, Systemd, ToolExit, parse_environment


def ids(found: object) -> list[str]:
    assert not isinstance(found, DoctorFinding)
    return [one.id for one in list(found)]  # type: ignore[call-overload]


def test_the_services_file(tmp_path: Path) -> None:
    """Absent, up to date whatever PATH the shell has, of another version, edited, unreadable: each with its hint."""

    def run(argv: Sequence[str]) -> ToolExit:
        return ToolExit(0, "")

    made = Systemd.for_user({}, tmp_path, run)
    given = ServiceFacts(("/p/tacitd",), str(tmp_path), "/log", {"PATH": "/usr/bin", "HOME": str(tmp_path)})
    (one,) = doctor.check_service(made, given)
    assert (one.id, one.hint) == ("service.absent", "run `tacitd service install`")
    made.install(given, now=False)
    assert ids(doctor.check_service(made, given)) == ["service.installed"]
    other_shell = ServiceFacts(
        given.program, given.home, given.log, {**given.environment, "PATH": "/other:/usr/bin"}
    )
    assert ids(doctor.check_service(made, other_shell)) == ["service.installed"]
    assert ids(doctor.check_service(made, ServiceFacts(("/new/tacitd",), given.home, given.log, {}))) == [
        "service.outdated"
    ]
    made.file.write_text(made.file.read_text().replace("Nice=10", "Nice=1"))
    assert ids(doctor.check_service(made, given)) == ["service.edited"]
    made.file.write_bytes(b"\xff\xfe")
    assert ids(doctor.check_service(made, given)) == ["service.unreadable"]


def test_without_a_manager_the_other_way_is_named(tmp_path: Path) -> None:
    """No D-Bus, a container."""
    (one,) = doctor.check_service(
        Systemd.for_user({}, tmp_path, lambda argv: ToolExit(1, "no bus")), ServiceFacts((), "", "")
    )
    assert one.id == "service.absent" and "no bus" in one.what and "tacitd start" in one.hint


def test_the_services_environment() -> None:
    """As `systemctl show` prints it, unquoted."""
    text = 'PATH=/a:/b "HOME=/höme with spaces" LANG=C.UTF-8'
    assert parse_environment(text) == {"PATH": "/a:/b", "HOME": "/höme with spaces", "LANG": "C.UTF-8"}
    assert parse_environment('"HOME=/a\\$b\\`c \\\\$d\\"e"') == {"HOME": '/a$b`c \\$d"e'}
    assert parse_environment('"unfinished') == parse_environment("") == {}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    (made.config_dir / "projects").mkdir(parents=True)
    return made


def test_the_model_is_asked_only_on_request_with_its_cost_first(cli: Cli, tmp_path: Path) -> None:
    """`doctor --model`: the cost is named, a person agrees, and the call counts in the budget."""
    claude = install_stand_in(tmp_path / "bin", [{"match": "one word", "reply": "yes"}])
    cli.set(PATH=claude.path())
    refused = cli.run("doctor", "--model", typed="n\n")
    assert "cent" in refused.err and refused.code == 1 and not claude.prompts()
    said = cli.run("doctor", "--model", "--yes")
    assert "ok   model.answers" in said.out and len(claude.prompts()) == 1
    assert [(one["purpose"], one["outcome"]) for one in list_calls(cli.state)] == [("doctor", "answered")]
    claude.rules([{"match": "one word", "fault": "overloaded"}], logged_in=False)
    claude.program.write_text("#!/bin/sh\nexit 3\n")
    assert "FAIL model.mute" in cli.run("doctor", "--model", "--yes").out


def test_install_without_a_manager(cli: Cli) -> None:
    """The whole command: exit code 69, one clear line, a hint, and nothing written; `--dry-run` works anywhere."""
    cli.set(PATH="/nonexistent")
    said = cli.run("service", "install")
    assert said.code == 69 and "tacitd start" in said.err and "Traceback" not in said.err
    assert not (cli.home / ".config").exists()
    dry = cli.run("service", "install", "--dry-run")
    assert dry.code == 0 and f'Environment="HOME={cli.home}"' in dry.out
    assert cli.run("service", "status").code == 69
    assert cli.run("service", "uninstall").code == 0
    assert cli.run("uninstall", "--purge", "--yes").code == 0


def test_a_client_that_moved(tmp_path: Path) -> None:
    """After an update of nvm the shell finds the client and the service does not."""
    claude = install_stand_in(tmp_path / "v22")
    shell, old = {"PATH": claude.path(), "HOME": "/none"}, {"PATH": "/v20/bin", "HOME": "/none"}
    (one,) = doctor.check_client("claude", shell, old)
    assert (
        one.id == "service.client-moved"
        and one.severity == "error"
        and one.hint == "run `tacitd service install`"
    )
    assert ids(doctor.check_client("claude", shell, shell)) == []
