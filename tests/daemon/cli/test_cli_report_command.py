"""`tacitd report`: where it writes, what it refuses, and what a broken plugin costs."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import click
import pytest

from support_changes import store_change
from support_cli import Cli
from tacitd.cli.program import PluginTable
from tacitd.cli.report_command import collect_sections
from tacitd.plugin import PluginSpec
from tacitd.report.sections import ReportScope
from tacitd.testing import FakeClock


def test_it_writes_a_private_file_and_prints_its_path(cli: Cli) -> None:
    """In the cache directory, and nowhere else; an empty state is a page too."""
    said = cli.run("report", cli.home)
    assert (said.code, said.err) == (0, "")
    file = Path(said.out.strip())
    assert file == cli.home.parent / "cache/tacitd/report.html"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = file.read_text()
    assert "Nothing was learned or changed in this time" in page and str(cli.home) in page
    assert not cli.state.exists()
    assert cli.run("report", "--all").code == 0 and "All projects" in file.read_text()


def test_a_named_file_is_replaced_only_if_it_is_a_report(cli: Cli) -> None:
    """A person's file stays as it is; `-` is standard output."""
    file = cli.home / "report.html"
    for _ in range(2):
        assert cli.run("report", cli.home, "-o", file).out == f"{file}\n"
    notes = cli.home / "notes.md"
    notes.write_text("mine\n")
    said = cli.run("report", cli.home, "-o", notes)
    assert said.code == 2 and "is not a report" in said.err and notes.read_text() == "mine\n"
    assert cli.run("report", cli.home, "-o", cli.home).code == 2
    said = cli.run("report", cli.home, "-o", cli.home / "none" / "r.html")
    assert said.code == 2 and "no such directory" in said.err
    assert cli.run("report", cli.home, "-o", "-").out.startswith("<!doctype html>")
    assert cli.run("report", cli.home / "none").code == 2
    assert cli.run("report", "--since", "soon").code == 2
    assert cli.run("report", "--json", "-o", "x").code == 2


def test_a_disk_without_room_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system names no file when a write fails."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tacitd.cli.report_command.replace_file", fail)
    said = cli.run("report", cli.home)
    file = cli.home.parent / "cache/tacitd/report.html"
    assert said.code == 1 and said.err.startswith(
        f"tacitd: {file}: No space left on device\nhint: free space"
    )


def test_json_has_every_section(cli: Cli) -> None:
    """Learning, cost and changes; times in UTC."""
    root = cli.home / "app"
    root.mkdir()
    (root / ".git").mkdir()
    store_change(cli.state, FakeClock(), root, "Use pnpm")
    document = cli.run("report", root, "--since", "30d", "--json").json
    assert (document["schema"], document["project"], document["problems"]) == (1, str(root), [])
    assert document["as_of"].endswith("Z") and document["since"].endswith("Z")
    headings = [one["heading"] for one in document["sections"]]
    assert headings[:2] == ["What was learned", "Does it help?"]
    assert headings[2:] == ["What it cost"]
    assert cli.run("report", "--all", "--json").json["project"] is None


def test_a_broken_plugin_costs_only_its_section(cli: Cli) -> None:
    """The others are there, and the page names what is left out."""
    table = PluginTable(
        (
            PluginSpec("toy", report="no_such_module:build"),
            PluginSpec("plain"),
        ),
        {},
        ("gone",),
    )
    sections, problems = collect_sections(table, ReportScope(cli.state, {}, None, 0.0, 1e9))
    assert [one.heading for one in sections] == ["What it cost"]
    assert problems[0] == "gone" and "section of toy: ModuleNotFoundError" in problems[1]


def test_a_section_that_cannot_be_read_is_an_error_in_plain_words(cli: Cli) -> None:
    """The store is no database: the page is made of the rest, the reason has no number, and the exit code is 1."""
    cli.state.mkdir(mode=0o700, parents=True)
    (cli.state / "tacitd.sqlite").write_text("no database " * 100)
    for arguments in (["--json"], []):
        said = cli.run("report", cli.home, *arguments)
        assert said.code == 1 and "left out: the section of cost" in said.err, said.err
        assert "Errno" not in said.err + said.out and "the store is damaged" in said.err
    assert Path(said.out.strip()).read_text().count("the store is damaged") >= 1


def test_it_is_opened_in_a_browser(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--open` after it is written; without a browser it says so and the file is there."""
    opened: list[str] = []

    def launch(url: str) -> int:
        opened.append(url)
        return 1

    monkeypatch.setattr(click, "launch", launch)
    said = cli.run("report", cli.home, "--open")
    assert opened == [Path(said.out.strip()).as_uri()] and "no browser" in said.err
    assert said.code == 0
