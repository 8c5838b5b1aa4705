"""`tacitd doctor`: it tries what the daemon needs, changes nothing, does not call the model, and names each fix."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import asdict

from support_claude import StandIn, install_stand_in
from support_cli import Cli
from tacitd.control.client import BusyError
from tacitd.files.locks import acquire_lock
from tacitd.handler import DoctorFinding
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins
from tacitd.service.doctor import Service, examine_machine
from tacitd.service.managers import Systemd, ToolExit, collect_facts
from tacitd.state.paths import Paths


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A home with transcripts, and no claude."""
    made = Cli(tmp_path, monkeypatch, capsys)
    (made.config_dir / "projects").mkdir(parents=True)
    return made


@pytest.fixture
def claude(cli: Cli, tmp_path: Path) -> StandIn:
    """A stand-in for the client on PATH."""
    made = install_stand_in(tmp_path / "bin")
    cli.set(PATH=made.path())
    return made


def found(cli: Cli) -> dict[str, dict[str, str]]:
    return {one["id"]: one for one in cli.run("doctor", "--json").json}


def test_without_claude_it_fails_with_the_cure(cli: Cli) -> None:
    """Issue "`doctor` … work without a daemon and without claude": exit code 1, because something must be fixed."""
    said = cli.run("doctor")
    assert said.code == 1 and "FAIL model.absent: `claude` was not found" in said.out
    assert "     hint: install Claude Code" in said.out and "warn daemon.absent" in said.out
    assert found(cli)["model.absent"]["severity"] == "error"


def test_with_everything_there_it_ends_with_0(cli: Cli, claude: StandIn) -> None:
    """Found, its version, logged in; the model was not called and nothing was written."""
    said = cli.run("doctor")
    assert said.code == 0, said.out
    here = found(cli)
    assert "2.1.328" in here["model.found"]["what"] and here["model.login"]["severity"] == "ok"
    assert here["transcripts.there"]["severity"] == "ok" and here["state.writable"]["severity"] == "ok"
    assert not [call for call in claude.calls() if "-p" in call["argv"]]
    assert sorted(p.name for p in cli.home.iterdir()) == [".claude"]


def test_a_damaged_store_is_named_with_its_cure(cli: Cli, claude: StandIn) -> None:
    """Other commands that fail at it name `doctor`."""
    cli.state.mkdir(parents=True)
    store = cli.state / "tacitd.sqlite"
    store.write_bytes(b"garbage" * 1000)
    said = cli.run("doctor")
    assert said.code == 1 and "FAIL state.unreadable: the store is damaged\n" in said.out
    assert "     hint: `tacitd start` puts it aside" in said.out
    assert store.read_bytes() == b"garbage" * 1000


@pytest.mark.parametrize("option", ["--fix", "--quick"])
def test_it_only_looks(cli: Cli, option: str) -> None:
    """A person's files keep their modes, also where TACITD_STATE_DIR names their folder; there is nothing to repair with."""
    cli.state.mkdir(parents=True)
    script = cli.state / "run.sh"
    script.write_text("mine")
    script.chmod(0o755)
    assert cli.run("doctor", option).code == 2
    found(cli)
    assert script.stat().st_mode & 0o777 == 0o755


def test_a_daemon_that_does_not_answer_is_odd_not_absent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped or busy daemon: its socket is no leftover, and no other daemon is to be started."""

    def deaf(*_: object, **__: object) -> None:
        raise BusyError("the daemon did not answer within 3 s", "end it")

    monkeypatch.setattr("tacitd.service.doctor.call_daemon", deaf)
    here = found(cli)
    assert here["daemon.odd"]["severity"] == "error" and here["daemon.odd"]["hint"] == "end it"
    assert "daemon.absent" not in here


def test_a_daemon_whose_socket_is_gone_is_not_absent(cli: Cli) -> None:
    """The socket is gone, such as one in /tmp; the daemon holds its lock."""
    with acquire_lock(cli.state / "lock"):
        (cli.state / "socket").write_text(f"{cli.state}/tacitd.sock\n{os.getpid()}\n")
        here = found(cli)
    assert here["daemon.odd"]["hint"] == "`tacitd restart`" and "daemon.absent" not in here


def test_logged_out(cli: Cli, claude: StandIn) -> None:
    """ANCHORS P7: tried as the daemon calls it, with the token for services in the hint."""
    claude.rules([], logged_in=False)
    assert cli.run("doctor").code == 1
    one = found(cli)["model.logged-out"]
    assert one["severity"] == "error" and "setup-token" in one["hint"]


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_that_does_not_reach_the_call_is_named(cli: Cli, claude: StandIn, name: str) -> None:
    """ANCHORS P1: a key is passed on only if `claude.pass_env` names it, and `doctor` reports that."""
    cli.set(**{name: "sk-ant-secret"})
    assert "model.login" in found(cli), "a person who is logged in needs no key"
    claude.rules([], logged_in=False)
    one = found(cli)["model.logged-out"]
    assert f"{name} is set" in one["what"] and "sk-ant-secret" not in str(one)
    assert f'claude.pass_env = ["{name}"]' in one["hint"] and "setup-token" in one["hint"]
    cli.set(TACITD_CLAUDE__PASS_ENV=name)
    assert "pass_env" not in found(cli)["model.logged-out"]["hint"]


def test_a_key_that_only_the_shell_has_is_named_for_the_service(
    claude: StandIn, cli: Cli, tmp_path: Path
) -> None:
    """The service's calls have the variables of the service, whatever the person's shell has."""
    claude.rules([], logged_in=False)
    shell = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-secret"}
    manager = Systemd.for_user(
        {}, tmp_path, lambda argv: ToolExit(0, f"HOME={tmp_path} PATH={claude.path()}")
    )
    service = Service(manager, collect_facts(("tacitd",), os.environ, {}, claude.program, tmp_path / "log"))
    manager.file.parent.mkdir(parents=True)
    manager.file.write_text(manager.render_file(service.facts))
    findings = {one.id: one for one in examine_machine(Paths.from_env(os.environ), shell, service)}
    assert "systemctl --user edit" in findings["model.logged-out"].hint
    assert "claude.pass_env" in findings["model.logged-out"].hint


@pytest.mark.parametrize("option", ["--no-session-persistence", "--tools", "--settings"])
def test_a_client_that_is_too_old_is_refused(cli: Cli, claude: StandIn, option: str) -> None:
    """SPEC S-63: missing options are found with `--help`, which costs nothing."""
    claude.rules([], unknown=[option], version="2.0.14")
    said = cli.run("doctor")
    assert said.code == 1 and "FAIL model.too-old" in said.out
    one = found(cli)["model.too-old"]
    assert option in one["what"] and "2.0.76" in one["hint"]
    assert not [call for call in claude.calls() if "-p" in call["argv"]]


def test_a_client_that_knows_no_auth_status(cli: Cli, tmp_path: Path) -> None:
    """Older clients: a warning and not a failure, and never a traceback, whatever the client prints."""
    for text in ("rubbish", "[]", "", "null"):
        program = tmp_path / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{text}'\n")
        program.chmod(0o755)
        cli.set(PATH=f"{program.parent}:/usr/bin:/bin")
        assert cli.run("doctor").code == 0
        assert found(cli)["model.login-unknown"]["severity"] == "warning"


@pytest.mark.parametrize("below", ["", "deeper/state"])
def test_a_file_where_the_state_directory_belongs(cli: Cli, tmp_path: Path, below: str) -> None:
    """Also if a parent is a file: no mode of a file makes it a directory."""
    file = tmp_path / "file"
    file.write_text("mine")
    file.chmod(0o644)
    cli.set(TACITD_STATE_DIR=str(file / below))
    one = found(cli)["state.no-directory"]
    assert (one["what"], one["hint"]) == (f"{file} is a file where a directory belongs", "move it away")
    said = cli.run("doctor")
    assert "chmod" not in said.out + said.err and file.stat().st_mode & 0o777 == 0o644
    assert "state.writable" not in said.out


def test_transcripts_that_are_missing_or_shut(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its hint."""
    real = os.access
    with monkeypatch.context() as patch:
        shut = cli.config_dir / "projects"
        patch.setattr(os, "access", lambda path, mode: path != shut and real(path, mode))
        assert found(cli)["transcripts.unreadable"]["severity"] == "error"
    (cli.config_dir / "projects").rmdir()
    assert found(cli)["transcripts.missing"]["severity"] == "warning"


@pytest.mark.parametrize(
    ("settings", "id"),
    [
        ('{"cleanupPeriodDays": 3}', "transcripts.short-lived"),
        ('{"cleanupPeriodDays": 99999}', "transcripts.kept"),
        ('{"cleanupPeriodDays": "x"}', "transcripts.kept"),
        ("[]", "transcripts.kept"),
        ("not json", "transcripts.kept"),
    ],
)
def test_cleanup_period(cli: Cli, settings: str, id: str) -> None:
    """SPEC X-11: Claude Code deletes transcripts."""
    (cli.config_dir / "settings.json").write_text(settings)
    assert id in found(cli)


def test_a_wrong_configuration_is_one_finding_among_others(cli: Cli, claude: StandIn) -> None:
    """The other checks run with the defaults."""
    cli.set(TACITD_SESSION__IDLE="soon")
    here = found(cli)
    assert "session.idle" in here["config.wrong"]["what"] and "model.found" in here
    assert cli.run("doctor").code == 1


def test_a_command_that_is_a_path(cli: Cli, claude: StandIn, tmp_path: Path) -> None:
    """Issue: `TACITD_CLAUDE__COMMAND`."""
    cli.set(PATH="/usr/bin:/bin", TACITD_CLAUDE__COMMAND=str(claude.program))
    assert str(claude.program) in found(cli)["model.found"]["what"]
    cli.set(TACITD_CLAUDE__COMMAND=str(tmp_path / "nowhere"))
    assert "nowhere" in found(cli)["model.absent"]["what"]


def test_each_finding_has_its_own_id_and_is_json(cli: Cli) -> None:
    """STYLE: JSON output is a contract."""
    findings = examine_machine(Paths.from_env(os.environ), os.environ)
    ids = [one.id for one in findings]
    assert len(ids) == len(set(ids)) and json.loads(json.dumps([asdict(one) for one in findings]))
    assert all(one.hint for one in findings if one.severity != "ok")


def check_toys(environ: dict[str, str]) -> list[DoctorFinding]:
    """A plugin's check."""
    return [DoctorFinding("toy.broken", "warning", f"a toy in {environ['HOME']} is broken", "mend it")]


def fail_check(_: dict[str, str]) -> list[DoctorFinding]:
    """A check that is itself broken."""
    raise KeyError("toy")


def test_plugins_check_their_own_files(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook `doctor`: each is listed with the engine's own, and one that fails hides no other."""
    found_plugins = FoundPlugins(
        (
            PluginSpec("bad", prompt_parts={"doctor": f"{__name__}:fail_check"}),
            PluginSpec("toy", prompt_parts={"doctor": f"{__name__}:check_toys"}),
        )
    )
    monkeypatch.setattr("tacitd.service.doctor.find_plugins", lambda: found_plugins)
    here = found(cli)
    assert here["toy.broken"] == {
        "id": "toy.broken",
        "severity": "warning",
        "what": f"a toy in {cli.home} is broken",
        "hint": "mend it",
    }
    assert "KeyError" in here["doctor.failed"]["what"] and "bad" in here["doctor.failed"]["what"]


def test_a_disk_that_is_full(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 4."""
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5 << 20))
    assert found(cli)["disk.full"]["what"].startswith("5 MB are free")
