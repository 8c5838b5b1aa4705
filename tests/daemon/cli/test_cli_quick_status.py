"""`tacitd status` without click: the text and the errors of the full command."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from test_cli_status_lines import BUSY, QUIET  # pyright: ignore[reportMissingImports]

from support_cli import Cli
from tacitd.cli.quick_status import answer_status
from tacitd.control.client import BusyError
from tacitd.errors import UnavailableError
from tacitd_handlers import entry_point

NOW = 1_750_000_000.0


@pytest.mark.parametrize("document", [QUIET, BUSY])
def test_the_text_is_that_of_the_command(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    """For a quiet and for a busy daemon."""
    document = document | {"running": True}
    for module in ("status_command", "quick_status"):
        monkeypatch.setattr(f"tacitd.cli.{module}.call_daemon", lambda *_: document)
    monkeypatch.setattr("time.time", lambda: NOW)
    quick, full = answer_status(os.environ), cli.run("status").out
    assert quick == full and quick


def test_without_a_daemon_the_full_command_answers(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints the saved status and ends with 69."""
    assert answer_status(os.environ) is None

    def fail(*_: object) -> None:
        raise UnavailableError("no daemon", "start one")

    monkeypatch.setattr("tacitd.cli.quick_status.call_daemon", fail)
    assert answer_status(os.environ) is None


def test_a_daemon_that_does_not_answer_is_not_asked_twice(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is that of the full command, with its code."""

    def fail(*_: object) -> None:
        raise BusyError("it hangs", "kill it")

    monkeypatch.setattr("tacitd.cli.quick_status.call_daemon", fail)
    monkeypatch.setattr(sys, "argv", ["tacitd", "status"])
    with pytest.raises(SystemExit) as ended:
        entry_point.main()
    assert ended.value.code == 69
    assert capsys.readouterr().err == "tacitd: it hangs\nhint: kill it\n"
