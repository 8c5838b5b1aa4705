"""Which part of which transcript a pass reads, and what is stored of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_work import WorkBench
from tacitd.work import reader


def test_transcripts_are_read_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transcript that is long, or grows without end, lets others have their turn. No prompt of a transcript is lost whose reader was
    dropped meanwhile."""
    monkeypatch.setattr(reader, "SLICE", 1 << 16)
    monkeypatch.setattr(reader, "TAILS", 1)
    bench = WorkBench(tmp_path, pass_bytes=1)
    for session, count in (("s1", 300), ("s2", 100), ("s3", 1)):
        bench.tell(*[f"{session} {number} {'x' * 900}" for number in range(count)], session=session)
    paths = {bench.path(session): session for session in ("s1", "s2", "s3")}
    bench.reader.note_grown(paths)
    order = list[str]()
    while bench.reader.has_unread:
        order += [grown.session for grown in bench.reader.read_pass()]
    assert order[:4] == ["s1", "s2", "s3", "s1"] and set(order[4:]) == {"s1", "s2"}
    found = bench.rows("SELECT session, count(*) FROM prompt GROUP BY session")
    assert found == [("s1", 300), ("s2", 100), ("s3", 1)]


def test_a_message_that_is_never_decided_keeps_no_transcript_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 39 point 24: 450 MB of answers behind a queued message took 940 MB."""
    monkeypatch.setattr(reader, "SLICE", 1 << 16)
    monkeypatch.setattr(reader, "WAITING", 1 << 18)
    bench = WorkBench(tmp_path)
    bench.record(type="queue-operation", operation="enqueue", content="use pnpm", version="2.1.42").advance()
    assert bench.rows("SELECT count(*) FROM prompt") == [(0,)]
    answer = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "x" * 20_000}]}
    for _ in range(40):
        bench.record(type="assistant", message=answer, version="2.1.42")
    bench.advance()
    assert bench.rows("SELECT text FROM prompt_text") == [("use pnpm",)]
    assert max(tail.assembler.held_bytes for tail in bench.reader._tails.values()) < 1 << 18


def count_lines(bench: WorkBench) -> tuple[int, int]:
    """The stored offset of the transcript, and by how much the stored number of lines before it is wrong."""
    ((offset, lines),) = bench.rows("SELECT offset, lines FROM transcript")
    return offset, lines - bench.path("s1").read_bytes()[:offset].count(b"\n")


def test_the_lines_before_the_position_are_counted(tmp_path: Path) -> None:
    """Also across a restart, after a queued message that no position may pass, and after the file was replaced."""
    bench = WorkBench(tmp_path)
    bench.tell("one", "two").advance()
    bench.tell("three").advance()
    assert count_lines(bench) == (bench.path("s1").stat().st_size, 0)
    bench.crash()
    bench.tell("four").advance()
    assert count_lines(bench) == (bench.path("s1").stat().st_size, 0)
    bench.say("Before.").record(type="queue-operation", operation="enqueue", content="five", version="2.1.42")
    bench.say("Working.").say("Still.").advance()
    offset, wrong = count_lines(bench)
    assert offset < bench.path("s1").stat().st_size
    assert not wrong
    bench.leave()
    assert count_lines(bench) == (bench.path("s1").stat().st_size, 0)
    for is_open in (True, False):
        if not is_open:
            bench.crash()
        path = bench.path("s1")
        path.write_bytes(path.read_bytes()[1:].partition(b"\n")[2])
        bench.tell("six").leave()
        assert count_lines(bench) == (path.stat().st_size, 0)


def test_sessions_of_two_projects_in_one_pass(tmp_path: Path) -> None:
    bench = WorkBench(tmp_path)
    other = bench.project("other")
    bench.tell("here").tell("there", session="s2", cwd=other).tell("again", session="s3").advance()
    found: dict[str, str] = dict(
        bench.rows(
            "SELECT text, root FROM prompt p JOIN prompt_text ON prompt = p.number JOIN project r ON r.number = project"
        )
    )
    assert found == {"here": str(bench.root), "there": str(other), "again": str(bench.root)}
