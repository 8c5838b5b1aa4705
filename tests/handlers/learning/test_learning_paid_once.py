"""An answer of stage 2 that was paid for and is not written yet is not asked for again (RELIABILITY 16)."""

from __future__ import annotations

import pytest

from support_heard import list_facts
from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, every_fact, lines
from tacitd.handler import Later, Rejected
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd_handlers.learning.handler import RETRY

TABS = "Prefers tabs"
DELETE = "Delete the log files before each release"


def answer_once_blocked(bench: Bench, *facts: str) -> None:
    """The model answers, and meanwhile LEARNED.md becomes a directory, so that nothing can be written."""

    def block(ask: ModelRequest) -> str:
        (bench.root / "LEARNED.md").mkdir()
        return lines(*facts)

    bench.answer((SYNTHESIS, block), (EXTRACTION, "\n".join(facts)))


def lock(bench: Bench) -> None:
    """Another git command writes the index, so git cannot list its tracked files."""
    (bench.root / ".git/index.lock").touch()


def unlock(bench: Bench) -> None:
    """That command has ended."""
    (bench.root / ".git/index.lock").unlink()


def paid_for(bench: Bench, fact: str) -> int:
    """The number of calls of stage 2 about a fact."""
    return sum(fact in list_facts(prompt).values() for prompt in bench.asked(SYNTHESIS))


def aside_once(bench: Bench, typed: str, fact: str) -> None:
    """No answer about a fact was usable, so it was put aside."""
    bench.answer((SYNTHESIS, NoAnswer(Why.TOO_LONG, "x")), (EXTRACTION, fact))
    bench.type(typed)
    outcomes = [bench.end() for _ in range(2)]
    assert isinstance(outcomes[-1], Rejected)


def test_a_lock_that_appears_meanwhile_has_nothing_paid_for_again(bench: Bench) -> None:
    """The claimed file of the answer cannot be trusted for now: the answer waits for git, and is then written."""
    answer_once_blocked(bench, PNPM)
    bench.learn()
    lock(bench)
    (bench.root / "LEARNED.md").rmdir()
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    outcome = bench.end()
    assert isinstance(outcome, Later) and "git cannot list" in outcome.reason
    unlock(bench)
    bench.end()
    bench.play_posted()
    assert bench.bullets == [PNPM] and paid_for(bench, PNPM) == 1 and not bench.claimed


def test_files_that_git_allows_again_do_not_join_a_paid_answer(bench: Bench) -> None:
    """The answer is about a batch in no file; the claimed file that has the same batch appears again and waits."""
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")), (EXTRACTION, PNPM))
    bench.learn()
    lock(bench)
    answer_once_blocked(bench, PNPM)
    bench.end()
    asked = paid_for(bench, PNPM)
    (bench.root / "LEARNED.md").rmdir()
    unlock(bench)
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    bench.end()
    bench.play_posted()
    assert bench.bullets == [PNPM] and paid_for(bench, PNPM) == asked and not bench.claimed


def test_facts_that_are_taken_back_meanwhile_do_not_join_a_paid_answer(bench: Bench) -> None:
    """`rescue retry` while an answer waits: the retried facts are asked about alone, and all are written."""
    aside_once(bench, "use pnpm, not npm", PNPM)
    answer_once_blocked(bench, TABS)
    bench.learn("i prefer tabs", session="s2")
    bench.due(RETRY)
    (bench.root / "LEARNED.md").rmdir()
    bench.answer((SYNTHESIS, every_fact))
    bench.play_posted()
    bench.play_posted()
    assert sorted(bench.bullets) == [TABS, PNPM] and paid_for(bench, TABS) == 1 and not bench.claimed


def test_a_typed_dangerous_fact_that_was_put_aside_keeps_its_words(bench: Bench) -> None:
    """SPEC S-67: the fact was grounded in typed words. If it is retried, it does not count as another tool's."""
    aside_once(bench, "delete the log files before each release", DELETE)
    bench.restart()
    bench.answer((SYNTHESIS, every_fact))
    bench.due(RETRY)
    bench.play_posted()
    assert bench.bullets == [DELETE] and bench.status["refused"] == {"refused": 0, "waits": 0}


@pytest.mark.parametrize("restarted", [False, True])
def test_only_the_batch_whose_answers_were_lost_is_put_aside(bench: Bench, restarted: bool) -> None:
    """RELIABILITY 16: one claimed file has two batches, and one of them was paid for twice; the other one is written."""

    def lost(ask: ModelRequest) -> str | NoAnswer:
        if PNPM not in list_facts(ask.prompt).values():
            return every_fact(ask)
        return NoAnswer(Why.REPEATED, "x", repeated=ask.parts[:1])

    for words, fact in (("use pnpm, not npm", PNPM), ("i prefer tabs", TABS)):
        bench.answer((EXTRACTION, fact))
        bench.type(words)
    assert len(bench.raw) == 2
    bench.answer((SYNTHESIS, lost))
    assert isinstance(bench.end(), Rejected) and len(bench.claimed) == 1
    if restarted:
        bench.restart()
        bench.answer((SYNTHESIS, lost))
        bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [TABS] and not bench.claimed
    (dead,) = bench.files.tmp_dir.glob("*.dead.jsonl")
    assert PNPM in dead.read_text() and TABS not in dead.read_text()
    bench.answer((SYNTHESIS, every_fact))
    bench.due(RETRY)
    bench.play_posted()
    assert (
        sorted(bench.bullets) == [TABS, PNPM]
        and not bench.claimed
        and not list(bench.files.tmp_dir.glob("*.dead.jsonl"))
    )


def test_a_file_of_another_tool_whose_answers_were_lost_is_put_aside_whole(bench: Bench) -> None:
    """Lines of another tool have no id by which they could be left out of the file that they share."""
    bench.type("use pnpm, not npm")
    with bench.files.raw_file.open("a") as raw:
        raw.write('{"facts": ["Prefers tabs"]}\n')
    lost = lambda ask: NoAnswer(Why.REPEATED, "x", repeated=ask.parts[1:])  # noqa: E731
    bench.answer((SYNTHESIS, lost))
    assert isinstance(bench.end(), Rejected) and not bench.claimed
    (dead,) = bench.files.tmp_dir.glob("*.dead.jsonl")
    assert PNPM in dead.read_text() and TABS in dead.read_text()


# --- ids for counting calls ---------------------------------------------------------------------------------


def parts_of(bench: Bench) -> list[frozenset[str]]:
    """The fact ids of each call of stage 2."""
    return [frozenset(ask.parts) for ask in bench.model.asked if ask.purpose == "synthesis"]


@pytest.mark.parametrize("first", ["in a file", "in none"])
def test_facts_are_counted_alike_in_a_file_and_in_none(bench: Bench, first: str) -> None:
    """RELIABILITY 16: git can list its tracked files now and then, and calls are still counted."""
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")), (EXTRACTION, PNPM))
    bench.type("use pnpm, not npm")
    for number in range(4):
        if (number % 2 == 1) == (first == "in a file"):
            lock(bench)
            bench.end()
            unlock(bench)
        else:
            bench.end()
    one, *others = parts_of(bench)
    assert one and len(others) == 3 and set(others) == {one}


@pytest.mark.parametrize("how", ["rescue", "cat"])
@pytest.mark.parametrize("where", ["in a file", "in none"])
def test_facts_that_a_person_has_tried_again_are_counted_anew(bench: Bench, where: str, how: str) -> None:
    """SPEC S-23: calls before the user's retry do not count."""
    if where == "in none":
        lock(bench)
    aside_once(bench, "use pnpm, not npm", PNPM)
    if where == "in none":
        unlock(bench)
        bench.files.raw_file.unlink(missing_ok=True)
    before = set(parts_of(bench))
    bench.restart()
    bench.answer((SYNTHESIS, every_fact))
    if how == "rescue":
        bench.due(RETRY)
    else:
        (dead,) = bench.files.tmp_dir.glob("*.dead.jsonl")
        dead.rename(bench.files.raw_file)
        bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM] and parts_of(bench)[-1] not in before


def test_facts_put_aside_while_git_cannot_say_are_not_asked_about_again(bench: Bench) -> None:
    """RELIABILITY 16: their line in the raw file is read again once git can list its files, and they stay put aside."""
    bench.type("use pnpm, not npm")
    assert bench.raw
    lock(bench)
    bench.answer((SYNTHESIS, NoAnswer(Why.TOO_LONG, "x")), (EXTRACTION, TABS))
    for _ in range(2):
        bench.end()
    unlock(bench)
    bench.restart()
    bench.answer((SYNTHESIS, every_fact), (EXTRACTION, TABS))
    asked = paid_for(bench, PNPM)
    bench.learn("i prefer tabs", session="s2")
    assert bench.bullets == [TABS] and paid_for(bench, PNPM) == asked and not bench.claimed
    bench.due(RETRY)
    bench.play_posted()
    assert sorted(bench.bullets) == [TABS, PNPM] and not list(bench.files.tmp_dir.glob("*.dead.jsonl"))
