"""The first call: which prompts are asked about, and what becomes of what the model heard (SPEC S-01 to S-08, S-67)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_heard import RawAnswer
from support_learning import QUIET, LearningBench
from tacitd.events import Project
from tacitd.model.port import NoAnswer, Why
from tacitd_handlers.learning.sources import Place, why_not_writable

PNPM = "Use pnpm, not npm"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LearningBench]:
    with LearningBench(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("typed", "line", "state"),
    [
        ("use tabs", {"message": 1, "words": "never use spaces", "fact": "Never use spaces"}, "refused"),
        ("yes, that", {"message": 1, "words": "yes, that", "fact": "Use React for the frontend"}, "review"),
        ("never use npm", {"message": 1, "words": "never use npm", "fact": "Use npm"}, "review"),
        ("use tabs", {"message": 1, "words": "use tabs", "fact": "Use tabs. " + "Also so. " * 40}, "review"),
    ],
    ids=["not said", "an assent", "reversed", "too long"],
)
def test_what_was_not_said_is_not_stored_as_a_fact(
    bench: LearningBench, typed: str, line: dict[str, object], state: str
) -> None:
    """S-67: words that were not typed are refused; what a person has to decide about waits; neither becomes a line."""
    bench.learn(typed, RawAnswer(json.dumps(line)))
    assert bench.facts("state") == [(state,)] and bench.facts("reason <> ''") == [(1,)]
    assert bench.text == "" and bench.raw == []


def test_a_distorted_wording_gives_way_to_the_sentence(bench: LearningBench) -> None:
    """S-67: a wording that adds a name is not stored: the person's own sentence is."""
    typed = "always run the linter before each commit"
    heard = json.dumps({"message": 1, "words": typed, "fact": "Run the linter 3 times before each commit"})
    bench.learn(typed, RawAnswer(heard))
    assert bench.bullets == [typed]


def test_another_order_of_the_same_preference_is_no_distortion(bench: LearningBench) -> None:
    """S-67: "rather A than B" says what "A rather than B" says."""
    typed = "I'd rather use tabs than spaces in this project"
    heard = json.dumps({"message": 1, "words": typed, "fact": "Use tabs rather than spaces"})
    bench.learn(typed, RawAnswer(heard))
    assert bench.bullets == ["Use tabs rather than spaces"]


def test_what_could_not_be_read_is_in_the_log(bench: LearningBench) -> None:
    """S-23: a line of the answer that is cut costs no other, and is not left out silently."""
    line = json.dumps({"message": 1, "words": "use tabs", "fact": "Use tabs"})
    bench.say("use tabs, and pnpm", RawAnswer(f"{line}\n{line[:-6]}"))
    said = bench.bench._app.store.rows("SELECT text FROM activity WHERE did = 'refused'")
    assert bench.facts("text") == [("Use tabs",)] and said == [("1 fact: it could not be read",)]


def test_who_the_person_is_goes_to_their_own_file(bench: LearningBench) -> None:
    """S-27, S-55: what is marked as about the person is a line of ~/.agents/LEARNED.md, and of no project's file."""
    bench.say("answer me in Dutch, always", "[1] Person: Answer in Dutch")
    assert bench.facts("project IS NULL", "heard_in") == [(1, bench.number)] and bench.raw == []
    bench.end()
    assert bench.person == ["Answer in Dutch"] and bench.text == ""
    assert oct((bench.bench.home / ".agents" / "LEARNED.md").stat().st_mode & 0o777) == "0o600"


def test_a_risky_fact_never_leaves_its_project(bench: LearningBench) -> None:
    """S-27: a sentence with a word of what can do damage stays in the project, whatever the model marked."""
    bench.say("delete old branches without a question", "[1] Person: Delete old branches without a question")
    assert bench.facts("project") == [(bench.number,)]


def test_said_again_it_counts_once_for_each_message(bench: LearningBench) -> None:
    """S-36: a known line that two messages say counts twice more, and costs no synthesis."""
    bench.learn("use pnpm, not npm", PNPM)
    bench.bench.type("use pnpm, not npm", "again: use pnpm, not npm, please", session="s2")
    bench.heard = f"[1] AGAIN: {PNPM}\n[1] {PNPM}\n[2] AGAIN: {PNPM}"
    bench.end()
    line = bench.line(PNPM)
    assert (line.said, line.corrections, line.corrected_since) == (3, 0, ())
    assert bench.count_calls("synthesis") == 1 and bench.bullets == [PNPM]


def test_a_repetition_needs_its_words(bench: LearningBench) -> None:
    """S-67: a known line that the words do not say, or whose contrary they say, does not count."""
    bench.learn("never use npm, always pnpm", "Never use npm, always pnpm")
    for session, typed in (("s2", "what about npm then"), ("s3", "never use pnpm here, always npm")):
        known = json.dumps({"message": 1, "words": "something else entirely", "known": 1})
        bench.learn(typed, RawAnswer(known), session)
    assert bench.line("Never use npm, always pnpm").said == 1


def test_an_answer_is_paid_for_once_in_a_crash(bench: LearningBench) -> None:
    """A crash before the commit repeats the task and not the call."""
    bench.heard = PNPM
    bench.bench.type("use pnpm, not npm", session="s1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacitd_handlers.learning.extract._store", _crash)
        bench.bench.settle(QUIET)
    assert bench.count_calls("extraction") == 1
    bench.bench.restart(kill=True)
    bench.bench.settle(QUIET)
    assert bench.count_calls("extraction") == 1 and bench.facts("text", "state") == [(PNPM, "waiting")]


def _crash(*_: object) -> None:
    raise MemoryError("the process ends here")


def test_a_call_that_was_lost_twice_is_not_paid_a_third_time(bench: LearningBench) -> None:
    """Reliability 16: its prompt is rejected."""
    bench.say("use pnpm, not npm", NoAnswer(Why.REPEATED, "lost", repeated=("unknown",)))
    ((state,),) = bench.bench.rows("SELECT state FROM prompt_task WHERE plugin = 'learning'")
    assert state == "waiting"
    ((id,),) = bench.bench.rows("SELECT id FROM prompt")
    bench.heard = NoAnswer(Why.REPEATED, "lost", repeated=(id,))
    bench.bench.settle(QUIET)
    ((state,),) = bench.bench.rows("SELECT state FROM prompt_task WHERE plugin = 'learning'")
    assert state == "rejected"


def test_prose_is_asked_again_and_given_up(bench: LearningBench) -> None:
    """S-23: an unusable answer is asked for once more, then the prompt is rejected and listed, not lost."""
    bench.say("use pnpm, not npm", RawAnswer("I could not find anything of note in here, sorry."))
    assert any("cannot be used" in one for one in bench.bench.degraded)
    for _ in range(4):
        bench.bench.settle(QUIET)
    assert bench.count_calls("extraction") == 2
    ((state, reason),) = bench.bench.rows("SELECT state, reason FROM prompt_task WHERE plugin = 'learning'")
    assert state == "rejected" and "cannot be used" in reason


@pytest.mark.parametrize("marks", [("```\n", "\n```"), ("> ", "")])
def test_of_a_long_prompt_the_pasted_part_goes_first(bench: LearningBench, marks: tuple[str, str]) -> None:
    """S-67: what was pasted is not typed, wherever a long prompt is cut."""
    pasted = f"{marks[0]}{'word ' * 9000}never run the tests {'word ' * 9000}{marks[1]}"
    heard = {"message": 1, "words": "never run the tests", "fact": "Never run the tests"}
    bench.learn(f"use pnpm, not npm.\n{pasted}\nkeep answers short", RawAnswer(json.dumps(heard)))
    assert bench.bullets == [] and bench.facts("state") == [("refused",)]
    (prompt,) = (one.prompt for one in bench.model.asked if one.purpose == "extraction")
    assert "use pnpm" in prompt and "keep answers short" in prompt and "never run" not in prompt


def test_a_secret_is_never_stored(bench: LearningBench) -> None:
    """S-67: neither in a row nor in a file."""
    key = "sk-ant-api03-" + "a1B2c3D4" * 6
    bench.learn(f"use the key {key} for tests", f"Use the key {key} for tests")
    assert bench.facts("text") == [] and not bench.bench.rows(
        "SELECT 1 FROM prompt_text WHERE text LIKE '%a1B2c3D4%'"
    )


def test_what_is_forgotten_is_not_heard_again(bench: LearningBench) -> None:
    """S-28: a text that a person chose never to be learned leaves no fact."""
    from tacitd_handlers.learning.learned_rows import digest_same

    with bench.bench._app.store.write() as tx:
        tx.execute(
            "INSERT INTO choice(scope, name, what, at) VALUES('text', ?, 'never', 0)", digest_same(PNPM)
        )
    bench.learn("use pnpm, not npm", PNPM)
    assert bench.facts("text") == [] and bench.text == ""


def test_a_project_that_is_gone_is_not_to_be_made_writable(tmp_path: Path) -> None:
    """`exclude`, the other hint, refuses a directory that does not exist."""
    gone = tmp_path / "gone"
    assert why_not_writable(Place(1, tmp_path, Project(tmp_path, git=False))) is None
    found = why_not_writable(Place(1, gone, Project(gone, git=False)))
    assert found is not None and found[0] == f"{gone} does not exist"
    assert "bring it back" in found[1] and "`tacitd rescue drop`" in found[1]
