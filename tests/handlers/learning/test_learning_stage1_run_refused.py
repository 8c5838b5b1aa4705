"""Stage 1 on the bench: what stops it before a call, unusable answers, and crashes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_heard import RawAnswer
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.events import NoProject, Project, Prompt
from tacitd.handler import Done, Later, Rejected
from tacitd.model.port import NoAnswer, Why

# --- unusable answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "I'm sorry, I cannot help with that.",
        "- corrected: true only if the person objects to what the assistant did or said.",
        '[{"fact": "x"}]',
        '{"message": 1, "words": "use pnpm"',
        "x " * 9000,
        "The person prefers pnpm.",
    ],
)
def test_an_unusable_answer_is_asked_again_and_blames_the_work(bench: Bench, said: str) -> None:
    """SPEC S-23, S-35: nothing is stored, the position stays, and `status` shows it until an answer is usable."""
    bench.answer((EXTRACTION, RawAnswer(said)))
    event = bench.grew(bench.record("use pnpm, not npm"))
    outcome = bench.play(event)
    assert isinstance(outcome, Later) and outcome.blame == "work"
    assert not bench.files.raw_file.exists() and list(bench.commits()) == []
    assert "learning.answers" in bench.degraded
    bench.answer((EXTRACTION, PNPM))
    bench.play(event)
    assert "learning.answers" not in bench.degraded


WORK = {Why.TOO_LONG}


@pytest.mark.parametrize("why", list(Why))
def test_every_reason_for_no_answer_has_its_outcome(bench: Bench, why: Why) -> None:
    """An outage makes it wait; a failure of the work may halve it; a call that was started twice is given up."""
    bench.answer((EXTRACTION, NoAnswer(why, "because", "do this", 5.0)))
    outcome = bench.type("use pnpm, not npm")
    if why is Why.REPEATED:
        assert isinstance(outcome, Rejected) and outcome.upto == 100
        return
    assert isinstance(outcome, Later)
    assert outcome.reason == f"{why}: because" and (outcome.hint, outcome.not_before) == ("do this", 5.0)
    assert outcome.blame == ("work" if why in WORK else "world")
    assert not bench.files.raw_file.exists()


# --- paths that cannot be written ---------------------------------------------------------------------------


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Make paths unwritable. Root can write everywhere, so the system is not asked."""
    shut: list[Path] = []
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in shut and real(path, mode))
    return shut


def test_a_read_only_project_is_asked_about_before_the_model_is(bench: Bench, read_only: list[Path]) -> None:
    """Bad input: nothing is paid for if it cannot be written; it continues when it can be."""
    read_only.append(bench.root)
    outcome = bench.type("use pnpm, not npm")
    assert isinstance(outcome, Later) and "read-only" in outcome.reason and "tacitd exclude" in outcome.hint
    assert not bench.model.asked
    read_only.clear()
    assert isinstance(bench.type("use pnpm, not npm"), Done)


def test_a_file_where_tmp_should_be_is_said_before_the_model_is_asked(bench: Bench) -> None:
    """Bad input: `tmp` is not a directory."""
    bench.put("tmp", "")
    outcome = bench.type("use pnpm, not npm")
    assert isinstance(outcome, Later) and "not a directory" in outcome.reason and not bench.model.asked


@pytest.mark.parametrize("name", ["tmp", "tmp/learning-raw.jsonl", "tmp/known-facts-summary.md"])
def test_a_link_that_git_brought_is_not_followed_out(bench: Bench, tmp_path: Path, name: str) -> None:
    """DESIGN "Where it writes": a repository can contain links; the user's file behind one must not be overwritten."""
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside if name == "tmp" else outside / "bashrc"
    if name != "tmp":
        target.write_text("mine")
        bench.files.tmp_dir.mkdir()
    (bench.root / name).symlink_to(target)
    outcome = bench.type("use pnpm, not npm")
    assert isinstance(outcome, Later) and "link" in outcome.reason and not bench.model.asked
    assert [p.name for p in outside.iterdir()] == ([] if name == "tmp" else ["bashrc"])
    assert name == "tmp" or target.read_text() == "mine"


@pytest.mark.parametrize("name", ["learning-raw.jsonl", "known-facts-summary.md"])
def test_a_fifo_where_a_file_of_ours_belongs_hangs_nothing(bench: Bench, name: str) -> None:
    """A FIFO must not block anything."""
    bench.files.tmp_dir.mkdir()
    os.mkfifo(bench.files.tmp_dir / name)
    outcome = bench.type("use pnpm, not npm")
    assert isinstance(outcome, Later) and "not an ordinary file" in outcome.reason


@pytest.mark.parametrize("name", ["AGENTS.md", "LEARNED.md"])
def test_a_fifo_among_the_documents_hangs_nothing(bench: Bench, name: str) -> None:
    """A FIFO among the files that are only read must not block either."""
    os.mkfifo(bench.root / name)
    assert isinstance(bench.type("use pnpm, not npm"), Done)


def test_an_excluded_project_costs_nothing_and_gets_no_file(bench: Bench) -> None:
    """The prompts of an excluded project are counted as seen, and no call is made."""
    bench.modes[bench.root] = "off"
    assert isinstance(bench.type("use pnpm, not npm"), Done)
    assert not bench.model.asked and not bench.files.tmp_dir.exists()
    assert bench.status["skipped"] == {f"{bench.root} is excluded": 1}


def test_words_in_the_home_directory_belong_to_no_project(bench: Bench) -> None:
    """Bad input: a project that is `$HOME`."""
    place = NoProject("/home/dev", "it is the home directory")
    assert isinstance(
        bench.play(bench.grew(bench.record("use pnpm, not npm"), due=True, project=place)), Done
    )
    assert bench.status["skipped"] == {"it is the home directory": 1} and not bench.model.asked


def test_words_of_a_directory_that_is_gone_wait(bench: Bench) -> None:
    """Bad input: a record whose `cwd` does not exist now."""
    place = NoProject("/gone", "the working directory does not exist", gone=True)
    outcome = bench.play(bench.grew(bench.record("use pnpm, not npm"), due=True, project=place))
    assert isinstance(outcome, Later) and "/gone" in outcome.reason and outcome.blame == "world"


# --- the raw file is a projection ---------------------------------------------------------------------------


def test_facts_that_cannot_be_written_are_kept_and_written_later(bench: Bench) -> None:
    """DESIGN "Data flow", 4: the commit is in the log, and `status` shows the fault until it is fixed."""

    def say(ask: object) -> str:
        bench.files.raw_file.mkdir(parents=True)  # the path becomes a directory during the call
        return PNPM

    bench.answer((EXTRACTION, say))
    assert isinstance(bench.type("use pnpm, not npm"), Done)
    id = f"learning.raw-unwritable:{bench.root}"
    assert str(bench.files.raw_file) in bench.degraded[id].what
    assert bench.status["facts_waiting"] == {str(bench.root): 1}
    bench.files.raw_file.rmdir()
    bench.answer((EXTRACTION, SHORT))
    bench.type("short answers")
    assert [line.facts for line in bench.raw] == [(PNPM,), (SHORT,)] and id not in bench.degraded


def test_a_crash_before_the_raw_file_was_written_loses_nothing(bench: Bench) -> None:
    """RELIABILITY 1: the facts are in the log, and `open` writes the file."""
    bench.type("use pnpm, not npm")
    bench.files.raw_file.unlink()
    bench.restart()
    assert [line.facts for line in bench.raw] == [(PNPM,)]


def test_a_replayed_commit_is_never_twice_in_the_raw_file(bench: Bench) -> None:
    """DESIGN "Handlers and events": `committed` can be repeated, and so can `open` after it."""
    bench.type("use pnpm, not npm")
    for commit in list(bench.commits()):
        bench.handler.committed(commit, bench.tools())
    bench.restart()
    bench.restart()
    assert len(bench.raw) == 1


def test_a_restart_writes_nothing_into_a_project_that_was_excluded_meanwhile(bench: Bench) -> None:
    """Nothing is written in an excluded project."""
    bench.type("use pnpm, not npm")
    bench.files.raw_file.unlink()
    bench.modes[bench.root] = "off"
    bench.restart()
    assert not bench.files.raw_file.exists()


def test_the_session_end_of_another_project_leaves_the_facts_alone(bench: Bench) -> None:
    """SPEC S-53: the end of a session starts the synthesis of its own project only."""
    other = bench.new_project("other")
    bench.type("use pnpm, not npm")
    bench.type("use pnpm, not npm", session="s2", project=other)
    bench.end("s2", other)
    assert bench.raw and not bench.files.learned_file.exists() and (other.root / "LEARNED.md").exists()


def test_ids_of_prompts_without_uuid_make_stable_batches(bench: Bench) -> None:
    """SPEC S-29: the same prompts are the same batch, also for old clients that wrote no uuid."""
    one = Prompt("typed", "use pnpm, not npm", "s1", "", 5.0, str(bench.root))
    assert one.id == Prompt("typed", "use pnpm, not npm", "s1", "", 5.0, str(bench.root)).id
    record = bench.record("x")
    event = bench.grew(replace(record, prompts=(one,)))
    bench.play(event)
    bench.play(event)
    assert len(bench.raw) == 1


def test_a_project_without_git_works_the_same(bench: Bench) -> None:
    """DESIGN "Where it writes": outside git the directory itself is the project."""
    plain = bench.new_project("plain", is_git=False)
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    bench.type("use pnpm, not npm", project=plain)
    bench.end(project=plain)
    assert PNPM in (plain.root / "LEARNED.md").read_text()
    assert Project(plain.root, False) == plain
