"""The way of a prompt through the new core: read, stored once, gathered, done."""

from __future__ import annotations

import json
import math
from pathlib import Path

from support_work import Toy, WorkBench
from tacitd.clock import utc_millis
from tacitd.contract import Done, Later, Outcome, Rejected, Task
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.prompt_rows import finish_prompts


def test_a_session_that_goes_on_ends_again(tmp_path: Path) -> None:
    """S-52: a session that is resumed after its end has another end, with its new prompts before it."""
    toy = Toy()
    bench = WorkBench(tmp_path, toy)
    bench.tell("use pnpm").leave()
    bench.tell("use ruff").leave()
    assert toy.kinds()[1:] == [
        "prompts",
        "session-ended",
        "session-started",
        "prompts",
        "session-ended",
    ]
    assert toy.texts() == [["use pnpm"], ["use ruff"]]


def test_after_a_crash_a_task_is_about_the_prompts_of_the_answer_that_was_paid_for(tmp_path: Path) -> None:
    """DESIGN "The way of a prompt": a crash before a commit repeats the task, but not its call; later prompts belong to the next task."""
    outcomes: list[Outcome] = [Later("the daemon was killed", not_before=math.inf)]
    toy = Toy(outcome=lambda task: outcomes.pop() if outcomes and task.kind == "prompts" else Done())
    bench = WorkBench(tmp_path, toy)
    bench.tell("one", "two").leave()
    prompts = bench.rows("SELECT number FROM prompt ORDER BY number")
    with bench.store.write() as tx:
        tx.execute(
            "INSERT INTO call(number, plugin, purpose, tier, begun, day, outcome, answer) "
            "VALUES(1, ?, 'extraction', 'fast', 0, '2026-11-22', 'answered', 'NONE')",
            "toy",
        )
        for place, (number,) in enumerate(prompts, 1):
            tx.execute("INSERT INTO call_part VALUES(1, 'prompt', ?, ?, x'00')", place, number)
    bench.tell("three").leave()
    bench.advance(41 * 86_400).advance()
    assert toy.texts() == [["one", "two"], ["one", "two"], ["three"]]


def test_a_fork_of_a_queued_message_is_not_paid_again(tmp_path: Path) -> None:
    """CLAUDE_CODE fact 13: a message without an id is known by its text and time, whatever session it is copied into."""
    toy = Toy()
    bench = WorkBench(tmp_path, toy)
    said = {"role": "user", "content": "begin"}
    bench.record(type="user", message=said, version="2.0.76")
    stamp = utc_millis(bench.clock.now())
    lines = [
        {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp, "content": "never use npm"},
        {"type": "queue-operation", "operation": "remove", "timestamp": stamp},
    ]

    def append(session: str) -> None:
        with bench.path(session).open("ab") as file:
            file.write(b"".join(json.dumps({**one, "sessionId": session}).encode() + b"\n" for one in lines))

    append("s1")
    bench.leave()
    assert toy.texts() == [["begin", "never use npm"]]
    bench.record("s2", type="user", message=said | {"content": "go on"}, version="2.0.76")
    append("s2")
    bench.leave()
    assert toy.texts()[1:] == [["go on"]]


def test_secrets_are_blanked_before_they_are_stored(tmp_path: Path) -> None:
    """S-67: no secret reaches the store, neither of a prompt nor of the words before it."""
    key = "sk-ant-api03-" + "x1Y2z3" * 15
    bench = WorkBench(tmp_path)
    bench.say(f"Your key is {key}.").tell(f"use the key {key} here").advance()
    ((text, context),) = bench.rows("SELECT text, context FROM prompt_text")
    assert key not in text and key not in context and "use the key" in text


def test_an_excluded_project_and_no_project_leave_no_text(tmp_path: Path) -> None:
    """DESIGN "The way of a prompt": a prompt of an excluded project, or of none, leaves its digest only."""
    toy = Toy()
    bench = WorkBench(tmp_path, toy)
    with bench.store.write() as tx:
        tx.execute("INSERT INTO choice VALUES('project', ?, 'exclude', '', 0)", str(bench.root))
    bench.tell("secret plans").advance().tell("at home", session="s2", cwd=bench.tmp).leave()
    assert toy.texts() == []
    assert bench.rows(
        "SELECT text, passed FROM prompt LEFT JOIN prompt_text ON prompt = number ORDER BY number"
    ) == [
        (None, "excluded"),
        (None, "no project"),
    ]


def test_a_prompt_that_no_answer_fits_goes_alone_and_costs_the_others_nothing(tmp_path: Path) -> None:
    """RELIABILITY 16: after one failure each prompt goes alone, and the one that fails again is rejected."""

    def outcome(task: Task) -> Outcome:
        if any(one.text == "poison" for one in task.prompts):
            return Later("the answer cannot be used", blame="work")
        return Done()

    toy = Toy(outcome=outcome)
    bench = WorkBench(tmp_path, toy)
    bench.tell("one", "poison", "two").leave()
    for _ in range(6):
        bench.advance(60)
    texts = toy.texts()
    assert texts == [["one", "poison", "two"], ["one"], ["poison"], ["two"]]
    assert bench.states() == {"one": "done", "poison": "rejected", "two": "done"}
    assert toy.kinds()[-1] == "session-ended"


def test_a_rejected_prompt_keeps_its_whole_text(tmp_path: Path) -> None:
    """DESIGN "The store": words that wait or were rejected are kept whole; handled ones are cut and go after 90 days, with
    where they were typed."""
    long = "use pnpm, " * 60
    toy = Toy(outcome=lambda task: Rejected("no") if task.session == "s2" else Done())
    bench = WorkBench(tmp_path, toy)
    bench.tell(long + "two", session="s2").advance().tell(long + "one").leave()
    assert [len(text) for (text,) in bench.rows("SELECT text FROM prompt_text ORDER BY prompt")] == [603, 200]
    bench.advance(91 * 86_400)
    ((prompt, length),) = bench.rows("SELECT prompt, length(text) FROM prompt_text")
    assert (prompt, length) == (1, 603)


def test_words_that_went_leave_no_holes_in_the_store(tmp_path: Path) -> None:
    """DESIGN "The store": a store of a year has 80 MB at most; a page of long prompts is used again when these are cut."""
    bench = WorkBench(tmp_path, Toy())

    def count_pages() -> int:
        ((every,),), ((free,),) = bench.rows("PRAGMA page_count"), bench.rows("PRAGMA freelist_count")
        return int(every - free)

    before = count_pages()
    bench.tell(*(f"use pnpm {number}, " + "x" * 3000 for number in range(100)))
    for _ in range(3):
        bench.leave()
    assert bench.rows("SELECT count(*), max(length(text)) FROM prompt_text") == [(100, 200)]
    assert count_pages() - before < 40, "a page has 10 of them at least"


def test_words_typed_in_a_directory_that_is_not_here_wait_for_it(tmp_path: Path) -> None:
    """A container's directory in a shared home: its words wait, and are handled once the directory is there."""
    toy = Toy()
    bench = WorkBench(tmp_path, toy)
    away = bench.tmp / "work" / "later"
    bench.tell("use pnpm", cwd=away).leave()
    assert toy.texts() == []
    bench.project("later")
    bench.advance(120).advance(601)
    assert toy.texts() == [["use pnpm"]] and str(toy.tasks[-1].project).count("later") == 1


def test_a_prompt_is_finished_without_a_look_at_those_of_a_year(tmp_path: Path) -> None:
    """RELIABILITY 18: no statement goes through all prompts, of which a year has a hundred thousand."""
    store, said = Store.open(tmp_path / "state", FakeClock()), list[str]()
    with store.write() as tx:
        db = store._require_open()
        db.set_trace_callback(said.append)
        finish_prompts(tx, "toy", [1], 0.0)
        db.set_trace_callback(None)
        plan = [row[3] for sql in said for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]
    store.close()
    assert plan and not [step for step in plan if step.startswith("SCAN")], plan
