"""Stage 1 on the bench: when prompts are sent, with what context, and what is stored of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support_heard import RawAnswer
from support_learning import EXTRACTION, MORNING, PNPM, SHORT, SUMMARY, Bench, git
from tacitd.events import Prompt, ToolUse
from tacitd.handler import Done
from tacitd.model.port import NoAnswer, Why
from tacitd_handlers.learning import ask_synthesis as stage2_call
from tacitd_handlers.learning.stage1 import run as stage1_run

# --- one call ------------------------------------------------------------------------------------------------


def test_ten_prompts_go_out_at_once_and_the_rest_waits(bench: Bench) -> None:
    """SPEC S-01: the position moves to the first record that was not taken."""
    records = [bench.record(f"words {n}", age=0.0) for n in range(12)]
    outcome = bench.play(bench.grew(*records))
    assert isinstance(outcome, Done) and outcome.upto == records[10].start
    assert outcome.data["asked"] == 10 and bench.model.prompts[-1].count("What the person wrote") == 10


def test_bytes_count_as_well_as_prompts(bench: Bench) -> None:
    """SPEC S-01: a batch ends before the prompt that exceeds the limit."""
    bench.answer((EXTRACTION, "NONE"))
    records = [bench.record("x" * 20_000, age=0.0), bench.record("y" * 20_000, age=0.0)]
    outcome = bench.play(bench.grew(*records))
    assert isinstance(outcome, Done) and outcome.upto == records[1].start


def test_a_giant_prompt_goes_out_alone_and_cut(bench: Bench) -> None:
    """Bad input: a very long prompt is sent with its beginning and end, within the limit."""
    bench.play(bench.grew(bench.record("begin " + "x" * 3_000_000 + " end", age=0.0)))
    prompt = bench.asked(EXTRACTION)[0]
    assert len(prompt) < 30_000 and "begin" in prompt and " end" in prompt and "left out" in prompt


def test_a_secret_is_not_cut_out_of_recognition(bench: Bench) -> None:
    """SPEC S-67: secrets are looked for before the text is cut, because part of one would not be recognised."""
    at = 24_576 * 2 // 3 - 12
    bench.play(
        bench.grew(bench.record("a" * at + " sk-ant-api03-abcdefghijklmnop " + "b" * 60_000), due=True)
    )
    assert "sk-ant" not in bench.asked(EXTRACTION)[0]


@pytest.mark.parametrize(
    "token", ["sk-sp-" + "abcdefghij" * 2 + "." + "klmnopqrst" * 2, "sk_" + "0123456789abcdef" * 3]
)
def test_a_key_with_a_dot_is_in_no_call_no_file_and_no_commit(bench: Bench, token: str) -> None:
    """SPEC S-67: the whole key is blanked, also what follows its dot."""
    bench.answer((EXTRACTION, f"Uses the key {token}\n" + PNPM))
    bench.type(f"use {token} for the calls, and pnpm, not npm")
    kept = bench.files.raw_file.read_text() + bench.log.text
    sent = "".join(bench.model.prompts)
    assert "use [secret] for the calls" in sent and PNPM in kept
    assert not any(part in text for part in (token[:12], token[-12:]) for text in (sent, kept))


def test_a_secret_in_the_assistants_turn_does_not_leave_the_machine(bench: Bench) -> None:
    """SPEC S-67: the assistant's words are sent as context, and may contain a token from a file."""
    context = "I found GITHUB_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123 in .env. Use it?"
    bench.play(bench.grew(bench.record("no, use pnpm", context=context), due=True))
    prompt = bench.asked(EXTRACTION)[0]
    assert "ghp_" not in prompt and "[secret] in .env. Use it?" in prompt
    message = stage1_run._build_message(
        Prompt("typed", "no", "s1", "u1", 0.0, str(bench.root), context), 1000
    )
    assert message.context == "I found GITHUB_TOKEN=[secret] in .env. Use it?"


def test_the_assistants_words_in_an_excluded_directory_are_not_sent(bench: Bench) -> None:
    """A session may come from such a directory, and what the assistant wrote last there goes before the first prompt here."""
    private = bench.new_project("private")
    bench.modes[private.root] = "off"
    for number, place in enumerate((private.root, bench.root)):
        record = bench.record("use pnpm", context="The hidden plan is this. Go on?")
        prompts = tuple(replace(one, context_cwd=str(place)) for one in record.prompts)
        bench.play(bench.grew(replace(record, prompts=prompts), due=True))
        asked = bench.asked(EXTRACTION)[number]
        assert "use pnpm" in asked and ("hidden plan" in asked) == (place == bench.root)


def test_a_context_that_begins_within_a_secret_is_cut_behind_it(bench: Bench) -> None:
    """SPEC S-67: the last 300 characters may begin with half a token, which no pattern recognises."""
    context = ("mnopqrstuvwxyz0123 is in .env. " + "x y " * 100)[:300]
    bench.play(bench.grew(bench.record("no", context=context), due=True))
    prompt = bench.asked(EXTRACTION)[0]
    assert "mnopqrst" not in prompt and "… is in .env. x y" in prompt
    bench.play(bench.grew(bench.record("yes", context="Tabs or spaces?"), due=True))
    assert "Tabs or spaces?" in bench.asked(EXTRACTION)[1]


class Talkative:
    """A prompt extension whose addition contains a secret, as a lesson of the user's might."""

    name = "talkative"

    def render_addition(self, project: str) -> str:
        return "And: the token: ghp_abcdefghijklmnopqrstuvwxyz0123"

    def extract_finding(self, answer: str) -> tuple[Any | None, str]:
        return None, answer


def test_what_extensions_add_is_blanked_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC S-67: secrets are blanked in the prompts of both stages."""
    for stage in (stage1_run, stage2_call):
        monkeypatch.setattr(stage, "load_extensions", lambda table: [Talkative()])
    bench.learn()
    assert len(bench.model.prompts) == 2
    assert all("ghp_" not in one and "the token: [secret]" in one for one in bench.model.prompts)


def test_a_secret_in_the_summary_does_not_leave_the_machine(bench: Bench) -> None:
    """SPEC S-67: another tool, or the user, may have written it there."""
    bench.put(
        "tmp/known-facts-summary.md", "# Known facts\n\n- The token: ghp_abcdefghijklmnopqrstuvwxyz0123\n"
    )
    bench.type("use pnpm, not npm")
    assert "ghp_" not in bench.asked(EXTRACTION)[0] and "The token: [secret]" in bench.asked(EXTRACTION)[0]


def test_facts_that_are_kept_nowhere_are_counted(bench: Bench) -> None:
    """SPEC S-67, DESIGN "Priorities", 3: number and reason are kept, never the text, also after a restart."""
    secret = "Uses the token ghp_abcdefghijklmnopqrstuvwxyz0123"
    bench.answer((EXTRACTION, "\n".join([secret, *(f"Prefers thing{n} for topic{n}" for n in range(23))])))
    bench.type("use pnpm, not npm")
    for _ in range(2):
        skipped = bench.status["skipped"]
        assert skipped == {"looks like a secret": 1}
        bench.restart()
    assert "ghp_" not in json.dumps(bench.status) + bench.log.text


def test_shell_commands_are_seen_and_not_put_to_the_model(bench: Bench) -> None:
    """SPEC S-05: `!ls` is typed, but cannot be a preference; it is counted."""
    outcome = bench.play(bench.grew(bench.record("ls -la", kind="bash"), due=True))
    assert isinstance(outcome, Done) and not bench.model.asked
    assert bench.status["total"]["seen"] == 1 and bench.status["total"]["asked"] == 0


def test_words_beside_a_shell_command_go_out_without_it(bench: Bench) -> None:
    """SPEC S-05: two kinds of prompts in one batch."""
    bench.play(
        bench.grew(
            bench.record("rm -rf x", kind="bash"), bench.record("use pnpm, not npm", kind="queued"), due=True
        )
    )
    assert "rm -rf" not in bench.model.prompts[-1] and "use pnpm, not npm" in bench.model.prompts[-1]
    assert bench.status["total"] == {"seen": 2, "asked": 1, "facts": 1, "lines": 0}


def test_an_answer_goes_along_with_its_question(bench: Bench) -> None:
    """SPEC S-01: up to 300 characters of the assistant's text before a prompt are sent as named context."""
    bench.play(bench.grew(bench.record("tabs", kind="answers", context="Tabs or spaces?"), due=True))
    prompt = bench.model.prompts[-1]
    assert "What the assistant had just said:\n```\nTabs or spaces?" in prompt


def test_records_without_words_are_passed_by(bench: Bench) -> None:
    """DESIGN "Data flow", 4: records without a prompt move the position and commit nothing."""
    assert bench.play(bench.grew(bench.record(), due=True)) == Done()
    assert list(bench.commits()) == []


# --- the raw line -------------------------------------------------------------------------------------------


def test_the_raw_line_is_the_seeds_with_its_origin(bench: Bench) -> None:
    """SPEC S-02, S-30: `{"ts","facts"}` of seed 003, then session, prompts, folders and batch."""
    bench.clock.wall = MORNING
    edit = ToolUse("t1", "Edit", json.dumps({"file_path": str(bench.root / "src/auth/a.py")}).encode())
    bench.play(bench.grew(bench.record("use pnpm, not npm"), bench.record(tools=[edit]), due=True))
    text = bench.files.raw_file.read_text()
    made = json.loads(text)
    assert text.endswith("}\n") and text.count("\n") == 1
    assert list(made) == ["ts", "facts", "session", "prompts", "folders", "batch", "marks"]
    assert made["ts"] == "2026-11-20T04:30:00Z" and made["facts"] == [PNPM]
    assert (
        made["marks"] == [{"of": ["u1"]}]
        and made["session"] == "s1"
        and made["prompts"] == ["u1"]
        and made["folders"] == ["src/auth"]
    )


def test_folders_are_counted_once_however_often_they_are_offered(bench: Bench) -> None:
    """SPEC S-30: records are offered several times while there is no model."""

    def use(name: str) -> ToolUse:
        return ToolUse(name, "Read", json.dumps({"file_path": str(bench.root / name / "x.py")}).encode())

    first = bench.record("use pnpm, not npm", age=0.0, tools=[use("rare")])
    rules = bench.model.rules
    bench.answer((EXTRACTION, NoAnswer(Why.ABSENT, "")))
    for _ in range(5):
        bench.play(bench.grew(first))
    bench.model.rules = rules
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
    bench.play(bench.grew(bench.record("use pnpm, not npm", tools=[edit], cwd=tree.resolve()), due=True))
    assert bench.raw[0].folders == ("src",)


@pytest.mark.parametrize("said", ["NONE", "none.", "`NONE`", "No new preferences.", ""])
def test_none_writes_nothing(bench: Bench, said: str) -> None:
    """SPEC S-02, S-03: no raw file is written, and the prompts count as handled."""
    bench.answer((EXTRACTION, RawAnswer(said)))
    assert isinstance(bench.type("fix the login page"), Done)
    assert not bench.files.raw_file.exists() and bench.status["total"]["asked"] == 1


# --- what is known ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["AGENTS.md", "LEARNED.md", "tmp/known-facts-summary.md", "directive"])
def test_what_is_known_is_dropped_whatever_the_model_says(bench: Bench, where: str) -> None:
    """SPEC S-06: a deterministic check after the model's, against every document of the project."""
    if where == "directive":
        path = bench.box / "coding.md"
        path.write_text("# Coding\n\nAlways use pnpm, never npm.\n")
        bench.directives = [path]
        bench.restart()
    else:
        bench.put(where, "## Coding\n- Use pnpm, never npm\n")
    bench.answer((SUMMARY, "NONE"), (EXTRACTION, f"{PNPM}\n{SHORT}"))
    bench.type("use pnpm, not npm", "short answers please")
    assert bench.raw[0].facts == (SHORT,)
    total = bench.status["total"]
    assert total["facts"] == 1


def test_the_contrary_of_what_is_known_is_new(bench: Bench) -> None:
    """SPEC S-06: the check is sensitive to order and negation."""
    bench.put("LEARNED.md", "- Use npm, not pnpm\n")
    bench.answer((EXTRACTION, "Use pnpm, not npm"))
    record = bench.record("no, the other way round", context="I used npm, not pnpm.")
    bench.play(bench.grew(record, due=True))
    assert bench.raw[0].facts == ("Use pnpm, not npm",)


def test_a_fact_that_looks_like_a_secret_is_kept_nowhere(bench: Bench) -> None:
    """SPEC S-67: it is neither in the raw file nor in the log."""
    bench.answer((EXTRACTION, "The api key is sk-ant-api03-abcdefghijklmnop\n" + PNPM))
    bench.type("the key is …, use pnpm, not npm")
    kept = bench.files.raw_file.read_text() + bench.log.text
    assert "sk-ant" not in kept and PNPM in kept
