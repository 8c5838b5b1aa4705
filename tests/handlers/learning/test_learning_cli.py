"""What `tacitd synthesize` prints of the answer of `sync`, and its exit code."""

from __future__ import annotations

from typing import Any

import pytest

from tacitd.errors import PARKED
from tacitd_handlers.learning.commands import echo_lines

APP = "/home/me/app"


def waiting(project: str, what: str = "1 fact") -> dict[str, Any]:
    """A row of `waits` in the status document."""
    return {"project": project, "what": what, "until": "its session ends", "job": "synthesize", "at": None}


def answer(**more: Any) -> dict[str, Any]:
    """The answer of a `sync` that wrote no line for the one fact that waited."""
    return {"made": [], "waited": [waiting(APP)], "waits": [], "degraded": []} | more


def open_file(path: str) -> dict[str, str]:
    """A row of `degraded`: an editor has this file open."""
    return {"id": "files.busy", "what": f"{path} is open in Emacs", "hint": f"close {path}"}


def test_a_fact_that_still_waits_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    """An editor has LEARNED.md open: the exit code is 75, with the reason of this project only."""
    others = ["/home/me/app2/LEARNED.md", "/old/home/me/app/LEARNED.md"]
    degraded = [open_file(path) for path in (f"{APP}/LEARNED.md", *others)]
    assert echo_lines(answer(waits=[waiting(APP)], degraded=degraded), APP) == PARKED
    assert capsys.readouterr().err == (
        f"1 fact still waits in {APP}, written when its session ends\n{APP}/LEARNED.md is open in Emacs\nhint: close {APP}/LEARNED.md\n"
    )


def test_more_facts_still_wait(capsys: pytest.CaptureFixture[str]) -> None:
    """The verb agrees with the number, and written lines are printed too."""
    said = answer(made=[{"line": "learned: Use pnpm"}], waits=[waiting(APP, "2 facts")])
    assert echo_lines(said, APP) == PARKED
    assert (
        capsys.readouterr().err
        == f"learned: Use pnpm\n2 facts still wait in {APP}, written when its session ends\n"
    )


def test_the_model_made_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The model answered NONE; facts of another project that wait are named, with the command that writes them."""
    assert echo_lines(answer(waits=[waiting("/home/me/app2")]), APP) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"1 fact made no new line in {APP}: ") and "still wait" not in said
    assert "the model made no line of it" in said
    other = (
        "waits: 1 fact in /home/me/app2: until its session ends\nhint: `tacitd sync --write` does it now\n"
    )
    assert said.endswith(other)


@pytest.mark.parametrize("why", ["the model made no line of it", "it is written there already"])
def test_why_no_line_was_made_is_told_apart(capsys: pytest.CaptureFixture[str], why: str) -> None:
    """A repeated line and NONE have different reasons; those of other projects are not printed."""
    unmade = [{"did": "no line", "text": why, "where": APP}, {"did": "no line", "text": "no", "where": "/b"}]
    assert echo_lines(answer(unmade=unmade), APP) == 0
    assert capsys.readouterr().err == f"1 fact made no new line in {APP}: {why}\n"


def test_nothing_waited(capsys: pytest.CaptureFixture[str]) -> None:
    """No facts waited."""
    assert echo_lines(answer(waited=[]), APP) == 0
    assert capsys.readouterr().err == f"no facts wait in {APP}: nothing to do\n"


def test_a_line_that_cannot_be_written_now_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    """The line is decided on, and an editor has its file open: 75, with the reason; a file of another project does not count."""
    made = [{"line": "learned: x", "where": APP}]
    assert echo_lines(answer(made=made, waited=[], degraded=[open_file("/other/LEARNED.md")]), APP) == 0
    assert echo_lines(answer(made=made, waited=[], degraded=[open_file(f"{APP}/LEARNED.md")]), APP) == PARKED
    assert f"{APP}/LEARNED.md is open in Emacs" in capsys.readouterr().err
