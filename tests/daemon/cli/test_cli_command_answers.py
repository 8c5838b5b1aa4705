"""Commands that the daemon runs for another process: what it prints for it, and what it declines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_cli_status_lines import QUIET  # pyright: ignore[reportMissingImports]

from support_cli import Cli
from tacitd.cli import caller, quick_answer
from tacitd.cli.command_answers import CommandAnswers, add_command_method
from tacitd.errors import UnavailableError

DECLINED: Mapping[str, Any] = {"printed": []}


def request(*arguments: str, **changed: object) -> dict[str, Any]:
    """What a process here asks, with some parameters changed."""
    line = quick_answer._make_request(arguments, os.environ)  # pyright: ignore[reportPrivateUsage]
    return {**json.loads(line)["params"], **changed}


@pytest.fixture
def answers(cli: Cli) -> CommandAnswers:
    """Those of a quiet daemon."""
    return CommandAnswers({"status": lambda _: QUIET | {"running": True}})


@pytest.mark.parametrize("options", [(), ("-v",), ("--json",)])
@pytest.mark.parametrize("columns", [None, 50])
def test_the_text_is_that_of_the_command(
    answers: CommandAnswers,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    columns: int | None,
) -> None:
    """In a pipe, and on a terminal with its width and with colours."""
    monkeypatch.setattr("time.time", lambda: 1_750_000_000.0)
    monkeypatch.setattr("tacitd.cli.status_command.call_daemon", lambda *_: QUIET | {"running": True})
    stream, *texts = answers.answer(request("status", *options, columns=columns, sent={}))["printed"]
    assert stream == "" and set(texts[::2]) == {"out"}
    if columns is not None:
        cli.set(COLUMNS=str(columns))
        monkeypatch.setattr("tacitd.cli.caller.sys.stdout.isatty", lambda: True)
    assert "".join(texts[1::2]) == cli.run("status", *options).out
    assert any("\x1b" in text for text in texts) == (columns is not None and "--json" not in options)


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "--watch"),
        ("status", "--help"),
        ("status", "-vh"),
        ("status", "--unknown"),
        ("status", "more"),
        ("why", "nothing has this"),
        ("learned", "/nowhere"),
        ("prompts", "relative.jsonl"),
        ("config", "path"),
        ("config",),
        ("stop",),
        ("unknown",),
        (),
    ],
)
def test_what_fails_or_changes_something_is_declined(
    answers: CommandAnswers, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Errors, help, commands that are not declared for it: the other process runs them. Nothing is printed here."""
    assert answers.answer(request(*arguments)) == DECLINED
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "changed",
    [
        {"program": "9.9.9 /elsewhere"},
        {"same": {}},
        {"places": ["1 1", ""]},
        {"places": []},
        {"directory": "/nowhere"},
        {"directory": "\0"},
    ],
)
def test_a_process_with_other_surroundings_is_declined(
    answers: CommandAnswers, changed: dict[str, object]
) -> None:
    """Another version, other variables, another directory of this name: it could print something else."""
    assert answers.answer(request("status", **changed)) == DECLINED
    assert answers.answer(request("status")) != DECLINED


def test_a_daemon_with_older_code_is_declined(
    answers: CommandAnswers, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an installation of the same version the files are new, and the daemon that runs is what it was."""
    monkeypatch.setattr(quick_answer, "__file__", __file__)
    assert answers.answer(request("status")) == DECLINED
    assert (
        CommandAnswers({"status": lambda _: QUIET | {"running": True}}).answer(request("status")) != DECLINED
    )


def test_a_daemon_with_older_plugins_declines(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has imported what a plugin had then: its commands and hooks may have other names now."""
    monkeypatch.syspath_prepend(tmp_path)
    there = tmp_path / "plugin-1.dist-info"
    there.mkdir()
    (there / "entry_points.txt").write_text("[tacitd.handlers]\n")
    answers = CommandAnswers({"status": lambda _: QUIET | {"running": True}})
    assert answers.answer(request("status")) != DECLINED
    there.rename(tmp_path / "plugin-2.dist-info")
    assert answers.answer(request("status")) == DECLINED


def test_times_are_those_of_the_zone_that_the_machine_has_now(
    answers: CommandAnswers, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process keeps the zone in which it started, and a daemon runs for weeks: somebody may travel meanwhile."""
    cli.set(TZ="UTC0")
    time.tzset()
    cli.set(TZ="UTC-9")  # as after /etc/localtime changed: not noticed by itself
    try:
        assert time.localtime(0).tm_hour == 0
        assert answers.answer(request("status")) != DECLINED and time.localtime(0).tm_hour == 9
    finally:
        monkeypatch.undo()
        time.tzset()


def test_variables_are_compared(cli: Cli) -> None:
    """Those that name places, and all settings; not those of the terminal."""
    cli.set(
        USER_MEMORY_DIR="/m",
        TACITD_SESSION__IDLE="1m",
        tacitd_log__level="DEBUG",
        TACITD_PAGER="less",
        TERM="xterm",
        PWD="/",
    )
    assert set(quick_answer.select_same(os.environ)) == {
        "HOME", "XDG_CACHE_HOME", "USER_MEMORY_DIR", "TACITD_SESSION__IDLE", "tacitd_log__level",
    }  # fmt: skip


def test_the_session_and_the_terminal_are_the_other_process_s(
    answers: CommandAnswers, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of the daemon does not count where the other process has none."""
    cli.set(NO_COLOR="1", CLAUDE_CODE_SESSION_ID="mine")
    seen: list[Mapping[str, str]] = []

    def note(environ: Mapping[str, str]) -> bool:
        seen.append(environ)
        return True

    monkeypatch.setattr("tacitd.cli.status_command.wants_colour", note)
    texts = answers.answer(request("status", columns=80, sent={"CLAUDE_CODE_SESSION_ID": "theirs"}))
    assert seen[0]["CLAUDE_CODE_SESSION_ID"] == "theirs" and "NO_COLOR" not in seen[0]
    assert "\x1b" in "".join(texts["printed"])


def test_relative_names_are_below_the_other_process_s_directory(
    answers: CommandAnswers, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon has a current directory of its own."""
    (tmp_path / "here" / "app").mkdir(parents=True)
    here = tmp_path / "here"
    told = cli.run("learned", "app", cwd=here)
    asked = request(
        "learned",
        "app",
        directory=str(here),
        places=quick_answer.identify_places(str(here), ["learned", "app"]),
    )
    assert answers.answer(asked)["printed"] == ["", "err", told.err] and told.err
    monkeypatch.chdir(here)
    assert answers.answer(request("learned", "app"))["printed"] == ["", "err", told.err]


def test_a_name_of_another_file_is_declined(answers: CommandAnswers, tmp_path: Path) -> None:
    """`prompts <(zcat old.gz)` names `/dev/fd/63`, which in the daemon is a file of its own."""
    file = tmp_path / "s.jsonl"
    file.write_text("")
    asked = request("prompts", str(file))
    assert answers.answer(asked)["printed"] == [""]
    os.replace(file, tmp_path / "other")
    file.write_text("")
    assert answers.answer(asked) == DECLINED


def test_too_much_and_what_takes_long_is_declined(
    answers: CommandAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that took the daemon more CPU time than it may have is not run there again."""
    monkeypatch.setattr(caller, "MOST_PRINTED", 10)
    assert answers.answer(request("status")) == DECLINED
    monkeypatch.undo()
    assert answers.answer(request("status")) != DECLINED
    monkeypatch.setattr("tacitd.cli.command_answers.MOST_SECONDS", -1.0)
    monkeypatch.setattr("tacitd.cli.command_answers.return_memory", lambda: returned.append(True))
    returned: list[bool] = []
    monkeypatch.setattr("tacitd.cli.command_answers.LONG", -1.0)
    assert answers.answer(request("status")) != DECLINED
    assert answers.answer(request("status")) == DECLINED
    assert answers.answer(request("why", "nothing")) == DECLINED
    assert returned == [True, True], "also for one that failed"


def test_the_first_run_of_a_command_may_take_long(
    answers: CommandAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It imports what later runs have, and after an installation without compiled files it compiles that."""
    monkeypatch.setattr("tacitd.cli.command_answers.MOST_SECONDS", -1.0)
    found = [answers.answer(request("status")) == DECLINED for _ in range(3)]
    assert found == [False, False, True]


def test_a_daemon_that_is_busy_declines(cli: Cli) -> None:
    """An engine that does not answer, and more commands at once than the daemon runs."""

    def hang(_: Mapping[str, Any]) -> Any:
        raise TimeoutError

    busy = CommandAnswers({"status": hang})
    assert busy.answer(request("status")) == DECLINED
    inner: list[object] = []

    def ask_again(_: Mapping[str, Any]) -> Any:
        inner.append(full.answer(request("status")))
        raise UnavailableError("no")

    full = CommandAnswers({"status": ask_again})
    assert full.answer(request("status")) == DECLINED
    assert inner == [DECLINED, DECLINED], "two at the same time, and a third was not begun"


def test_a_section_that_notes_what_it_showed_is_made_by_the_other_process(
    answers: CommandAnswers, cli: Cli
) -> None:
    """Otherwise what is shown once would be lost if that process does not wait for the answer."""
    cli.set(TACITD_LEARNER__CONTEXT="never")
    assert answers.answer(request("context")) != DECLINED
    cli.set(TACITD_LEARNER__CONTEXT="always")
    assert answers.answer(request("context")) == DECLINED
    assert not (cli.state / "handlers" / "learner").exists()
    assert "SESSION METADATA" in cli.run("context").out


def test_what_is_declined_counts_no_shown_lesson(answers: CommandAnswers, cli: Cli) -> None:
    """The other process makes the context again, and counts it."""
    cli.run(
        "lesson", "add", "-s", "global", "WHEN a test is slow -> DO measure it -> BECAUSE guesses mislead"
    )
    cli.set(TACITD_LEARNER__CONTEXT="always")
    assert answers.answer(request("context")) == DECLINED
    assert "measure it" in cli.run("context").out
    (hits,) = cli.state.rglob("hits.jsonl")
    assert len(hits.read_text().splitlines()) == 1


def test_parameters_of_another_form_are_errors(answers: CommandAnswers) -> None:
    """The server answers these errors as wrong parameters."""
    for wrong in ({}, {"arguments": 1}, request("status", sent=None)):
        with pytest.raises((KeyError, TypeError)):
            answers.answer(wrong)


def test_the_method_has_a_name_of_its_own() -> None:
    """It is added to the others."""
    table = add_command_method({"ping": lambda _: 1})
    assert list(table) == ["ping", quick_answer.METHOD]


def test_nothing_of_it_stays_in_the_thread(answers: CommandAnswers, cli: Cli) -> None:
    """The next command of this process prints here."""
    answers.answer(request("status"))
    assert caller.get_remote() is None and caller.get_environ() is os.environ
    assert sys.stdout is not None and cli.run("status").code == 69
