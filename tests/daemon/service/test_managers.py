"""systemd and launchd, with their tools replaced: the commands that are run, and that a refused install leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tacitd.errors import FileRefusedError, UnavailableError
from tacitd.service.managers import (
    Launchd,
    ServiceError,
    ServiceFacts,
    Systemd,
    ToolExit,
    find_manager,
    render_unit,
    run_tool,
)

NO_BUS = "Failed to connect to bus: No medium found"


class Tools:
    """Replaces systemctl and launchctl. `fails`: words that make a call fail."""

    def __init__(self, **fails: ToolExit) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.fails = fails

    def __call__(self, argv: Sequence[str]) -> ToolExit:
        self.calls.append(tuple(argv))
        for word, ran in self.fails.items():
            if word.replace("_", "-") in argv:
                return ran
        return ToolExit(0, "")

    @property
    def words(self) -> list[str]:
        """The subcommands, in order."""
        return [next(a for a in call[1:] if not a.startswith("-")) for call in self.calls]


@pytest.fixture
def given(tmp_path: Path) -> ServiceFacts:
    return ServiceFacts(
        ("/venv/bin/python", "/venv/bin/tacitd"),
        str(tmp_path),
        str(tmp_path / "log"),
        {"HOME": str(tmp_path)},
    )


def systemd(tmp_path: Path, run: Tools) -> Systemd:
    return Systemd.for_user({}, tmp_path / "Höme mit Platz", run)


def test_install_twice_changes_nothing(tmp_path: Path, given: ServiceFacts) -> None:
    """Issue: idempotent. The second time leaves a running service alone and says so; it starts a stopped one."""
    run = Tools()
    made = systemd(tmp_path, run)
    done = made.install(given, now=True)
    assert done[0].startswith("wrote ") and done[-1] == "started"
    assert run.words == ["show", "daemon-reload", "enable", "restart"]
    run.calls.clear()
    done = made.install(given, now=True)
    assert done[0].startswith("kept ") and done[-1] == "already running"
    assert run.words == ["show", "is-active", "daemon-reload", "enable"]
    stopped = systemd(tmp_path, Tools(**{"is-active": ToolExit(3, "inactive")}))
    assert stopped.install(given, now=True)[-1] == "started"


@pytest.mark.parametrize(
    "ran",
    [ToolExit(1, NO_BUS), ToolExit(127, "systemctl is not installed"), ToolExit(124, ""), ToolExit(1, "")],
)
def test_without_a_user_manager_nothing_is_written(
    tmp_path: Path, given: ServiceFacts, ran: ToolExit
) -> None:
    """No systemd, no D-Bus, a container: exit code 69, a clear line, and the alternative in the hint."""
    made = systemd(tmp_path, Tools(show=ran))
    for act in (lambda: made.install(given, now=True), made.restart):
        with pytest.raises(UnavailableError, match="no systemd user manager") as error:
            act()
        assert error.value.code == 69 and "tacitd start" in error.value.hint
    assert not made.file.exists() and not made.file.parent.exists()
    assert made.uninstall() == []


@pytest.mark.parametrize("word", ["daemon_reload", "enable", "restart"])
def test_what_the_manager_refuses_is_taken_back(tmp_path: Path, given: ServiceFacts, word: str) -> None:
    """A new unit is removed, and an older one is restored."""
    made = systemd(tmp_path, Tools(**{word: ToolExit(1, "no")}))
    with pytest.raises(ServiceError, match=word.replace("_", "-")):
        made.install(given, now=True)
    assert not made.file.exists()
    systemd(tmp_path, Tools()).install(given, now=False)
    before = made.file.read_bytes()
    with pytest.raises(ServiceError):
        made.install(ServiceFacts(("/other",), given.home, given.log, {}), now=True)
    assert made.file.read_bytes() == before


def test_an_edited_unit_is_left_alone_and_drop_ins_stay(tmp_path: Path, given: ServiceFacts) -> None:
    """A unit that a person edited is refused, with a hint; a drop-in is always kept."""
    made = systemd(tmp_path, Tools())
    made.install(given, now=False)
    drop_in = made.file.with_name("tacitd.service.d") / "mine.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nNice=5\n")
    text = made.file.read_text().replace("Nice=10", "Nice=1")
    made.file.write_text(text)
    with pytest.raises(FileRefusedError, match="edited by hand") as error:
        made.install(given, now=True)
    assert "drop-in" in error.value.hint and made.file.read_text() == text
    said = made.uninstall()
    assert not made.file.exists() and drop_in.exists() and "kept your drop-ins" in said[-1]


def test_a_client_that_moved_is_an_ordinary_change(tmp_path: Path, given: ServiceFacts) -> None:
    """After an update of nvm a second install writes the new PATH and restarts the service."""
    run = Tools()
    made = systemd(tmp_path, run)
    made.install(given, now=True)
    run.calls.clear()
    moved = ServiceFacts(given.program, given.home, given.log, {**given.environment, "PATH": "/nvm/v22/bin"})
    assert made.install(moved, now=True)[0].startswith("wrote ")
    assert run.words[-1] == "restart" and "/nvm/v22/bin" in made.file.read_text()


def test_two_installs_at_once_leave_one_whole_unit(tmp_path: Path, given: ServiceFacts) -> None:
    """A second install runs inside each step of the first: the file is one of the two, complete."""
    other = systemd(tmp_path, Tools())

    class Meanwhile(Tools):
        def __call__(self, argv: Sequence[str]) -> ToolExit:
            other.install(given, now=True)
            return super().__call__(argv)

    made = systemd(tmp_path, Meanwhile())
    made.install(given, now=True)
    assert made.file.read_text() == render_unit(given)
    assert [p.name for p in made.file.parent.iterdir()] == ["tacitd.service"]


def test_where_the_unit_is(tmp_path: Path) -> None:
    """XDG_CONFIG_HOME counts if it is absolute."""
    assert Systemd.for_user({"XDG_CONFIG_HOME": "/x"}, tmp_path).file == Path(
        "/x/systemd/user/tacitd.service"
    )
    assert (
        Systemd.for_user({"XDG_CONFIG_HOME": "x"}, tmp_path).file
        == tmp_path / ".config/systemd/user/tacitd.service"
    )


def test_launchd(tmp_path: Path, given: ServiceFacts) -> None:
    """launchctl bootstrap gui/UID, kickstart -k, bootout; a loaded agent is booted out before it is changed."""
    run = Tools()
    made = Launchd(tmp_path / "LaunchAgents" / "dev.tacitd.plist", 501, tmp_path / "log", run)
    made.install(given, now=True)
    assert run.words == ["print", "print", "bootout", "bootstrap", "kickstart"]
    assert run.calls[3] == ("launchctl", "bootstrap", "gui/501", str(made.file))
    run.calls.clear()
    made.install(given, now=True)
    assert run.words == ["print", "print", "print", "kickstart"]
    assert not made.is_running()
    made.restart()
    assert list(run.calls)[-1] == ("launchctl", "kickstart", "-k", "gui/501/dev.tacitd")
    assert made.uninstall() == [f"removed {made.file}"] and made.uninstall() == []
    assert list(run.calls)[-1] == ("launchctl", "bootout", "gui/501/dev.tacitd")


def test_launchd_that_refuses(tmp_path: Path, given: ServiceFacts) -> None:
    """The file is restored or removed; without a graphical login there is no domain."""
    made = Launchd(
        tmp_path / "dev.tacitd.plist",
        501,
        tmp_path / "log",
        Tools(bootstrap=ToolExit(5, "Input/output error")),
    )
    with pytest.raises(ServiceError, match="Input/output error"):
        made.install(given, now=True)
    assert not made.file.exists()
    made.run = Tools(print=ToolExit(113, "Could not find domain for"))
    with pytest.raises(UnavailableError, match="no domain gui/501"):
        made.install(given, now=True)


def test_logs(tmp_path: Path) -> None:
    """`service logs -f --since`."""
    made = systemd(tmp_path, Tools())
    assert made.logs_command(True, "today") == [
        "journalctl",
        "--user",
        "-u",
        "tacitd.service",
        "-f",
        "--since",
        "today",
    ]
    assert Launchd(tmp_path / "x", 1, Path("/l")).logs_command(False, "") == ["tail", "-n", "200", "/l"]


def test_tools_that_are_missing(tmp_path: Path) -> None:
    """A missing tool is an error without a traceback."""
    assert run_tool([str(tmp_path / "none")]).code == 127
    assert run_tool(["/bin/sh", "-c", "echo no; exit 3"]) == ToolExit(3, "no")


def test_this_systems_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux, macOS, and a system without a supported manager."""
    made: Callable[[], object] = lambda: find_manager({}, tmp_path, tmp_path / "log")  # noqa: E731
    monkeypatch.setattr("sys.platform", "linux")
    assert isinstance(made(), Systemd)
    monkeypatch.setattr("sys.platform", "darwin")
    assert isinstance(made(), Launchd)
    monkeypatch.setattr("sys.platform", "sunos5")
    with pytest.raises(UnavailableError, match="supports no service manager"):
        made()
