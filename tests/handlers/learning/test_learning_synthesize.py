"""The second call: facts become lines of files, and what becomes of those that do not (SPEC S-20 to S-37)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_heard import list_facts, write_proposals
from support_learning import IDLE, QUIET, SYNTHESIS, LearningBench, lines
from tacitd.contract import Task, Tx
from tacitd.errors import UnwritableError
from tacitd.model.port import ModelRequest
from tacitd.work.task_rows import store_outcome
from tacitd_handlers.learning.synthesize import PROMPT_LIMIT

PNPM, YARN, SHORT = "Use pnpm, not npm", "Use yarn from now on, not pnpm", "Keep answers short"
LINT, NEW = "Always run make lint", "Always run make test"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LearningBench]:
    with LearningBench(tmp_path) as made:
        yield made


def block(text: str, *, replaces: str = "", start: str = "", file: str = "LEARNED.md") -> str:
    """A proposal, see `support_heard`."""
    fields = [f"FILE: {file}", "SECTION: Coding", f"FACT: {text}"]
    fields += [f"FROM: {start}"] if start else []
    return "\n".join([*fields, *([f"REPLACES: {replaces}"] if replaces else [])])


def test_a_contradiction_begins_anew(bench: LearningBench) -> None:
    """S-26, S-54: the new line takes the old one's place, and its count begins anew; said again, so does the old one's."""
    bench.bench.type("use pnpm, not npm", "use pnpm, not npm, ok", session="s1")
    bench.heard = f"[1] {PNPM}\n[2] {PNPM}"
    bench.bench.settle(QUIET)
    bench.end()
    bench.learn("we use yarn from now on, not pnpm", YARN, "s2", block(YARN, replaces=PNPM))
    assert bench.bullets == [YARN]
    assert (bench.line(PNPM).state, bench.line(PNPM).replaced_by) == ("replaced", bench.line(YARN).number)
    assert bench.line(YARN).said == 1
    bench.learn("back to it: use pnpm, not npm", PNPM, "s3", block(PNPM, replaces=YARN))
    assert bench.bullets == [PNPM] and bench.line(PNPM).said == 1 and bench.line(PNPM).state == "present"


def test_left_out_it_comes_back_when_it_is_said_again(bench: LearningBench) -> None:
    """S-36: what synthesis left out goes with the next facts, with its count, and becomes a line if a new fact says it."""
    bench.learn("I like tabs here", "Likes tabs here", proposed="NONE")
    assert bench.facts("state") == [("left out",)] and bench.text == ""
    bench.learn("keep answers short", SHORT, "s2", block(SHORT))
    assert "left out before" in bench.model.prompts[-1] and bench.bullets == [SHORT]
    bench.learn("I like tabs here, really", "Likes tabs here", "s3")
    assert "said 2 times in 2 sessions" in bench.model.prompts[-1]
    assert bench.bullets == [SHORT, "Likes tabs here"]


def test_an_unusable_answer_is_halved_once_then_put_aside(bench: LearningBench) -> None:
    """S-23: the facts are asked about in two halves; one half that gets no answer is put aside, not lost, not paid a third time."""
    bench.bench.type("use pnpm, not npm", "keep answers short", session="s1")
    bench.heard = f"[1] {PNPM}\n[2] {SHORT}"
    bench.bench.settle(QUIET)
    answers = iter(["Sorry, what?", "Sorry, what?", block(SHORT)])
    bench.model.rules = [
        (SYNTHESIS, lambda request: write_proposals(next(answers), request.prompt)),
        *bench.model.rules,
    ]
    bench.end()
    bench.bench.settle(60.0)
    assert bench.count_calls("synthesis") == 3 and bench.bullets == [SHORT]
    assert bench.facts("text", "state") == [(PNPM, "aside"), (SHORT, "written")]
    bench.bench.settle(700.0)
    assert bench.count_calls("synthesis") == 3


def test_the_answer_of_a_synthesis_is_paid_for_once(bench: LearningBench) -> None:
    """Reliability 2, 16: a crash between answer and commit repeats the task with the stored answer."""
    bench.say("use pnpm, not npm", PNPM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacitd_handlers.learning.synthesize._store_lines", _crash)
        bench.bench.settle(IDLE)
    assert bench.count_calls("synthesis") == 1 and bench.facts("state") == [("waiting",)]
    bench.bench.restart(kill=True)
    bench.bench.settle(QUIET)
    assert bench.count_calls("synthesis") == 1 and bench.bullets == [PNPM]
    assert bench.facts("state") == [("written",)]


def _crash(*_: object) -> None:
    raise MemoryError("the process ends here")


def test_more_than_twenty_lines_wait_for_the_next_call(bench: LearningBench) -> None:
    """Not more than twenty lines at once; the rest is not lost."""
    rules = [f"Use tool{n} for task{n} in module{n}" for n in range(23)]
    for part in range(3):
        some = rules[part * 8 : part * 8 + 8]
        bench.bench.type(*(one.lower() for one in some), session="s1")
        bench.heard = "\n".join(f"[{at}] {one}" for at, one in enumerate(some, 1))
        bench.bench.settle(QUIET - 1)
        bench.bench.settle(2.0)
    bench.end()
    bench.bench.settle(60.0)
    assert len(bench.bullets) == 23 and set(bench.facts("state")) == {("written",)}


def test_many_lines_are_said_and_merged(tmp_path: Path) -> None:
    """S-54: past the limit `status` says so, and the model is asked to merge."""
    with LearningBench(tmp_path, {"TACITD_LEARNING__MAX_LINES": "10"}) as bench:
        for n in range(12):
            rule = f"Use tool{n} for task{n} in module{n}"
            bench.learn(rule.lower(), rule, f"s{n}")
        assert any("has 11 learned lines, more than 10" in one for one in bench.bench.degraded) or any(
            "has 12 learned lines" in one for one in bench.bench.degraded
        )
        bench.learn("keep answers short", SHORT, "last")
        assert "it may have 10. Merge L lines" in bench.model.prompts[-1]


def test_the_prompt_has_a_limit_whatever_stands_in_the_files(bench: LearningBench) -> None:
    """Issue 39, point 23: six AGENTS.md of 60 kB and a long line each."""
    for n in range(6):
        folder = bench.root / f"pkg{n}" / "src"
        folder.mkdir(parents=True)
        old = "".join(f"- Rule {m} of {n} is kept {'as it was, ' * 27}\n" for m in range(180))
        (folder / "AGENTS.md").write_text(f"# Own\n\n- {'long ' * 2_000}\n{old}- Use tabs in pkg{n}/src\n")
    said = [f"Use tabs in pkg{n}/src" for n in range(6)] + ["Use pnpm"]
    bench.say(". ".join(said), "\n".join(f"[1] {text}" for text in said))
    bench.end()
    (asked,) = [one.prompt for one in bench.model.asked if one.purpose == "synthesis"]
    assert 10_000 < len(asked.encode()) <= PROMPT_LIMIT


def test_an_excluded_project_is_not_written(bench: LearningBench) -> None:
    """DESIGN "Where it writes": facts that wait when a person excludes the project cost no call."""
    bench.say("use pnpm, not npm", PNPM)
    with bench.bench._app.store.write() as tx:
        tx.execute(
            "INSERT INTO choice(scope, name, what, at) VALUES('project', ?, 'exclude', 0)", str(bench.root)
        )
    bench.end()
    assert bench.count_calls("synthesis") == 0 and bench.text == ""


def test_orphans_become_lines_without_a_session(bench: LearningBench) -> None:
    """S-52: facts of a session whose end was lost are written by the next look for orphans."""
    bench.say("use pnpm, not npm", PNPM)
    bench.bench.settle(60.0)
    with bench.bench._app.store.write() as tx:
        tx.execute("UPDATE session SET ended = last, ended_by = 'gone'")
        tx.execute("DELETE FROM task WHERE kind = 'session-ended'")
    bench.bench.settle(IDLE)
    bench.bench.run_job("recover")
    assert bench.bullets == [PNPM]


# --- a person edits LEARNED.md while a synthesis is asked


@pytest.mark.parametrize("deletions", [1, 2])
def test_a_line_that_is_deleted_during_the_call_costs_no_second_one(
    bench: LearningBench, deletions: int
) -> None:
    """DESIGN "The way of a prompt", RELIABILITY 16: the outcome waits for the second look; its answer is used then."""
    for number, (words, heard) in enumerate(
        [("use pnpm, not npm", PNPM), ("always run make lint", LINT), ("keep answers short", SHORT)]
    ):
        bench.learn(words, heard, f"s{number}")
    assert bench.bullets == [PNPM, LINT, SHORT]
    before = bench.count_calls("synthesis")
    path, left = bench.root / "LEARNED.md", [f"- {LINT}\n", f"- {PNPM}\n"][:deletions]

    def answer(request: ModelRequest) -> str:
        if left:
            path.write_text(path.read_text().replace(left.pop(), ""))
        return write_proposals(lines(NEW), request.prompt)

    bench.model.rules = [(SYNTHESIS, answer), *bench.model.rules]
    bench.say("always run make test", NEW, "new")
    bench.bench.settle(IDLE)
    bench.look()
    bench.end()
    assert NEW in bench.bullets and ("written",) in bench.facts("state")[-1:]
    assert bench.count_calls("synthesis") == before + 1


def test_facts_that_came_after_a_refused_commit_have_a_call_of_their_own(
    bench: LearningBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "The way of a prompt": the task is repeated, but not its call; later facts belong to the next synthesis."""
    refused = list[str]()

    def refuse(tx: Tx, plugin: str, task: Task, *about: Any) -> None:
        waiting = tx.rows("SELECT 1 FROM learning_fact WHERE state = 'waiting'")
        if task.kind != "prompts" and bench.count_calls("synthesis") == 1 and len(waiting) == 1:
            if not refused:
                bench.heard = NEW
                bench.bench.type("always run make test", session="s2")
            refused.append(task.kind)
            raise UnwritableError("the disk is full", "make room")
        store_outcome(tx, plugin, task, *about)

    monkeypatch.setattr("tacitd.work.task_runner.store_outcome", refuse)
    bench.learn("use pnpm, not npm", PNPM)
    bench.end()
    assert refused and bench.bullets == [PNPM, NEW]
    asked = [list_facts(one.prompt) for one in bench.model.asked if one.purpose == "synthesis"]
    assert [list(facts.values()) for facts in asked] == [[PNPM], [NEW]]
