"""One transcript while it is read: slices, positions, the queue, what is kept."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from support_transcripts import (
    BEGUN,
    SOURCE,
    called,
    drain,
    list_prompts,
    queue,
    raw,
    read,
    said,
    spoken,
    typed,
    write,
)
from tacitd.sources.claude_code.record_reader import ClaudeAssembler
from tacitd.sources.claude_code.records import TranscriptLine
from tacitd.sources.source import OwnCalls
from tacitd.sources.transcript import ReadStep, Tail, judge_transcript, read_prompts, read_records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


# --- slices and files ----------------------------------------------------------------------------------------


def test_a_torn_tail_waits(path: Path) -> None:
    """CLAUDE_CODE section 13: consume only up to the last newline, keep the rest."""
    whole, torn = typed("one", "u1"), typed("two", "u2")
    write(path, whole, torn[:40])
    tail = Tail(path, 0, SOURCE)
    assert tail.read_next_slice().more is False
    end = len(BEGUN + whole)
    assert (said(tail), tail.read_end, tail.safe_end) == ([("typed", "one")], end, end)
    write(path, torn[40:])
    drain(tail)
    assert said(tail) == [("typed", "one"), ("typed", "two")]


def test_slices_are_bounded(path: Path) -> None:
    """DESIGN "Sources": a huge file delays no other."""
    write(path, *(typed(f"prompt {n}", f"u{n}") for n in range(100)))
    tail = Tail(path, 0, SOURCE)
    done = tail.read_next_slice(1000)
    assert 0 < done.read <= 1000
    assert done.more
    drain(tail, 1000)
    assert len(list_prompts(tail, 0)) == 100


@pytest.mark.parametrize("kept", [["p0", "p1", "p2"], [], [f"q{n}" for n in range(10)]])
def test_a_file_that_shrank_or_is_another_one_is_read_anew(path: Path, kept: list[str]) -> None:
    """DESIGN "Sources": a shrunken file is read again from 0, also one of the same size, by the mark before the offset."""
    write(path, *(typed(f"p{n}", f"u{n}") for n in range(10)))
    tail = read(path)
    path.write_bytes(BEGUN + b"".join(typed(text, f"u{n}") for n, text in enumerate(kept)))
    done = tail.read_next_slice()
    assert (done.shrunk, tail.read_end, tail.list_records(0)) == (True, 0, ())
    drain(tail)
    assert said(tail) == [("typed", text) for text in kept]


def test_a_long_line_is_addressed_and_passed_over(path: Path) -> None:
    """RELIABILITY row 9: a line above the limit is counted with its offsets, never kept; the next one is read. Its end may come much
    later; nothing is scanned twice."""
    first, long, last = typed("one", "u1"), typed("x" * 5000, "u2"), typed("two", "u3")
    write(path, first, long[:3000])
    tail = Tail(path, 0, SOURCE, longest=1000)
    drain(tail, 300)
    assert tail.read_end == len(BEGUN + first)
    write(path, long[3000:], last)
    assert tail.read_next_slice().read <= len(long) - 3000
    drain(tail, 300)
    assert said(tail) == [("typed", "one"), ("typed", "two")]
    assert tail.long_lines == [(len(BEGUN + first), len(BEGUN + first + long))]
    assert tail.assembler.counts["long"] == 1


@pytest.mark.parametrize("end", [b"\n", b""])
def test_look_behind_gives_context_and_offers_nothing(path: Path, end: bytes) -> None:
    """DESIGN "Model": the sentence that a prompt answers, also if reading starts after it, and if it has no newline."""
    before = typed("earlier", "u0") + spoken("Shall I use npm?", uuid="a1")[:-1] + end
    write(path, before)
    write(path, typed("no, pnpm", "u1", cwd=None, sessionId=None))
    tail = read(path, len(BEGUN + before))
    (prompt,) = list_prompts(tail, 0)
    assert (prompt.text, prompt.context) == ("no, pnpm", "Shall I use npm?")
    assert (prompt.cwd, prompt.session) == ("/home/dev/p", "s1")


def test_a_long_line_that_was_cut_off(path: Path) -> None:
    """DESIGN "Sources": a shrunken file is read again from 0, also where only a part of it was passed over."""
    write(path, typed("one", "u1"))
    end = path.stat().st_size
    write(path, typed("x" * 5000, "u2")[:3000])
    tail = Tail(path, 0, SOURCE, longest=1000)
    drain(tail)
    path.write_bytes(path.read_bytes()[: end + 500])
    assert tail.read_next_slice().shrunk


def test_look_behind_begins_at_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Sources": offsets always follow a newline; here the window begins inside a line."""
    monkeypatch.setattr("tacitd.sources.transcript.LOOK_BEHIND", 500)
    before = typed("x" * 2000, "u0") + spoken("Shall I?", uuid="a1")
    write(path, before, typed("yes", "u1"))
    tail = read(path, len(BEGUN + before))
    assert [(p.text, p.context) for p in list_prompts(tail, 0)] == [("yes", "Shall I?")]
    assert tail.assembler.counts == {}


# --- records -------------------------------------------------------------------------------------------------


def test_what_is_kept_and_forgotten(path: Path) -> None:
    """events.Record: prompts, text, tools, summaries; nothing else. `forget_before` frees memory."""
    tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": False}]
    thought = {"content": [{"type": "thinking", "thinking": "hm"}]}
    summary = raw(type="user", uuid="c", isCompactSummary=True, message={"content": "This session is ..."})
    write(
        path,
        typed("go", "u1"),
        spoken("", message=thought),
        spoken("I look.", message={"content": [{"type": "text", "text": "I look."}, tool]}),
        raw(type="user", uuid="r", message={"content": result}),
        raw(type="system", subtype="turn_duration"),
        summary,
    )
    tail = read(path)
    records = tail.list_records(0)
    assert [r.type for r in records] == ["user", "assistant", "user"]
    assert [(t.name, json.loads(t.input)) for t in records[1].tools] == [("Bash", {"command": "ls"})]
    assert (records[1].text, records[2].summary) == ("I look.", "This session is ...")
    assert records[1].time == pytest.approx(1795168800.0)
    assert tail.list_records(records[1].start) == records[1:]
    tail.assembler.forget_before(records[2].start)
    assert tail.list_records(0) == records[2:]


def test_an_accepted_plan_is_no_prompt(path: Path) -> None:
    """CLAUDE_CODE section 6 rule 13, events.Record: the plan's text is kept, from the field or the message."""
    message = {"content": "Implement the following plan:\n\n# Week dates\n1. Parse"}
    write(
        path,
        raw(type="user", uuid="p1", message=message),
        raw(type="user", uuid="p2", message={"content": "go"}, planContent="# Leap seconds"),
        raw(type="user", uuid="p3", message=message, entrypoint="sdk-cli"),
    )
    tail = read(path)
    found = [(one.uuid, one.plan.strip(), one.prompts) for one in tail.list_records(0)]
    assert found == [("p1", "# Week dates\n1. Parse", ()), ("p2", "# Leap seconds", ())]
    tail.assembler.forget_before(tail.safe_end)
    assert (tail.list_records(0), tail.assembler.held_bytes) == ((), 0)


def test_context_is_what_the_assistant_said_last(path: Path) -> None:
    """DESIGN "Model": up to 300 characters of the turn's texts; no thinking, no API errors, no sub-agent."""
    write(
        path,
        spoken("old turn"),
        typed("one", "u1"),
        spoken("first"),
        spoken("x" * 400),
        spoken("second"),
        spoken("API Error", message={"model": "<synthetic>"}),
        spoken("rate limit", isApiErrorMessage=True),
        spoken("sub", isSidechain=True),
        typed("two", "u2"),
        typed("three", "u3"),
    )
    contexts = [p.context for p in list_prompts(read(path), 0)]
    assert contexts[0] == "old turn"
    assert contexts[1] == ("x" * 400 + "\nsecond")[-300:]
    assert contexts[2] == contexts[1]


def test_our_own_sessions_leave_nothing(path: Path) -> None:
    """DESIGN "Model": tacitd must not read itself, neither its prompts nor its answers."""
    write(path, typed("learn this", "u1"), spoken("NONE"))
    assert read(path, own=OwnCalls(cwd="/home/dev/p")).list_records(0) == ()
    assert read(path, own=OwnCalls(sessions={"s1"})).list_records(0) == ()


def test_what_a_transcript_says_of_its_session(path: Path) -> None:
    """CLAUDE_CODE section 5.1: sessionId in records counts; a session of -p may be resumed by a person."""
    write(path, typed("a", "u1", entrypoint="sdk-cli"))
    found = read(path).assembler
    assert (found.is_headless, found.session, found.cwd) == (True, "s1", "/home/dev/p")
    stamp = "2026-11-20T10:00:05.000Z"
    write(path, typed("b", "u2", entrypoint="cli", sessionId="s2", cwd="/q", timestamp=stamp))
    tail = read(path)
    found = tail.assembler
    assert (found.is_headless, found.session, found.cwd) == (False, "s2", "/q")
    assert found.newest_time == 1795168805.0 and said(tail) == [("typed", "b")]


def test_what_is_odd_is_counted_and_skipped(path: Path) -> None:
    """CLAUDE_CODE section 13: no object, no type, unknown types, damage, blank lines; the words are read."""
    half = b'{"type":"user","sessionId":"s1","cwd":"/p","uuid":"u9","message":{"content":"half \\ud83d"}}\n'
    write(path, b"[1]\n", b'{"a":1}\n', raw(type="new-thing"), b"\n", b"\0\0\0\n", b"not json\n", half)
    write(path, typed("cut off", "u0")[:60] + typed("words", "u1"))
    tail = read(path)
    assert said(tail) == [("typed", "half \ufffd"), ("typed", "words")]
    assert tail.assembler.counts == {
        "no object": 1,
        "no type": 1,
        "unknown type: new-thing": 1,
        "damaged": 2,
        "salvaged": 1,
    }
    write(path, *(raw(type=f"new-{n}") for n in range(500)))
    assert len(read(path).assembler.counts) <= 101


def test_records_of_one_line_have_places_of_their_own(path: Path) -> None:
    """CLAUDE_CODE section 0 fact 7: a position may be between them, because the first may have been alone at first."""
    one, yes, two = typed("one", "u1")[:-1], spoken("yes")[:-1], typed("two", "u2")
    write(path, one + yes + two)
    records = read(path).list_records(0)
    assert [[p.text for p in record.prompts] or record.text for record in records] == [
        ["one"],
        "yes",
        ["two"],
    ]
    begin = len(BEGUN)
    ends = [begin + len(one), begin + len(one + yes), path.stat().st_size]
    assert [(record.start, record.end) for record in records] == list(pairwise([begin, *ends]))
    for start in ends:
        assert read(path, start).list_records(start) == tuple(one for one in records if one.start >= start)


# --- a last record without a newline -------------------------------------------------------------------------


def test_a_last_record_without_a_newline_is_taken_at_the_end(path: Path) -> None:
    """CLAUDE_CODE section 13: 193 of 254 real files end so. Nothing of it is taken before the end of the session."""
    first, last = typed("one", "u1"), typed("two", "u2")[:-1]
    write(path, first, last)
    tail = read(path)
    assert said(tail) == [("typed", "one")]
    for _ in range(2):
        tail.take_unterminated()
        assert said(tail) == [("typed", "one"), ("typed", "two")]
        assert tail.read_end == tail.safe_end == len(BEGUN + first + last)


@pytest.mark.parametrize("after", [b"\n", b"", b" \n", b"\0\0\n", b"\r\n"])
def test_what_comes_after_such_a_record_is_read_once(path: Path, after: bytes) -> None:
    """The newline may follow late, or the next record at once; also with a restart in between."""
    last, more = typed("ä 二 🙂", "u2")[:-1], typed("three", "u3")
    write(path, typed("one", "u1"), last)
    tail = read(path)
    tail.take_unterminated()
    end = tail.read_end
    write(path, after + more)
    drain(tail)
    assert [p.uuid for p in list_prompts(tail, 0)] == ["u1", "u2", "u3"]
    again = read(path, end)
    assert [p.uuid for p in list_prompts(again, end)] == ["u3"]
    assert again.safe_end == path.stat().st_size
    # A handler that lags has both on one line, and the other handler still gets the third.
    behind = read(path, 0)
    assert [p.uuid for p in list_prompts(behind, 0)] == ["u1", "u2", "u3"]
    assert [p.uuid for p in list_prompts(behind, end)] == ["u3"]


@pytest.mark.parametrize("cut", range(1, 60, 3))
def test_a_torn_record_at_the_end_is_none(path: Path, cut: int) -> None:
    """RELIABILITY 9: none invented, wherever it is cut, also inside a character; the rest completes it."""
    whole = typed("二つの記録", "u2", extra={"type": "user", "sessionId": "s1"})[:-1]
    glued = typed("one", "u1")[:-1]
    write(path, glued + whole[:-cut])
    tail = read(path)
    tail.take_unterminated()
    assert said(tail) == [("typed", "one")] and tail.read_end == len(BEGUN + glued)
    write(path, whole[-cut:])
    tail.take_unterminated()
    assert said(tail) == [("typed", "one"), ("typed", "二つの記録")]


def test_a_file_that_is_another_one_by_then_is_not_taken(path: Path) -> None:
    """DESIGN "Sources": the text before the position is another one now, so `read_next_slice` starts again."""
    write(path, typed("one", "u1"))
    tail = read(path)
    path.write_bytes(typed("two", "u2") + typed("three", "u3")[:-1])
    tail.take_unterminated()
    assert said(tail) == [("typed", "one")]


def test_several_prompts_of_one_record(path: Path) -> None:
    """events.Prompt.uuid: `uuid`, then `uuid#1` for further prompts of one record."""
    block = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]
    answers = {"questions": [], "answers": {"Colour?": "red", "Size?": "S"}}
    write(path, called("AskUserQuestion"))
    write(path, raw(type="user", uuid="u", message={"content": block}, toolUseResult=answers))
    assert [(p.uuid, p.context) for p in list_prompts(read(path), 0)] == [("u", "Colour?"), ("u#1", "Size?")]


# --- explain -------------------------------------------------------------------------------------------------


def reasons(path: Path) -> list[tuple[int, str]]:
    return [(one.verdict.rule, one.verdict.reason) for one in judge_transcript(path, SOURCE)]


def test_every_line_is_explained_in_file_order(path: Path) -> None:
    """`tacitd prompts --explain`: why a line was read as words, or left out."""
    block = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]
    write(
        path,
        queue("enqueue", "one"),
        raw(type="user", uuid="r", message={"content": block}),
        typed("<local-command-stdout>x", "u0"),
        queue("popAll", "one"),
        typed("two", "u1"),
        typed("two", "u1"),
        typed("sub", "u2", isSidechain=True),
    )
    assert reasons(path) == [
        (4, "taken back for editing"),
        (8, "a tool's result"),
        (12, "written by the client: <local-command-stdout>x"),
        (4, "the queue's bookkeeping: popAll"),
        (14, "typed at the prompt"),
        (14, "the same words, or the same record, came before"),
        (1, "a sub-agent's record: its prompts are the main model's"),
    ]


# --- lines that no rule was made for --------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["9" * 5000, "1.0." + "9" * 5000, "1.0.²", "", ".."])
def test_a_version_that_is_none_stops_nothing(path: Path, version: str) -> None:
    """RELIABILITY row 9: whatever a field contains, every complete record is read."""
    write(path, typed("one", "u1", version=version), typed("two", "u2"))
    assert said(read(path)) == [("typed", "one"), ("typed", "two")]


def test_a_line_that_trips_a_rule_costs_only_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 9: what follows it is read, now and after each growth; it is counted."""
    take = ClaudeAssembler.take_line

    def trips(self: ClaudeAssembler, start: int, end: int, line: TranscriptLine) -> None:
        if line.uuid == "u2":
            raise KeyError("a fault of ours")
        take(self, start, end, line)

    monkeypatch.setattr(ClaudeAssembler, "take_line", trips)
    write(path, typed("one", "u1"), typed("two", "u2"), typed("three", "u3"))
    tail = read(path)
    write(path, typed("four", "u4"))
    drain(tail)
    assert [text for _, text in said(tail)] == ["one", "three", "four"]
    assert tail.assembler.counts["failed"] == 1


# --- prompts alone ---------------------------------------------------------------------------------------------


def test_reading_prompts_alone_finds_the_same(path: Path) -> None:
    """DESIGN "Sources": what the engine finds, in file order, also the last record without a newline."""
    write(
        path, spoken("Shall I?"), typed("yes", "u1"), queue("enqueue", "and later this"), typed("more", "u2")
    )
    write(path, typed("cut off", "u3")[:-1])
    judged = [prompt for one in judge_transcript(path, SOURCE) for prompt in one.prompts]
    found = list(read_prompts(SOURCE, path))
    assert found == judged
    assert [p.text for p in found] == ["yes", "and later this", "more", "cut off"]


def test_records_between_two_offsets_cost_no_reading_of_the_rest(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that catches up asks for the beginning of thousands of long transcripts. Any end is possible."""
    write(path, *(typed(f"words {number}", f"u{number}") for number in range(300)))
    ends = [record.end for record in read_records(SOURCE, path, 0, path.stat().st_size)]
    taken: list[int] = []
    read_next = Tail.read_next_slice

    def counted(tail: Tail, limit: int = 1 << 20) -> ReadStep:
        step = read_next(tail, limit)
        taken.append(step.read)
        return step

    monkeypatch.setattr(Tail, "read_next_slice", counted)
    for count in (1, 2, 150, 300):
        taken.clear()
        found = read_records(SOURCE, path, 0, ends[count - 1])
        assert [record.end for record in found] == ends[:count] and sum(taken) == ends[count - 1]
    assert [record.end for record in read_records(SOURCE, path, ends[9], ends[19])] == ends[10:20]
    assert read_records(SOURCE, path, 0, ends[0] - 1) == []
