"""systemd and launchd, with their tools replaced: the commands that are run, and that a refused install leaves no trace."""

from __future__ import annotations

import plistlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import FileRefusedError, UnavailableError, UsageError
from tacitd.service.managers import (
    Launchd,
    ServiceError,
    ServiceFacts,
    Systemd,
    ToolExit,
    collect_facts,
    find_manager,
    is_edited,
    render_agent,
    render_unit,
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
def facts(tmp_path: Path) -> ServiceFacts:
    return ServiceFacts(
        ("/venv/bin/python", "/venv/bin/tacitd"),
        str(tmp_path),
        str(tmp_path / "log"),
        {"HOME": str(tmp_path)},
    )


def systemd(tmp_path: Path, run: Tools) -> Systemd:
    return Systemd.for_user({}, tmp_path / "Höme mit Platz", run)


def test_install_twice_changes_nothing(tmp_path: Path, facts: ServiceFacts) -> None:
    """Issue: idempotent. The second time leaves a running service alone and says so; it starts a stopped one."""
    run = Tools()
    made = systemd(tmp_path, run)
    done = made.install(facts, now=True)
    assert done[0].startswith("wrote ") and done[-1] == "started"
    assert run.words == ["show", "daemon-reload", "enable", "restart"]
    run.calls.clear()
    done = made.install(facts, now=True)
    assert done[0].startswith("kept ") and done[-1] == "already running"
    assert run.words == ["show", "is-active", "daemon-reload", "enable"]
    stopped = systemd(tmp_path, Tools(**{"is-active": ToolExit(3, "inactive")}))
    assert stopped.install(facts, now=True)[-1] == "started"


@pytest.mark.parametrize(
    "ran",
    [ToolExit(1, NO_BUS), ToolExit(127, "systemctl is not installed"), ToolExit(124, ""), ToolExit(1, "")],
)
def test_without_a_user_manager_nothing_is_written(
    tmp_path: Path, facts: ServiceFacts, ran: ToolExit
) -> None:
    """No systemd, no D-Bus, a container: exit code 69, a clear line, and the alternative in the hint."""
    made = systemd(tmp_path, Tools(show=ran))
    for act in (lambda: made.install(facts, now=True), made.restart):
        with pytest.raises(UnavailableError, match="no systemd user manager") as error:
            act()
        assert error.value.code == 69 and "tacitd start" in error.value.hint
    assert not made.file.exists() and not made.file.parent.exists()
    assert made.uninstall() == []


@pytest.mark.parametrize("word", ["daemon_reload", "enable", "restart"])
def test_what_the_manager_refuses_is_taken_back(tmp_path: Path, facts: ServiceFacts, word: str) -> None:
    """A new unit is removed, and an older one is restored."""
    made = systemd(tmp_path, Tools(**{word: ToolExit(1, "no")}))
    with pytest.raises(ServiceError, match=word.replace("_", "-")):
        made.install(facts, now=True)
    assert not made.file.exists()
    systemd(tmp_path, Tools()).install(facts, now=False)
    before = made.file.read_bytes()
    with pytest.raises(ServiceError):
        made.install(ServiceFacts(("/other",), facts.home, facts.log, {}), now=True)
    assert made.file.read_bytes() == before


def test_an_edited_unit_is_left_alone_and_drop_ins_stay(tmp_path: Path, facts: ServiceFacts) -> None:
    """A unit that a person edited is refused, with a hint; a drop-in is always kept."""
    made = systemd(tmp_path, Tools())
    made.install(facts, now=False)
    drop_in = made.file.with_name("tacitd.service.d") / "mine.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nNice=5\n")
    text = made.file.read_text().replace("Nice=10", "Nice=1")
    made.file.write_text(text)
    with pytest.raises(FileRefusedError, match="edited by hand") as error:
        made.install(facts, now=True)
    assert "drop-in" in error.value.hint and made.file.read_text() == text
    said = made.uninstall()
    assert not made.file.exists() and drop_in.exists() and "kept your drop-ins" in said[-1]


def test_launchd(tmp_path: Path, facts: ServiceFacts) -> None:
    """launchctl bootstrap gui/UID, kickstart -k, bootout; a loaded agent is booted out before it is changed."""
    run = Tools()
    made = Launchd(tmp_path / "LaunchAgents" / "dev.tacitd.plist", 501, tmp_path / "log", run)
    made.install(facts, now=True)
    assert run.words == ["print", "print", "bootout", "bootstrap", "kickstart"]
    assert run.calls[3] == ("launchctl", "bootstrap", "gui/501", str(made.file))
    run.calls.clear()
    made.install(facts, now=True)
    assert run.words == ["print", "print", "print", "kickstart"]
    assert not made.is_running()
    made.restart()
    assert list(run.calls)[-1] == ("launchctl", "kickstart", "-k", "gui/501/dev.tacitd")
    assert made.uninstall() == [f"removed {made.file}"] and made.uninstall() == []
    assert list(run.calls)[-1] == ("launchctl", "bootout", "gui/501/dev.tacitd")


def test_launchd_that_refuses(tmp_path: Path, facts: ServiceFacts) -> None:
    """The file is restored or removed; without a graphical login there is no domain."""
    made = Launchd(
        tmp_path / "dev.tacitd.plist",
        501,
        tmp_path / "log",
        Tools(bootstrap=ToolExit(5, "Input/output error")),
    )
    with pytest.raises(ServiceError, match="Input/output error"):
        made.install(facts, now=True)
    assert not made.file.exists()
    made.run = Tools(print=ToolExit(113, "Could not find domain for"))
    with pytest.raises(UnavailableError, match="no domain gui/501"):
        made.install(facts, now=True)


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


# --- the unit and the agent: their text, how words are quoted, and that an edit is noticed


FIXTURES = Path(__file__).parents[2] / "fixtures" / "service"
ACCOUNT = {"HOME": "/Users/me", "USER": "me", "LOGNAME": "me"}
LOG = Path("/Users/me/state/tacitd.log")
GIVEN = ServiceFacts(
    ("/Users/me/venv/bin/python", "/Users/me/venv/bin/tacitd"),
    "/Users/me",
    str(LOG),
    {**ACCOUNT, "LANG": "en_GB.UTF-8", "PATH": "/opt/homebrew/bin:/usr/bin:/bin"},
)


def test_the_agent_is_the_golden_file() -> None:
    """DESIGN "Service": the agent, byte for byte."""
    assert render_agent(GIVEN) == (FIXTURES / "dev.tacitd.plist").read_text(encoding="utf-8")


def test_the_unit_is_the_golden_file() -> None:
    """DESIGN "Service": the unit, byte for byte."""
    assert render_unit(GIVEN) == (FIXTURES / "tacitd.service").read_text(encoding="utf-8")


WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


@given(WORDS)
@examples(60)
def test_no_word_breaks_out_of_its_place(word: str) -> None:
    """HOME with spaces, quotes, `%`, `$`, `<` and non-ASCII letters: one word in the unit, one string in the plist."""
    odd = ServiceFacts(("/a/" + word,), "/home/" + word, "/log", {"HOME": "/home/" + word})
    assert plistlib.loads(render_agent(odd).encode())["EnvironmentVariables"]["HOME"] == "/home/" + word
    text = render_unit(odd)
    (start,) = (one for one in text.split("\n") if one.startswith("ExecStart="))
    (home,) = (one for one in text.split("\n") if one.startswith("Environment="))
    started = start.removeprefix("ExecStart=").removesuffix(" run --service")
    through_sh = '"/bin/sh" "-c" "exec \\"$$0\\" \\"$$@\\"" '
    assert started.startswith(through_sh) == any(char in word for char in "'\"\\$")
    assert _unquoted(started.removeprefix(through_sh), dollar=True) == "/a/" + word
    assert _unquoted(home.removeprefix("Environment="), dollar=False) == "HOME=/home/" + word


@pytest.mark.parametrize("char", "'\"\\$")
def test_what_systemd_refuses_in_the_path_of_a_program_is_an_argument(char: str) -> None:
    """An apostrophe in the path of the virtual environment: `Unit tacitd.service has a bad unit file setting`."""
    text = render_unit(ServiceFacts((f"/home/o{char}neil/tacitd",), "/h", "/l", {}))
    (start,) = (one for one in text.split("\n") if one.startswith("ExecStart="))
    assert start.startswith('ExecStart="/bin/sh" "-c" ') and "neil/tacitd" in start


def _unquoted(text: str, *, dollar: bool) -> str:
    """Undo the quoting of systemd.syntax(7)."""
    assert text[0] == text[-1] == '"'
    out, rest = "", text[1:-1]
    while rest:
        pair = rest[:2]
        known = {'\\"': '"', "\\\\": "\\", "%%": "%", **({"$$": "$"} if dollar else {})}
        assert pair in known or rest[0] not in '"\\%' + ("$" if dollar else ""), rest
        out += known.get(pair, rest[0])
        rest = rest[2 if pair in known else 1 :]
    return out


def test_what_cannot_stand_in_a_file_is_refused() -> None:
    """A newline in HOME would be a line of its own in a unit."""
    with pytest.raises(UsageError, match="cannot be written"):
        render_unit(ServiceFacts(("/a",), "/h", "/l", {"HOME": "/h\nExecStart=/bin/evil"}))
    with pytest.raises(UsageError, match="not be a valid property list"):
        render_agent(ServiceFacts(("/a",), "/h\x01", "/l", {}))


def test_an_edit_is_noticed() -> None:
    """What a person changed is not overwritten."""
    for text in (render_unit(GIVEN), render_agent(GIVEN)):
        assert not is_edited(text)
        assert is_edited(text.replace("tacitd", "tacitt", 1) + "\n")
        assert is_edited(text.replace("20", "30"))
    assert is_edited("")


def test_the_environment_of_a_service() -> None:
    """CLAUDE_CODE 4.5, 3.1: the shell's PATH with the client's directory, the account's names; CLAUDE_CONFIG_DIR and the
    like only where they were set, and nothing else of the shell."""
    shell = {"PATH": "/usr/bin:relative::/bin:/usr/bin", "HOME": "/Users/me", "ANTHROPIC_API_KEY": "secret"}
    made = collect_facts(("/p",), shell, ACCOUNT, Path("/nvm/bin/claude"), LOG)
    assert made.environment["PATH"] == "/nvm/bin:/usr/bin:/bin"
    assert set(made.environment) == {"HOME", "USER", "LOGNAME", "LANG", "PATH"}
    set_ = collect_facts(
        ("/p",), {**shell, "CLAUDE_CONFIG_DIR": "/c", "XDG_STATE_HOME": "/s"}, ACCOUNT, None, LOG
    )
    assert (set_.environment["CLAUDE_CONFIG_DIR"], set_.environment["XDG_STATE_HOME"]) == ("/c", "/s")


def test_where_the_unit_is(tmp_path: Path) -> None:
    """XDG_CONFIG_HOME counts if it is absolute."""
    assert Systemd.for_user({"XDG_CONFIG_HOME": "/x"}, tmp_path).file == Path(
        "/x/systemd/user/tacitd.service"
    )
    assert (
        Systemd.for_user({"XDG_CONFIG_HOME": "x"}, tmp_path).file
        == tmp_path / ".config/systemd/user/tacitd.service"
    )


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
