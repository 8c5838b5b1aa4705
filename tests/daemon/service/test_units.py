"""The unit and the agent: their text, how words are quoted, and that an edit is noticed."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import UsageError
from tacitd.service.managers import (
    ServiceFacts,
    collect_facts,
    is_edited,
    read_template,
    render_agent,
    render_unit,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "service"
ACCOUNT = {"HOME": "/Users/me", "USER": "me", "LOGNAME": "me"}
LOG = Path("/Users/me/state/tacitd.log")
GIVEN = ServiceFacts(
    ("/Users/me/venv/bin/python", "/Users/me/venv/bin/tacitd"),
    "/Users/me",
    str(LOG),
    {**ACCOUNT, "LANG": "en_GB.UTF-8", "PATH": "/opt/homebrew/bin:/usr/bin:/bin"},
)
KEYS: dict[str, type | tuple[type, ...]] = {
    "Label": str,
    "ProgramArguments": list,
    "EnvironmentVariables": dict,
    "WorkingDirectory": str,
    "RunAtLoad": bool,
    "KeepAlive": (bool, dict),
    "ThrottleInterval": int,
    "ExitTimeOut": int,
    "ProcessType": str,
    "LowPriorityBackgroundIO": bool,
    "Nice": int,
    "Umask": (int, str),
    "StandardOutPath": str,
    "StandardErrorPath": str,
}
"""Keys of launchd.plist(5) with their types."""


def test_the_agent_is_the_golden_file() -> None:
    """DESIGN "Service": the agent, byte for byte."""
    assert render_agent(GIVEN) == (FIXTURES / "dev.tacitd.plist").read_text(encoding="utf-8")


def test_the_unit_is_the_golden_file() -> None:
    """DESIGN "Service": the unit, byte for byte."""
    assert render_unit(GIVEN) == (FIXTURES / "tacitd.service").read_text(encoding="utf-8")


def test_the_agent_has_only_keys_that_launchd_knows() -> None:
    """launchd.plist(5): names, types, absolute programs, umask 077 as decimal, restarts after failures only."""
    made = plistlib.loads(render_agent(GIVEN).encode())
    assert {name for name, value in made.items() if not isinstance(value, KEYS.get(name, ()))} == set()
    assert made["Umask"] == 0o077 and made["KeepAlive"] == {"SuccessfulExit": False}
    assert made["ProgramArguments"] == [*GIVEN.program, "run", "--service"]
    assert all(one.startswith("/") for one in made["ProgramArguments"][:2])
    assert made["ProcessType"] in ("Background", "Standard", "Adaptive", "Interactive")
    assert all(isinstance(value, str) for value in made["EnvironmentVariables"].values())


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
    assert (
        _unquoted(start.removeprefix("ExecStart=").removesuffix(" run --service"), dollar=True)
        == "/a/" + word
    )
    assert _unquoted(home.removeprefix("Environment="), dollar=False) == "HOME=/home/" + word


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
    assert is_edited(read_template("systemd")) and is_edited("")


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
