"""Stage 1 on the bench: when prompts go out, what becomes of the answer, and what stops it before it costs anything."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SUMMARY, SYNTHESIS, Bench, git, lines
from tacitd.events import NoProject, Project, Prompt, ToolUse
from tacitd.handler import Done, Later, Rejected, Wait
from tacitd.model.port import NoAnswer, Why
from tacitd_handlers.learning import extract, synthesize

SETTLE = 600.0


# --- gathering ----------------------------------------------------------------------------------------------


def test_prompts_are_gathered_until_ten_minutes_of_quiet(bench: Bench) -> None:
    """SPEC S-01: the wait is what is left of the quiet, and nothing is asked or written meanwhile."""
    event = bench.grew(bench.record("use pnpm", age=120.0))
    assert bench.play(event) == Wait(SETTLE - 120.0)
    assert not bench.model.asked and not bench.files.tmp.exists()
    bench.clock.pass_(SETTLE - 120.0)
    assert isinstance(bench.play(event), Done)


def test_prompts_that_are_due_do_not_wait(bench: Bench) -> None:
    """Issue "sync makes gathered work due"."""
    assert isinstance(bench.play(bench.grew(bench.record("use pnpm", age=0.0), due=True)), Done)


def test_quiet_is_counted_from_the_newest_prompt(bench: Bench) -> None:
    """SPEC S-01: who goes on typing is waited for."""
    old, new = bench.record("use pnpm", age=5000.0), bench.record("and tabs", age=1.0)
    assert bench.play(bench.grew(old, new)) == Wait(SETTLE - 1.0)


def test_ten_prompts_go_out_at_once_and_the_rest_waits(bench: Bench) -> None:
    """SPEC S-01: the position moves to the first record that was not taken."""
    records = [bench.record(f"words {n}", age=0.0) for n in range(12)]
    outcome = bench.play(bench.grew(*records))
    assert isinstance(outcome, Done) and outcome.upto == records[10].start
    assert outcome.data["asked"] == 10 and bench.model.prompts[-1].count("What the person wrote") == 10


def test_bytes_count_as_well_as_prompts(bench: Bench) -> None:
    """Issue "24 KB": a batch ends before the prompt that is too many."""
    records = [bench.record("x" * 20_000, age=0.0), bench.record("y" * 20_000, age=0.0)]
    outcome = bench.play(bench.grew(*records))
    assert isinstance(outcome, Done) and outcome.upto == records[1].start


def test_a_giant_prompt_goes_out_alone_and_cut(bench: Bench) -> None:
    """Bad input: an enormous paste is asked about with its beginning and end, within the limit."""
    bench.play(bench.grew(bench.record("begin " + "x" * 3_000_000 + " end", age=0.0)))
    prompt = bench.asked(EXTRACTION)[0]
    assert len(prompt) < 30_000 and "begin" in prompt and " end" in prompt and "left out" in prompt


def test_a_secret_is_not_cut_out_of_recognition(bench: Bench) -> None:
    """ANCHORS P15: what is blanked is looked for before the text is cut, or half of it would pass."""
    at = 24_576 * 2 // 3 - 12
    bench.play(
        bench.grew(bench.record("a" * at + " sk-ant-api03-abcdefghijklmnop " + "b" * 60_000), due=True)
    )
    assert "sk-ant" not in bench.asked(EXTRACTION)[0]


def test_a_secret_in_the_assistants_turn_does_not_leave_the_machine(bench: Bench) -> None:
    """ANCHORS P15: what the assistant had just said goes along, and it may have read a file with a token out loud."""
    context = "I found GITHUB_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123 in .env. Use it?"
    bench.play(bench.grew(bench.record("no, use pnpm", context=context), due=True))
    prompt = bench.asked(EXTRACTION)[0]
    assert "ghp_" not in prompt and "[secret] in .env. Use it?" in prompt
    message = extract._message(Prompt("typed", "no", "s1", "u1", 0.0, str(bench.root), context), 1000)
    assert message.context == "I found GITHUB_TOKEN=[secret] in .env. Use it?"


def test_a_context_that_begins_within_a_secret_is_cut_behind_it(bench: Bench) -> None:
    """ANCHORS P15: the last 300 characters may begin with half a token, which no pattern knows."""
    context = ("mnopqrstuvwxyz0123 is in .env. " + "x y " * 100)[:300]
    bench.play(bench.grew(bench.record("no", context=context), due=True))
    prompt = bench.asked(EXTRACTION)[0]
    assert "mnopqrst" not in prompt and "… is in .env. x y" in prompt
    bench.play(bench.grew(bench.record("yes", context="Tabs or spaces?"), due=True))
    assert "Tabs or spaces?" in bench.asked(EXTRACTION)[1]


class Talkative:
    """A rider that brings a secret along, as a lesson that a person wrote might."""

    name = "talkative"

    def addition(self, project: str) -> str:
        return "And: the token: ghp_abcdefghijklmnopqrstuvwxyz0123"

    def split(self, answer: str) -> tuple[Any | None, str]:
        return None, answer


def test_what_riders_add_is_blanked_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANCHORS P15: whatever goes along with either stage."""
    for stage in (extract, synthesize):
        monkeypatch.setattr(stage, "riders", lambda table: [Talkative()])
    bench.learn()
    assert len(bench.model.prompts) == 2
    assert all("ghp_" not in one and "the token: [secret]" in one for one in bench.model.prompts)


def test_a_secret_in_the_summary_does_not_leave_the_machine(bench: Bench) -> None:
    """ANCHORS P15: another tool, or a person, may have written it there."""
    bench.put(
        "tmp/known-facts-summary.md", "# Known facts\n\n- The token: ghp_abcdefghijklmnopqrstuvwxyz0123\n"
    )
    bench.type("use pnpm")
    assert "ghp_" not in bench.asked(EXTRACTION)[0] and "The token: [secret]" in bench.asked(EXTRACTION)[0]


def test_facts_that_are_kept_nowhere_are_counted(bench: Bench) -> None:
    """SPEC S-67, DESIGN "it explains itself": how many and why, never what they said, also after a restart."""
    secret = "Uses the token ghp_abcdefghijklmnopqrstuvwxyz0123"
    bench.answer((EXTRACTION, "\n".join([secret, *(f"Prefers thing{n} for topic{n}" for n in range(23))])))
    bench.type("use pnpm")
    for _ in range(2):
        skipped = bench.status["skipped"]
        assert skipped == {"looks like a secret": 1, "more than 20 facts in one answer": 3}
        bench.restart()
    assert "ghp_" not in json.dumps(bench.status) + (bench.home / "log.jsonl").read_text()


def test_shell_commands_are_seen_and_not_put_to_the_model(bench: Bench) -> None:
    """SPEC S-05: `!ls` is typed, and cannot be a preference; it is counted all the same."""
    outcome = bench.play(bench.grew(bench.record("ls -la", kind="bash"), due=True))
    assert isinstance(outcome, Done) and not bench.model.asked
    assert bench.status["total"]["seen"] == 1 and bench.status["total"]["asked"] == 0


def test_words_beside_a_shell_command_go_out_without_it(bench: Bench) -> None:
    """SPEC S-05, two kinds in one batch."""
    bench.play(
        bench.grew(bench.record("rm -rf x", kind="bash"), bench.record("use pnpm", kind="queued"), due=True)
    )
    assert "rm -rf" not in bench.model.prompts[-1] and "use pnpm" in bench.model.prompts[-1]
    assert bench.status["total"] == {"seen": 2, "asked": 1, "facts": 1, "lines": 0}


def test_an_answer_goes_along_with_its_question(bench: Bench) -> None:
    """Issue "up to 300 characters of the assistant's turn before it as named context"."""
    bench.play(bench.grew(bench.record("tabs", kind="answers", context="Tabs or spaces?"), due=True))
    prompt = bench.model.prompts[-1]
    assert "What the assistant had just said:\n```\nTabs or spaces?" in prompt


def test_records_without_words_are_passed_by(bench: Bench) -> None:
    """DESIGN "One way through": nothing of interest moves the position and commits nothing."""
    assert bench.play(bench.grew(bench.record(), due=True)) == Done()
    assert list(bench.commits()) == []


# --- the raw line -------------------------------------------------------------------------------------------


def test_the_raw_line_is_the_seeds_with_its_origin(bench: Bench) -> None:
    """SPEC S-02, S-30: `{"ts","facts"}` of seed 003, then session, prompts, folders and batch."""
    edit = ToolUse("t1", "Edit", json.dumps({"file_path": str(bench.root / "src/auth/a.py")}).encode())
    bench.play(bench.grew(bench.record("use pnpm"), bench.record(tools=[edit]), due=True))
    text = bench.files.raw.read_text()
    made = json.loads(text)
    assert text.endswith("}\n") and text.count("\n") == 1
    assert list(made) == ["ts", "facts", "session", "prompts", "folders", "batch"]
    assert made["ts"] == "2026-11-20T04:30:00Z" and made["facts"] == [PNPM]
    assert made["session"] == "s1" and made["prompts"] == ["u1"] and made["folders"] == ["src/auth"]


def test_folders_are_counted_once_however_often_they_are_offered(bench: Bench) -> None:
    """SPEC S-30: records are offered again and again while prompts are gathered."""

    def use(name: str) -> ToolUse:
        return ToolUse(name, "Read", json.dumps({"file_path": str(bench.root / name / "x.py")}).encode())

    first = bench.record("use pnpm", age=0.0, tools=[use("rare")])
    for _ in range(5):
        bench.play(bench.grew(first))
    more = [bench.record(tools=[use("often")]) for _ in range(2)]
    bench.play(bench.grew(first, *more, due=True))
    assert bench.raw[0].folders == ("often", "rare")


def test_folders_of_a_linked_worktree_are_the_projects(bench: Bench, tmp_path: Path) -> None:
    """SPEC S-30, DESIGN "Where it writes": the project of a linked worktree is the main one."""
    bench.put("a", "a")
    git(bench.root, "add", "a")
    git(bench.root, "commit", "-qm", "a")
    tree = tmp_path / "tree"
    git(bench.root, "worktree", "add", "-q", str(tree))
    edit = ToolUse("t1", "Edit", json.dumps({"file_path": str(tree.resolve() / "src/a.py")}).encode())
    bench.play(bench.grew(bench.record("use pnpm", tools=[edit], cwd=tree.resolve()), due=True))
    assert bench.raw[0].folders == ("src",)


@pytest.mark.parametrize("said", ["NONE", "none.", "`NONE`", "No new preferences.", ""])
def test_none_writes_nothing(bench: Bench, said: str) -> None:
    """SPEC S-02, S-03: no raw file, and the prompts count as handled."""
    bench.answer((EXTRACTION, said))
    assert isinstance(bench.type("thanks"), Done)
    assert not bench.files.raw.exists() and bench.status["total"]["asked"] == 1


# --- what is known ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["AGENTS.md", "LEARNED.md", "tmp/known-facts-summary.md", "directive"])
def test_what_is_known_is_dropped_whatever_the_model_says(bench: Bench, where: str) -> None:
    """SPEC S-06: a deterministic check after the model's, over every document that holds in the project."""
    if where == "directive":
        path = bench.box / "coding.md"
        path.write_text("# Coding\n\nAlways use pnpm, never npm.\n")
        bench.directives = [path]
        bench.restart()
    else:
        bench.put(where, "## Coding\n- Use pnpm, never npm\n")
    bench.answer((SUMMARY, "NONE"), (EXTRACTION, f"{PNPM}\n{SHORT}"))
    bench.type("use pnpm", "short answers please")
    assert bench.raw[0].facts == (SHORT,)
    total = bench.status["total"]
    assert total["facts"] == 1


def test_the_contrary_of_what_is_known_is_new(bench: Bench) -> None:
    """SPEC S-06: order- and negation-aware."""
    bench.put("LEARNED.md", "- Use npm, not pnpm\n")
    bench.answer((EXTRACTION, "Use pnpm, not npm"))
    bench.type("no, the other way round")
    assert bench.raw[0].facts == ("Use pnpm, not npm",)


def test_a_fact_that_looks_like_a_secret_is_kept_nowhere(bench: Bench) -> None:
    """SPEC S-67: neither in the raw file nor in the log."""
    bench.answer((EXTRACTION, "The api key is sk-ant-api03-abcdefghijklmnop\n" + PNPM))
    bench.type("the key is …, use pnpm")
    kept = bench.files.raw.read_text() + bench.log.path.read_text()
    assert "sk-ant" not in kept and PNPM in kept


# --- answers that are none ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "I'm sorry, I cannot help with that.",
        "Extract only what the person said themselves, in the person's own terms; guess nothing.",
        '[{"fact": "x"}]',
        "x " * 5000,
        "p" * 700,
    ],
)
def test_an_unusable_answer_is_asked_again_and_blames_the_work(bench: Bench, said: str) -> None:
    """SPEC S-23, S-35: nothing is stored, the position stays, `status` says so until an answer is good."""
    bench.answer((EXTRACTION, said))
    event = bench.grew(bench.record("use pnpm"))
    outcome = bench.play(event)
    assert isinstance(outcome, Later) and outcome.blame == "work"
    assert not bench.files.raw.exists() and list(bench.commits()) == []
    assert "learning.answers" in bench.degraded
    bench.answer((EXTRACTION, PNPM))
    bench.play(event)
    assert "learning.answers" not in bench.degraded


WORK = {Why.TOO_LONG}


@pytest.mark.parametrize("why", list(Why))
def test_every_reason_for_no_answer_has_its_outcome(bench: Bench, why: Why) -> None:
    """Issue "Errors told apart": the world makes it wait, the work itself may be halved, twice begun is given up."""
    bench.answer((EXTRACTION, NoAnswer(why, "because", "do this", 5.0)))
    outcome = bench.type("use pnpm")
    if why is Why.REPEATED:
        assert isinstance(outcome, Rejected) and outcome.upto == 100
        return
    assert isinstance(outcome, Later)
    assert outcome.reason == f"{why}: because" and (outcome.hint, outcome.not_before) == ("do this", 5.0)
    assert outcome.blame == ("work" if why in WORK else "world")
    assert not bench.files.raw.exists()


# --- where nothing may be written ---------------------------------------------------------------------------


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Paths that nobody may write. Root may write everywhere, so the system is not asked."""
    shut: list[Path] = []
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in shut and real(path, mode))
    return shut


def test_a_read_only_project_is_asked_about_before_the_model_is(bench: Bench, read_only: list[Path]) -> None:
    """Bad input: no money for what cannot be written; it goes on by itself when it can."""
    read_only.append(bench.root)
    outcome = bench.type("use pnpm")
    assert isinstance(outcome, Later) and "read-only" in outcome.reason and "tacitd exclude" in outcome.hint
    assert not bench.model.asked
    read_only.clear()
    assert isinstance(bench.type("use pnpm"), Done)


def test_a_file_where_tmp_should_be_is_said_before_the_model_is_asked(bench: Bench) -> None:
    """Bad input: `tmp` that is no directory."""
    bench.put("tmp", "")
    outcome = bench.type("use pnpm")
    assert isinstance(outcome, Later) and "not a directory" in outcome.reason and not bench.model.asked


@pytest.mark.parametrize("name", ["tmp", "tmp/learning-raw.jsonl", "tmp/known-facts-summary.md"])
def test_a_link_that_git_brought_is_not_followed_out(bench: Bench, tmp_path: Path, name: str) -> None:
    """DESIGN "Where it writes": a repository may hold links; a person's file behind one must not be overwritten."""
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside if name == "tmp" else outside / "bashrc"
    if name != "tmp":
        target.write_text("mine")
        bench.files.tmp.mkdir()
    (bench.root / name).symlink_to(target)
    outcome = bench.type("use pnpm")
    assert isinstance(outcome, Later) and "link" in outcome.reason and not bench.model.asked
    assert [p.name for p in outside.iterdir()] == ([] if name == "tmp" else ["bashrc"])
    assert name == "tmp" or target.read_text() == "mine"


@pytest.mark.parametrize("name", ["learning-raw.jsonl", "known-facts-summary.md"])
def test_a_fifo_where_a_file_of_ours_belongs_hangs_nothing(bench: Bench, name: str) -> None:
    """DESIGN "Hints and truth": a FIFO must not hang anything."""
    bench.files.tmp.mkdir()
    os.mkfifo(bench.files.tmp / name)
    outcome = bench.type("use pnpm")
    assert isinstance(outcome, Later) and "not an ordinary file" in outcome.reason


@pytest.mark.parametrize("name", ["AGENTS.md", "LEARNED.md"])
def test_a_fifo_among_the_documents_hangs_nothing(bench: Bench, name: str) -> None:
    """The same for what is only read."""
    os.mkfifo(bench.root / name)
    assert isinstance(bench.type("use pnpm"), Done)


def test_an_excluded_project_costs_nothing_and_gets_no_file(bench: Bench) -> None:
    """Issue "tacitd exclude": its words are counted as seen, and no call is made."""
    bench.modes[bench.root] = "off"
    assert isinstance(bench.type("use pnpm"), Done)
    assert not bench.model.asked and not bench.files.tmp.exists()
    assert bench.status["skipped"] == {f"{bench.root} is excluded": 1}


def test_words_in_the_home_directory_belong_to_no_project(bench: Bench) -> None:
    """Bad input: a project that is `$HOME`."""
    place = NoProject("/home/dev", "it is the home directory")
    assert isinstance(bench.play(bench.grew(bench.record("use pnpm"), due=True, project=place)), Done)
    assert bench.status["skipped"] == {"it is the home directory": 1} and not bench.model.asked


def test_words_of_a_directory_that_is_gone_wait(bench: Bench) -> None:
    """Bad input: a record whose `cwd` does not exist any more."""
    place = NoProject("/gone", "the working directory does not exist", gone=True)
    outcome = bench.play(bench.grew(bench.record("use pnpm"), due=True, project=place))
    assert isinstance(outcome, Later) and "/gone" in outcome.reason and outcome.blame == "world"


# --- the raw file is a projection ---------------------------------------------------------------------------


def test_facts_that_cannot_be_written_are_kept_and_written_later(bench: Bench) -> None:
    """DESIGN "One way through": the commit is in the log; `status` says what is the matter until it is not."""

    def say(ask: object) -> str:
        bench.files.raw.mkdir(parents=True)  # somebody puts a directory in the way during the call
        return PNPM

    bench.answer((EXTRACTION, say))
    assert isinstance(bench.type("use pnpm"), Done)
    id = f"learning.raw-unwritable:{bench.root}"
    assert str(bench.files.raw) in bench.degraded[id].what
    assert bench.status["facts_waiting"] == {str(bench.root): 1}
    bench.files.raw.rmdir()
    bench.answer((EXTRACTION, SHORT))
    bench.type("short answers")
    assert [line.facts for line in bench.raw] == [(PNPM,), (SHORT,)] and id not in bench.degraded


def test_a_crash_before_the_raw_file_was_written_loses_nothing(bench: Bench) -> None:
    """RELIABILITY 1: the facts are in the log, and `open` writes the file."""
    bench.type("use pnpm")
    bench.files.raw.unlink()
    bench.restart()
    assert [line.facts for line in bench.raw] == [(PNPM,)]


def test_a_replayed_commit_is_never_twice_in_the_raw_file(bench: Bench) -> None:
    """DESIGN: `committed` must be safe to do twice, and `open` after it."""
    bench.type("use pnpm")
    for commit in list(bench.commits()):
        bench.handler.committed(commit, bench.tools())
    bench.restart()
    bench.restart()
    assert len(bench.raw) == 1


def test_a_restart_writes_nothing_into_a_project_that_was_excluded_meanwhile(bench: Bench) -> None:
    """Issue "tacitd exclude DIR stops writing there"."""
    bench.type("use pnpm")
    bench.files.raw.unlink()
    bench.modes[bench.root] = "off"
    bench.restart()
    assert not bench.files.raw.exists()


def test_the_session_end_of_another_project_leaves_the_facts_alone(bench: Bench) -> None:
    """SPEC S-53: one project at a time."""
    other = bench.new_project("other")
    bench.type("use pnpm")
    bench.type("use pnpm", session="s2", project=other)
    bench.end("s2", other)
    assert bench.raw and not bench.files.learned.exists() and (other.root / "LEARNED.md").exists()


def test_ids_of_prompts_without_uuid_make_stable_batches(bench: Bench) -> None:
    """SPEC S-29: the same prompts are the same batch, also where old clients wrote no uuid."""
    one = Prompt("typed", "use pnpm", "s1", "", 5.0, str(bench.root))
    assert one.id == Prompt("typed", "use pnpm", "s1", "", 5.0, str(bench.root)).id
    record = bench.record("x")
    event = bench.grew(replace(record, prompts=(one,)))
    bench.play(event)
    bench.play(event)
    assert len(bench.raw) == 1


def test_a_project_without_git_works_the_same(bench: Bench) -> None:
    """DESIGN "Where it writes": else that directory itself is the project."""
    plain = bench.new_project("plain", is_git=False)
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    bench.type("use pnpm", project=plain)
    bench.end(project=plain)
    assert PNPM in (plain.root / "LEARNED.md").read_text()
    assert Project(plain.root, False) == plain
