"""`tacitd config`: paths, values and errors."""

from __future__ import annotations

from support_cli import Cli


def test_the_paths(cli: Cli) -> None:
    """Issue "`config show|path|socket|check`": one path on stdout, for use in a command line."""
    assert cli.run("config", "socket").out == f"{cli.state}/tacitd.sock\n"
    assert cli.run("config", "path").out == f"{cli.home}/.config/tacitd/config.toml\n"
    places = dict(text.split(maxsplit=1) for text in cli.run("config", "path", "--all").out.splitlines())
    assert places["state_dir"] == str(cli.state) and places["config_dir"] == str(cli.config_dir)


def test_every_setting_is_shown_with_its_value(cli: Cli) -> None:
    """The plugins' settings too; a variable overrides the file."""
    cli.set(TACITD_EXTRACTION__SETTLE="2s", TACITD_PROJECTS__EXCLUDE="/a,/b")
    said = cli.run("config", "show", "--json").json
    assert said["extraction.settle"] == 2.0 and said["projects.exclude"] == ["/a", "/b"]
    assert said["budget.usd_per_day"] == 1.0 and "learning.max_lines" in said
    shown = cli.run("config", "show").out
    assert 'extraction.settle = "2s"\n' in shown and 'projects.exclude = ["/a", "/b"]\n' in shown


def test_what_is_shown_can_stand_in_the_file(cli: Cli) -> None:
    """Every line is TOML, and all of them together are the same configuration."""
    before = cli.run("config", "show").out
    file = cli.home / ".config/tacitd/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(before)
    assert cli.run("config", "check").code == 0
    assert cli.run("config", "show").out == before


def test_check_says_where_it_looked(cli: Cli) -> None:
    """A missing file is valid."""
    said = cli.run("config", "check")
    assert said.code == 0 and said.out.endswith("config.toml: all right\n")


def test_check_names_what_is_wrong_in_the_file(cli: Cli) -> None:
    """Issue "A wrong value is refused with its key, the value, what is allowed, exit 78"."""
    file = cli.home / ".config/tacitd/config.toml"
    file.parent.mkdir(parents=True)
    for text, named in (
        ("[session]\nidle = 'x'\n", "session.idle"),
        ("[sesion]\nidle = '5s'\n", "sesion"),
        ("not toml", str(file)),
        ("[projects]\nwrite = 'maybe'\n", "maybe"),
    ):
        file.write_text(text)
        said = cli.run("config", "check")
        assert said.code == 78 and named in said.err and said.out == ""
    file.write_bytes(b"\xff\xfe")
    assert cli.run("config", "check").code == 78
