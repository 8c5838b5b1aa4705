"""Which part of which transcript a pass reads, and what is stored of it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from support_work import WorkBench
from tacitd.work import reader

SLICE = 256 << 10


def make_long(bench: WorkBench, session: str, slices: int) -> None:
    """Write a transcript of some slices and a part."""
    bench.type("one", session=session)
    path = bench.transcript(session)
    line = path.read_bytes().replace(b'"one"', b'"' + b"x" * 2000 + b'"')
    path.write_bytes(line * (slices * SLICE // len(line) + 5))


def read_in_turns(bench: WorkBench) -> list[str]:
    """Read everything, a slice in each pass; return the session of each pass."""
    bench.reader.note_grown([bench.transcript(session) for session in ("s1", "s2")])
    order = list[str]()
    while bench.reader.has_unread:
        order += [grown.session for grown in bench.reader.read_pass().grown]
    return order


def test_a_transcript_is_read_to_its_end_before_the_next(tmp_path: Path) -> None:
    """Of one whose reader was dropped meanwhile, what is before its position is read again."""
    bench = WorkBench(tmp_path, pass_bytes=1)
    make_long(bench, "s1", 4)
    make_long(bench, "s2", 3)
    order = read_in_turns(bench)
    assert [session for session, _ in groupby(order)] == ["s1", "s2"]
    assert len(order) == 9


def test_a_transcript_that_grows_without_end_lets_others_have_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "TURN", 2 * SLICE)
    bench = WorkBench(tmp_path, pass_bytes=1)
    make_long(bench, "s1", 8)
    make_long(bench, "s2", 1)
    order = read_in_turns(bench)
    assert "s2" in order[:4]


def count_lines(bench: WorkBench) -> tuple[int, int]:
    """The stored offset of the transcript, and by how much the stored number of lines before it is wrong."""
    ((offset, lines),) = bench.rows("SELECT offset, lines FROM transcript")
    return offset, lines - bench.transcript().read_bytes()[:offset].count(b"\n")


def test_the_lines_before_the_position_are_counted(tmp_path: Path) -> None:
    """Also across a restart, after a queued message that no position may pass, and after the file was replaced."""
    bench = WorkBench(tmp_path)
    bench.type("one", "two").advance()
    bench.type("three").advance()
    assert count_lines(bench) == (bench.transcript().stat().st_size, 0)
    bench.crash()
    bench.type("four").advance()
    assert count_lines(bench) == (bench.transcript().stat().st_size, 0)
    bench.say("Before.").record(type="queue-operation", operation="enqueue", content="five", version="2.1.42")
    bench.say("Working.").say("Still.").advance()
    offset, wrong = count_lines(bench)
    assert offset < bench.transcript().stat().st_size
    assert not wrong
    bench.leave()
    assert count_lines(bench) == (bench.transcript().stat().st_size, 0)
    for is_open in (True, False):
        if not is_open:
            bench.crash()
        path = bench.transcript()
        path.write_bytes(path.read_bytes()[1:].partition(b"\n")[2])
        bench.type("six").leave()
        assert count_lines(bench) == (path.stat().st_size, 0)


def test_sessions_of_two_projects_in_one_pass(tmp_path: Path) -> None:
    bench = WorkBench(tmp_path)
    other = bench.new_project("other")
    bench.type("here").type("there", session="s2", cwd=other).type("again", session="s3").advance()
    found: dict[str, str] = dict(
        bench.rows("SELECT p.text, r.root FROM prompt p JOIN project r ON r.number = p.project")
    )
    assert found == {"here": str(bench.project), "there": str(other), "again": str(bench.project)}
