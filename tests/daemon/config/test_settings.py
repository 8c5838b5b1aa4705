"""The configuration: what may be set, and how a wrong value is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from support_examples import examples
from tacitd.config.durations import format_duration, parse_duration
from tacitd.config.settings import (
    Config,
    Duration,
    Names,
    list_settings,
    load_config,
)
from tacitd.errors import CONFIG, ConfigError


class Extraction(BaseModel):
    """A plugin's section."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Duration = 600.0
    words: Names = ()


def read(tmp: Path, toml: str | bytes = "", **environ: str) -> Any:
    file = tmp / "config.toml"
    file.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    return load_config(file, {f"TACITD_{k}": v for k, v in environ.items()}, {"extraction": Extraction})


def test_none_is_needed(tmp_path: Path) -> None:
    """Issue "Configuration": every value has a default, and a missing file is not an error."""
    config = load_config(tmp_path / "absent.toml", {})
    assert isinstance(config, Config) and config.session.idle == 1800.0
    assert (config.budget.calls_per_day, config.budget.usd_per_day, config.budget.usd_per_month) == (
        200,
        1.0,
        10.0,
    )
    assert all(about for key, _, about in list_settings(config)), "each is described"


def test_a_link_to_nothing_is_not_an_absent_file(tmp_path: Path) -> None:
    """The person's limits and exclusions are on a disk that is not mounted: tacitd does not run without them."""
    file = tmp_path / "config.toml"
    file.symlink_to(tmp_path / "dotfiles" / "tacitd.toml")
    with pytest.raises(ConfigError, match=r"a link to .* which does not exist"):
        load_config(file, {})


def test_a_variable_wins_over_the_file_and_leaves_the_rest(tmp_path: Path) -> None:
    """Issue "Configuration": `config.toml` and `TACITD_*` with `__` between levels."""
    config = read(
        tmp_path,
        '[budget]\ncalls_per_day = 7\nusd_per_day = 2.5\n[extraction]\nsettle = "5m"\n',
        BUDGET__CALLS_PER_DAY="9",
        EXTRACTION__SETTLE="2s",
        SESSION__IDLE="5s",
        CLAUDE__COMMAND="/opt/claude",
    )
    assert (config.budget.calls_per_day, config.budget.usd_per_day) == (9, 2.5)
    assert (config.extraction.settle, config.session.idle, config.claude.command) == (2.0, 5.0, "/opt/claude")


@pytest.mark.parametrize("text", ["A,B", " A , B ,", '["A","B"]', '["A", "B"]'])
def test_lists_in_variables(tmp_path: Path, text: str) -> None:
    """Issue "Configuration": `A,B` as well as JSON, at the top and in sections."""
    config = read(tmp_path, CLAUDE__PASS_ENV=text, EXTRACTION__WORDS=text)
    assert config.claude.pass_env == config.extraction.words == ("A", "B")
    paths = text.replace("A", "/a").replace("B", "~/b")
    assert read(tmp_path, DIRECTIVES=paths).directives == ("/a", "~/b")


@pytest.mark.parametrize(
    ("toml", "key", "value"),
    [
        ('[session]\nidle = "soon"', "session.idle", "'soon'"),
        ('[session]\nidle = "-5s"', "session.idle", "'-5s'"),
        ("[session]\nidle = 0", "session.idle", "0"),
        ("[session]\nidle = true", "session.idle", "True"),
        ("[session]\nidle = inf", "session.idle", "inf"),
        ("[budget]\ncalls_per_day = -1", "budget.calls_per_day", "-1"),
        ('[budget]\ncalls_per_day = "many"', "budget.calls_per_day", "'many'"),
        ("[budget]\nusd_per_day = nan", "budget.usd_per_day", "nan"),
        ('[projects]\nwrite = "everywhere"', "projects.write", "'everywhere'"),
        ('[log]\nlevel = "LOUD"', "log.level", "'LOUD'"),
        ('[claude]\npass_env = ["A=1"]', "claude.pass_env", "A=1"),
        ("[claude]\npass_env = 7", "claude.pass_env", "7"),
        ('directives = ["relative.md"]', "directives", "relative.md"),
        ('[extraction]\nsettle = "1 fortnight"', "extraction.settle", "'1 fortnight'"),
        ('claude = "haiku"', "claude", "'haiku'"),
        ('[claude]\ncommand = ""', "claude.command", "''"),
        ('[claude]\nfast = "--bare"', "claude.fast", "'--bare'"),  # it can never become an option
        ('[claude]\nsetting_sources = "everything"', "claude.setting_sources", "'everything'"),
        ('[claude]\ntimeout = "0s"', "claude.timeout", "0.0"),
        ("[budget]\nusd_per_month = inf", "budget.usd_per_month", "inf"),
    ],
)
def test_a_wrong_value_is_refused(tmp_path: Path, toml: str, key: str, value: str) -> None:
    """Issue "Configuration": with its key, the value, what is allowed, and exit 78."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, toml)
    said = caught.value
    assert said.code == CONFIG == 78
    assert said.what.startswith(key) and value in said.what and len(said.what) > len(key) + len(value) + 20
    assert "config.toml" in said.hint and "TACITD_" + key.split(".")[0].upper() in said.hint


@pytest.mark.parametrize(
    ("name", "value"), [("SESSION__IDLE", "soon"), ("BUDGET__USD_PER_DAY", "-1"), ("SESSION__IDLE", "")]
)
def test_a_wrong_variable_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """The same for a variable, which is named."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, **{name: value})
    assert repr(value) in caught.value.what and f"TACITD_{name}" in caught.value.hint


@pytest.mark.parametrize(
    ("toml", "environ"),
    [
        ("sesion = 1", {}),
        ("[session]\nidel = 1", {}),
        ("", {"SESION__IDLE": "5s"}),
        ("", {"SESSION__IDEL": "5s"}),
        ("", {"EXTRACTION__SETLE": "5s"}),
    ],
)
def test_a_misspelt_name_is_refused(tmp_path: Path, toml: str, environ: dict[str, str]) -> None:
    """A misspelt name would silently have no effect."""
    with pytest.raises(ConfigError, match="is not a setting of tacitd"):
        read(tmp_path, toml, **environ)


@pytest.mark.parametrize("name", ["TACITD_SESION__IDLE", "tacitd_sesion__idle", "Tacitd_Sesion__idle"])
def test_a_misspelt_section_is_refused_in_any_case_of_letters(tmp_path: Path, name: str) -> None:
    """Settings are read in any case of letters, so a misspelt one is refused in any."""
    with pytest.raises(ConfigError, match=f"{name} is not a setting of tacitd"):
        load_config(tmp_path / "config.toml", {name: "1"})


def test_variables_that_are_no_configuration_pass(tmp_path: Path) -> None:
    """TACITD_STATE_DIR and the other variables for paths are not settings."""
    read(tmp_path, STATE_DIR="/x", CONFIG="/y", SOCKET="/z", CHILD="1", STAND_IN="1")


@pytest.mark.parametrize("raw", [b"[session", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, raw: bytes) -> None:
    """The error names the file."""
    with pytest.raises(ConfigError, match=r"config\.toml"):
        read(tmp_path, raw)


def test_a_directory_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """The error names the directory."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path, {})


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    """Editors on Windows begin a file with one."""
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[session]\nidle = '10m'\n")
    assert load_config(file, {}, {}).session.idle == 600.0


# --- durations as people write them in the configuration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20s", 20), ("30m", 1800), ("6h", 21600), ("2d", 172800), ("500ms", 0.5), (" 1h30m ", 5400), ("1.5h", 5400), ("20", 20), (2, 2), (0.25, 0.25), ("0", 0), ("5 S", 5)],
)  # fmt: skip
def test_reads(text: object, seconds: float) -> None:
    """Durations as `20s`, `30m`, `6h`, and as a number of seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "10x",
        "-5s",
        "1h junk",
        "nan",
        "inf",
        "٣s",
        -1,
        float("nan"),
        float("inf"),
        True,
        None,
        [1],
    ],
)
def test_refuses_and_says_what_is_allowed(text: object) -> None:
    """A wrong value is refused with what is allowed."""
    with pytest.raises(ValueError, match="20s, 30m, 6h"):
        parse_duration(text)


@examples(50)
@given(st.integers(0, 10**10))
def test_what_is_formatted_is_read_back(millis: int) -> None:
    """`config show` prints durations as config.toml takes them."""
    assert parse_duration(format_duration(millis / 1000)) == pytest.approx(millis / 1000)
