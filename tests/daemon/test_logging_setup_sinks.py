"""The sinks of tacitd's own log, and the modes of its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from loguru import logger

from tacitd.logging_setup import to_file, to_journal, to_stderr


@pytest.fixture(autouse=True)
def _sinks() -> Iterator[None]:
    yield
    logger.remove()


def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """DESIGN "Service": logs go to a rotating 0600 file."""
    before = os.umask(0)
    try:
        to_file(tmp_path / "tacitd.log", "INFO")
        logger.info("said {}", "this")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "tacitd.log").stat().st_mode) == 0o600
    assert (tmp_path / "tacitd.log").read_text().endswith("INFO    said this\n")


def test_it_does_not_grow_for_ever(tmp_path: Path) -> None:
    """At most five files of 5 MB beside the newest, all with mode 0600."""
    to_file(tmp_path / "tacitd.log", "INFO")
    for _ in range(90):
        logger.info("x" * 400_000)
    files = list(tmp_path.iterdir())
    assert len(files) == 6 and sum(f.stat().st_size for f in files) < 31 << 20
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)


def test_a_full_disk_is_borne_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """RELIABILITY 4: no traceback on the terminal for each line; once there is space, or another file, logging resumes."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    path = tmp_path / "tacitd.log"
    path.symlink_to("/dev/full")
    to_file(path, "INFO")
    logger.warning("lost")
    path.unlink()
    logger.warning("kept")
    logger.remove()
    assert path.read_text().endswith("WARNING kept\n") and "lost" not in path.read_text()
    assert capfd.readouterr().err == ""


def test_a_trace_holds_no_values(tmp_path: Path) -> None:
    """DESIGN "Service": no prompts or transcript text in the log; loguru's traces would show every variable of a frame."""
    to_file(tmp_path / "tacitd.log", "INFO")
    typed = "words of a person"
    try:
        raise ValueError(len(typed))
    except ValueError as error:
        logger.opt(exception=error).warning("failed")
    text = (tmp_path / "tacitd.log").read_text()
    assert "ValueError" in text and "words of a person" not in text.replace('typed = "words of a person"', "")


def test_stderr_has_no_colour(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """STYLE: colour for a terminal only; a lower level is not printed."""
    to_file(tmp_path / "tacitd.log", "INFO")
    to_stderr("WARNING")
    logger.info("quiet")
    logger.warning("loud")
    assert capfd.readouterr().err == "WARNING loud\n"


def test_the_journal_gets_priorities(capfd: pytest.CaptureFixture[str]) -> None:
    """sd-daemon(3): each line begins with its priority, such as `<4>`, and has no time: the journal adds it."""
    to_journal("INFO")
    logger.debug("not this")
    logger.info("one")
    logger.warning("two {x}")
    logger.error("three")
    assert capfd.readouterr().err == "<6>one\n<4>two {x}\n<3>three\n"


def test_a_name_cannot_hide_or_break_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project's folder may have any name: the log has what is stored otherwise too, on one line of its own."""
    name = "app\x1b]0;title\x07\x1b[31m\u202ered\u202c\u200b\x9b2J"
    for to_sink in (lambda level: to_file(tmp_path / "tacitd.log", level), to_stderr, to_journal):
        to_sink("INFO")
        logger.info("writes in {}", name)
        with suppress(ValueError):
            _raise_named(name)
    said = (tmp_path / "tacitd.log").read_text() + capsys.readouterr().err
    assert said.count("writes in appred") == 4
    assert not {char for char in said if not char.isprintable()} - {"\n"}


def _raise_named(name: str) -> None:
    try:
        raise ValueError(name)
    except ValueError as error:
        logger.opt(exception=error).error("cannot read {}", name)
        raise
