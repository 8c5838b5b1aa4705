"""The pager: which one, and when."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tacitd.cli.common import echo_paged
from tacitd.cli.pager import choose_pager


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ["less"]),
        ({"PAGER": "more -s"}, ["more", "-s"]),
        ({"PAGER": "more", "TACITD_PAGER": "less -N"}, ["less", "-N"]),
        ({"TACITD_PAGER": ""}, []),
        ({"PAGER": "cat"}, []),
        ({"PAGER": "'open"}, []),
        ({"PAGER": "less; rm -rf x"}, ["less;", "rm", "-rf", "x"]),
    ],
)
def test_the_pager_is_chosen_as_git_does(environ: dict[str, str], expected: list[str]) -> None:
    """TACITD_PAGER, PAGER, less; no shell reads it."""
    assert choose_pager(environ) == expected


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A terminal has four lines; the pager writes what it gets into the returned file."""
    out = tmp_path / "paged"
    program = tmp_path / "pager"
    program.write_text(f'#!/bin/sh\n{{ echo "LESS=$LESS"; cat; }} > {out}\n')
    monkeypatch.setenv("TACITD_PAGER", f"/bin/sh {program}")
    monkeypatch.delenv("LESS", raising=False)
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("LINES", "4")
    return out


def test_long_output_goes_through_the_pager(
    terminal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With LESS=FRX unless it is set; a long line counts as the rows that it takes."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    echo_paged(["ä" * 35])
    assert terminal.read_text() == "LESS=FRX\n" + "ä" * 35 + "\n" and capsys.readouterr().out == ""


def test_short_output_and_no_pager_are_printed(
    terminal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the pager cannot be run, and where stdout is no terminal."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    echo_paged(["a", "b"])
    echo_paged(["a"] * 9, no_pager=True)
    monkeypatch.setenv("TACITD_PAGER", "/nowhere/pager")
    echo_paged(["b"] * 9)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    echo_paged(["c"] * 9)
    assert not terminal.exists()
    assert capsys.readouterr().out == "a\nb\n" + "a\n" * 9 + "b\n" * 9 + "c\n" * 9


def test_an_interrupt_is_the_pagers(
    terminal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C in `less` is a key: tacitd waits on, prints nothing, and takes interrupts again afterwards."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    script = f'cat > "{terminal}"; kill -INT $PPID; echo end >> "{terminal}"\n'
    (tmp_path / "pager").write_text(f"#!/bin/sh\n{script}")
    before = signal.getsignal(signal.SIGINT)
    echo_paged(["line"] * 9)
    assert terminal.read_text() == "line\n" * 9 + "end\n" and capsys.readouterr().out == ""
    assert signal.getsignal(signal.SIGINT) is before
