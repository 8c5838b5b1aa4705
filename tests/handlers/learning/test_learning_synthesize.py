"""Stage 2 on the bench: what waits becomes lines, once, and no byte of a person's is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_learning import EXTRACTION, PNPM, SHORT, SUMMARY, SYNTHESIS, Bench, git, lines
from tacitd.events import Due
from tacitd.handler import Done, Later, Rejected
from tacitd.model.port import Ask, NoAnswer, Why
from tacitd_handlers.learning import synthesize
from tacitd_handlers.learning.material import portions

PERSONS = b"# My file\r\n\r\nI wrote this.  \r\n\r\n## Coding\r\n*  mine\t\r\n\r\n<!-- keep -->\r\n## Other\r\ntext\r\n"


# --- the way through ----------------------------------------------------------------------------------------


def test_facts_become_lines_the_summary_is_made_and_the_raw_file_is_gone(bench: Bench) -> None:
    """SPEC S-27, S-32: seed 003's form, then the summary, then no raw and no claimed file."""
    bench.learn()
    assert bench.learned == f"# Learned Preferences\n\n## Coding\n- {PNPM}\n"
    assert PNPM in bench.files.summary.read_text()
    assert not bench.files.raw.exists() and not bench.claimed
    assert bench.status["total"] == {"seen": 1, "asked": 1, "facts": 1, "lines": 1}
    assert bench.status["facts_waiting"] == {} and not bench.degraded


def test_the_claim_leaves_the_raw_file_to_others(bench: Bench) -> None:
    """SPEC S-22: what another tool appends during the call stands in a new file and is not lost."""

    def say(ask: Ask) -> str:
        assert not bench.files.raw.exists() and len(bench.claimed) == 1
        bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"]}\n')
        return lines(PNPM)

    bench.answer((SYNTHESIS, say), (EXTRACTION, PNPM))
    bench.learn()
    assert bench.bullets == [PNPM] and [line.facts for line in bench.raw] == [("Prefers tabs",)]


def test_lines_of_other_tools_are_facts_like_ours(bench: Bench) -> None:
    """SPEC S-02: the seed's two keys are enough."""
    bench.put("tmp/learning-raw.jsonl", '{"ts": "2025-12-17T01:50:00Z", "facts": ["Use pnpm, never npm"]}\n')
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM] and not bench.files.raw.exists()


def test_a_bad_raw_line_is_put_in_quarantine_once_and_stops_nothing(bench: Bench) -> None:
    """SPEC S-21: kept, said, and over when the next file is clean."""
    bench.put(
        "tmp/learning-raw.jsonl", b'{"facts": 1}\n\xff\xfe\n{"facts": ["Use pnpm, never npm"]}\nnot json'
    )
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")), (EXTRACTION, PNPM))
    for _ in range(3):
        bench.due("synthesize", bench.project)
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.due("synthesize", bench.project)
    kept = (bench.home / "quarantine.jsonl").read_text().splitlines()
    assert len(kept) == 3 and bench.bullets == [PNPM]
    assert "3 lines" in bench.degraded[f"learning.raw:{bench.root}"].what
    bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"]}\n')
    bench.due("synthesize", bench.project)
    assert not bench.degraded


def test_a_raw_file_of_bad_lines_only_costs_nothing(bench: Bench) -> None:
    """SPEC S-21."""
    bench.put("tmp/learning-raw.jsonl", "rubbish\n")
    assert bench.due("synthesize", bench.project) == Done()
    assert not bench.model.asked and not bench.files.raw.exists()


def test_every_byte_of_a_persons_text_is_kept(bench: Bench) -> None:
    """SPEC S-28: one line goes in under its heading, in the file's own newlines; all else stays."""
    bench.put("LEARNED.md", PERSONS)
    bench.learn()
    after = bench.files.learned.read_bytes()
    assert after == PERSONS.replace(b"*  mine\t\r\n", b"*  mine\t\r\n" + f"* {PNPM}\r\n".encode())


def test_the_same_facts_again_change_no_byte(bench: Bench) -> None:
    """SPEC S-29, issue 'A second pass changes no byte'."""
    bench.learn()
    before = {p: p.read_bytes() for p in bench.root.rglob("*") if p.is_file() and ".git" not in p.parts}
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": ["use pnpm and never npm", PNPM]}) + "\n")
    bench.answer((SYNTHESIS, lines("Use pnpm, never npm")))
    bench.due("synthesize", bench.project)
    after = {p: p.read_bytes() for p in bench.root.rglob("*") if p.is_file() and ".git" not in p.parts}
    assert after == before


def test_facts_that_are_known_by_now_cost_no_call(bench: Bench) -> None:
    """SPEC S-06 for lines of other tools, which no extraction has compared; no money for what is known."""
    bench.put("LEARNED.md", f"- {PNPM}\n")
    bench.put("AGENTS.md", "Always keep answers short.\n")
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [PNPM, "Always keep answers short"]}) + "\n")
    bench.due("synthesize", bench.project)
    assert not bench.model.asked and not bench.files.raw.exists() and bench.bullets == [PNPM]


def test_a_statement_that_is_no_bullet_counts_as_said(bench: Bench) -> None:
    """Issue "no duplicate": a person's LEARNED.md may hold sentences."""
    bench.answer((SYNTHESIS, lines("Keep answers short.")), (EXTRACTION, SHORT))
    bench.type("short answers")
    bench.put("LEARNED.md", "Keep answers short. That matters to me.\n")
    bench.end()
    assert bench.bullets == []


def test_nothing_new_leaves_no_file(bench: Bench) -> None:
    """ANCHORS P13: no file for an empty result; the raw file is done with, and a restart is possible."""
    bench.answer((SYNTHESIS, "NONE"), (EXTRACTION, PNPM))
    bench.learn()
    assert not bench.files.learned.exists() and not bench.files.raw.exists()
    bench.restart()
    assert bench.status["facts_waiting"] == {} and not bench.files.raw.exists()


def test_two_sessions_of_one_project_are_merged(bench: Bench) -> None:
    """SPEC S-53: the first end takes the facts of both, the second finds nothing to do."""
    bench.answer((SYNTHESIS, lines(PNPM, SHORT)), ("pnpm please", PNPM), (EXTRACTION, SHORT))
    bench.type("pnpm please", session="s1")
    bench.type("short answers", session="s2")
    bench.end("s1")
    bench.end("s2")
    assert bench.bullets == [PNPM, SHORT] and len(bench.asked(SYNTHESIS)) == 1


def test_repeated_corrections_are_counted_for_the_model(bench: Bench) -> None:
    """SPEC S-36: said in two sessions, it stands in the prompt with its count."""
    bench.type("use pnpm", session="s1")
    bench.type("I said pnpm", session="s2")
    bench.end("s1")
    assert f"2 times: {PNPM}" in bench.asked(SYNTHESIS)[0]


def test_very_many_facts_go_out_in_portions_and_none_is_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 'What matters' 1: a scan of the past leaves hundreds of facts; no line falls under a table."""
    words = [f"Use tool{n}x for job{n}y " + "z" * 100 for n in range(40)]
    bench.put("tmp/learning-raw.jsonl", "".join(json.dumps({"facts": [one]}) + "\n" for one in words))
    monkeypatch.setattr(synthesize, "portions", lambda facts: portions(facts, 2500))

    def say(ask: Ask) -> str:
        return lines(*(text[2:] for text in ask.prompt.splitlines() if text.startswith("- Use tool")))

    bench.answer((SYNTHESIS, say))
    bench.due("synthesize", bench.project)
    assert len(bench.bullets) == 40 and len(bench.model.asked) == 2
    assert len({ask.key for ask in bench.model.asked}) == 2


def test_a_portion_that_was_paid_for_is_not_paid_for_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Nobody pays twice": a later portion without an answer leaves the earlier answers standing."""
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [PNPM, SHORT]}) + "\n")
    monkeypatch.setattr(synthesize, "portions", lambda facts: portions(facts, 10))
    bench.answer((f"- {SHORT}", NoAnswer(Why.LIMIT, "later")), (SYNTHESIS, lines(PNPM)))
    assert isinstance(bench.due("synthesize", bench.project), Later)
    bench.answer((f"- {SHORT}", lines(SHORT)), (SYNTHESIS, "never"))
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM, SHORT] and len(bench.model.asked) == 3


@given(facts=st.lists(st.text(max_size=30)), limit=st.integers(1, 50))
@settings(max_examples=50, deadline=None)
def test_portions_keep_every_fact_in_order(facts: list[str], limit: int) -> None:
    """DESIGN 'What matters' 1; a fact that is too long alone goes alone."""
    made = list(portions(facts, limit))
    assert [fact for portion in made for fact in portion] == facts
    assert all(len(p) == 1 or sum(len(f.encode()) for f in p) <= limit for p in made)


# --- places -------------------------------------------------------------------------------------------------


def placed(bench: Bench, file: str, *, folders: tuple[str, ...] = ("src/learning",)) -> None:
    """The model wants a line in this file."""
    raw = {"facts": ["The learning module uses the event bus"], "folders": list(folders)}
    bench.put("tmp/learning-raw.jsonl", json.dumps(raw) + "\n")
    bench.answer((SYNTHESIS, lines("Use the event bus for hooks", file=file, section="Architecture")))
    bench.due("synthesize", bench.project)


def test_a_modules_fact_stands_in_its_agents_file(bench: Bench) -> None:
    """SPEC S-24, seed 003: the file is made, with the module's title."""
    (bench.root / "src/learning").mkdir(parents=True)
    placed(bench, "src/learning/AGENTS.md")
    made = (bench.root / "src/learning/AGENTS.md").read_text()
    assert made == "# Learning Module\n\n## Architecture\n- Use the event bus for hooks\n"
    assert not bench.files.learned.exists() and "/src/learning/AGENTS.md" in bench.excluded()


def test_an_agents_file_that_is_there_is_added_to(bench: Bench) -> None:
    """Seed 003 story 5: updated, not overwritten; a person's file is not hidden from git."""
    bench.put("src/learning/AGENTS.md", "# Mine\n\nwords\n")
    placed(bench, "src/learning/AGENTS.md")
    made = (bench.root / "src/learning/AGENTS.md").read_text()
    assert made.startswith("# Mine\n\nwords\n") and "- Use the event bus for hooks" in made
    assert "/src/learning/AGENTS.md" not in bench.excluded()


def test_a_folder_with_brackets_is_hidden_by_its_own_name(bench: Bench) -> None:
    """Nothing gets published by accident: `[id]` is a pattern to git, and a folder to Next.js."""
    (bench.root / "app/[id]").mkdir(parents=True)
    placed(bench, "app/[id]/AGENTS.md", folders=("app/[id]",))
    assert (bench.root / "app/[id]/AGENTS.md").exists()
    assert git(bench.root, "status", "--porcelain", "-uall") == ""


@pytest.mark.parametrize("file", ["nowhere/AGENTS.md", "AGENTS.md", "node_modules/x/AGENTS.md"])
def test_where_there_is_no_such_module_it_is_the_projects(bench: Bench, file: str) -> None:
    """SPEC S-24: a missing or vendored folder, and the root's AGENTS.md, mean LEARNED.md."""
    (bench.root / "node_modules/x").mkdir(parents=True)
    mine = bench.put("AGENTS.md", "mine\n")
    placed(bench, file)
    assert bench.bullets == ["Use the event bus for hooks"] and mine.read_text() == "mine\n"


def test_ignored_folders_and_submodules_get_no_file(bench: Bench) -> None:
    """SPEC S-24, with what real git says."""
    bench.put(".gitignore", "/out/\n")
    (bench.root / "out").mkdir()
    placed(bench, "out/AGENTS.md", folders=("out",))
    bench.put("sub/.git", "gitdir: ../.git/modules/sub\n")
    bench.answer((SYNTHESIS, lines("Prefers tabs", file="sub/AGENTS.md")))
    bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"], "folders": ["sub"]}\n')
    bench.due("synthesize", bench.project)
    assert not (bench.root / "out/AGENTS.md").exists() and not (bench.root / "sub/AGENTS.md").exists()
    assert bench.bullets == ["Use the event bus for hooks", "Prefers tabs"]


@pytest.mark.parametrize("link", ["folder", "file"])
def test_the_roots_agents_file_is_not_reached_by_a_link(bench: Bench, link: str) -> None:
    """SPEC S-24: it belongs to the person, also under another name."""
    mine = bench.put("AGENTS.md", "mine\n")
    if link == "folder":
        (bench.root / "loop").symlink_to(".")
    else:
        (bench.root / "loop").mkdir()
        (bench.root / "loop/AGENTS.md").symlink_to("../AGENTS.md")
    placed(bench, "loop/AGENTS.md", folders=("loop",))
    assert mine.read_text() == "mine\n" and bench.bullets == ["Use the event bus for hooks"]


@pytest.mark.parametrize(
    "file",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "src/../../x/AGENTS.md",
        "C:\\x\\AGENTS.md",
        "notes.txt",
        "out/AGENTS.md",
    ],
)
def test_a_path_that_leads_out_is_refused_and_nothing_of_it_is_stored(
    bench: Bench, tmp_path: Path, file: str
) -> None:
    """SPEC S-24, RELIABILITY 19: said in `status`, and over with the next good answer."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.root / "out").symlink_to(outside)
    bench.answer((SYNTHESIS, lines("Evil words stay out", file=file)), (EXTRACTION, PNPM))
    bench.learn()
    assert list(outside.iterdir()) == [] and not bench.files.learned.exists()
    everything = b"".join(p.read_bytes() for p in bench.box.rglob("*") if p.is_file())
    assert b"Evil words" not in everything
    assert f"learning.refused:{bench.root}" in bench.degraded
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    bench.learn("again: pnpm", session="s2")
    assert not bench.degraded


def test_folders_of_a_stranger_in_the_raw_file_open_nothing(bench: Bench) -> None:
    """RELIABILITY 19: `folders` in the raw file are anybody's words, and must not stop the synthesis."""
    raw = {"facts": [PNPM], "folders": ["../../etc", "/etc", "a\0b", "src\nx", ".git", ""]}
    bench.put("tmp/learning-raw.jsonl", json.dumps(raw) + "\n")
    assert isinstance(bench.due("synthesize", bench.project), Done)
    assert bench.bullets == [PNPM] and "etc" not in bench.asked(SYNTHESIS)[0]


@pytest.mark.parametrize(
    "fact", ["The token is ghp_abcdefghijklmnopqrstuvwxyz0123", "Run \x1b[31m\x07this", "x" * 5000]
)
def test_secrets_control_characters_and_floods_are_not_stored(bench: Bench, fact: str) -> None:
    """SPEC S-67."""
    bench.answer((SYNTHESIS, f"FILE: LEARNED.md\nFACT: {fact}"), (EXTRACTION, PNPM))
    bench.learn()
    assert "ghp_" not in bench.learned and "\x1b" not in bench.learned and len(bench.learned) < 1000


# --- answers that are none ----------------------------------------------------------------------------------

ECHO = "FILE: LEARNED.md\nFACT: Prefers functions over classes\n\nFILE: teleclaude/learning/AGENTS.md\nFACT: Use event bus pattern for hook communication"


@pytest.mark.parametrize(
    "said", ["words, no form", ECHO, "I'm sorry, I can't help.", "FILE: LEARNED.md\n" * 3, "x" * 10_000_000]
)
def test_an_answer_that_is_none_is_kept_asked_again_and_then_put_aside(bench: Bench, said: str) -> None:
    """SPEC S-23, S-35: after `synthesis.tries` the facts lie aside, in sight, and are not paid for again."""
    bench.answer((SYNTHESIS, said), (EXTRACTION, PNPM))
    bench.type("use pnpm")
    assert isinstance(bench.end(), Later) and isinstance(bench.end(), Later)
    assert "learning.answers" in bench.degraded and len(bench.claimed) == 1
    outcome = bench.end()
    assert isinstance(outcome, Rejected) and "the facts are in" in outcome.reason
    dead = list(bench.files.tmp.glob("*.dead.jsonl"))
    assert len(dead) == 1 and PNPM in dead[0].read_text() and not bench.files.learned.exists()
    asked = len(bench.model.asked)
    bench.restart()
    bench.end()
    assert len(bench.model.asked) == asked and not bench.files.raw.exists()
    assert str(dead[0]) in next(d.what for id, d in bench.degraded.items() if id.startswith("learning.aside"))


def test_what_was_put_aside_can_be_tried_again(bench: Bench) -> None:
    """SPEC S-23: facts are never lost; the hint says how, and it works."""
    bench.answer((SYNTHESIS, "nonsense"), (EXTRACTION, PNPM))
    bench.type("use pnpm")
    for _ in range(3):
        bench.end()
    dead = next(bench.files.tmp.glob("*.dead.jsonl"))
    dead.rename(bench.files.raw)
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.due("recover")
    assert not any(id.startswith("learning.aside") for id in bench.degraded)
    bench.play_posted()
    assert bench.bullets == [PNPM]


@pytest.mark.parametrize("why", [Why.ABSENT, Why.LIMIT, Why.BUDGET, Why.LOGGED_OUT, Why.STOPPING])
def test_a_model_that_is_away_makes_the_facts_wait(bench: Bench, why: Why) -> None:
    """SPEC S-23: the claimed file is kept, no try is counted, and it goes on."""
    bench.answer((SYNTHESIS, NoAnswer(why, "d", "h", 9.0)), (EXTRACTION, PNPM))
    bench.type("use pnpm")
    for _ in range(6):
        outcome = bench.end()
        assert isinstance(outcome, Later) and outcome.blame == "world" and outcome.not_before == 9.0
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.end()
    assert bench.bullets == [PNPM] and not bench.claimed


def test_a_call_that_was_begun_twice_is_not_begun_a_third_time(bench: Bench) -> None:
    """RELIABILITY 16: the facts are put aside at once, in sight."""
    bench.answer((SYNTHESIS, NoAnswer(Why.REPEATED, "killed")), (EXTRACTION, PNPM))
    bench.type("use pnpm")
    assert isinstance(bench.end(), Rejected) and list(bench.files.tmp.glob("*.dead.jsonl"))


# --- LEARNED.md as it should not be -------------------------------------------------------------------------


def damaged(bench: Bench, kind: str, outside: Path) -> None:
    learned = bench.files.learned
    match kind:
        case "not utf-8":
            learned.write_bytes(b"# Gr\xfc\xdfe\n")
        case "utf-16":
            learned.write_bytes("# x\n".encode("utf-16"))
        case "conflict":
            learned.write_text("<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> other\n")
        case "link out":
            outside.write_text("mine\n")
            learned.symlink_to(outside)
        case "directory":
            learned.mkdir()
        case "fifo":
            os.mkfifo(learned)
        case "loop":
            learned.symlink_to("LEARNED.md")


KINDS = ["not utf-8", "utf-16", "conflict", "link out", "directory", "fifo", "loop"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_learned_file_that_cannot_be_spliced_costs_nothing_and_heals_by_itself(
    bench: Bench, tmp_path: Path, kind: str
) -> None:
    """Bad input: the model is not asked, `status` names the file, and it goes on when the file is mended."""
    outside = tmp_path / "outside.md"
    bench.type("use pnpm")
    damaged(bench, kind, outside)
    before = len(bench.model.asked)
    outcome = bench.end()
    assert isinstance(outcome, Later) and str(bench.files.learned) in outcome.reason
    assert len(bench.model.asked) == before
    assert str(bench.files.learned) in bench.degraded[f"learning.file:{bench.root}"].what
    if bench.files.learned.is_dir():
        bench.files.learned.rmdir()
    else:
        bench.files.learned.unlink()
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM] and not bench.degraded
    assert not outside.exists() or outside.read_text() == "mine\n"


def test_a_read_only_learned_file_costs_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input: whoever took the permission away meant it."""
    bench.put("LEARNED.md", "# x\n")
    real = os.access
    shut = bench.files.learned
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: path != shut and real(path, mode))
        bench.type("use pnpm")
        outcome = bench.end()
    assert isinstance(outcome, Later) and outcome.reason == f"{shut} is read-only"
    assert not bench.asked(SYNTHESIS)
    bench.end()
    assert bench.bullets == [PNPM]


def test_status_names_a_learned_file_that_is_damaged_later(bench: Bench) -> None:
    """Bad input: also before the next synthesis meets it."""
    bench.learn()
    bench.files.learned.write_bytes(b"\xff\xfe")
    assert any(str(bench.files.learned) in what for what in bench.status["files_refused"])


def test_a_modules_file_that_cannot_be_spliced_stops_nothing_else(bench: Bench) -> None:
    """Bad input "nothing else stops": what is meant for it stands in LEARNED.md, and `status` says why."""
    bad = bench.put("src/learning/AGENTS.md", b"\xff\xfe\x00bad")
    placed(bench, "src/learning/AGENTS.md")
    assert bench.bullets == ["Use the event bus for hooks"] and bad.read_bytes() == b"\xff\xfe\x00bad"
    assert str(bad) in bench.degraded[f"learning.folder:{bench.root}"].what
    bad.unlink()
    bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"], "folders": ["src/learning"]}\n')
    bench.answer((SYNTHESIS, lines("Prefers tabs")))
    bench.due("synthesize", bench.project)
    assert not bench.degraded


def test_an_unmentioned_module_whose_file_is_damaged_is_found_after_the_answer(bench: Bench) -> None:
    """The same where the model names a folder that no session worked in."""
    bench.put("src/learning/AGENTS.md", "<<<<<<< HEAD\n")
    placed(bench, "src/learning/AGENTS.md", folders=())
    assert bench.bullets == ["Use the event bus for hooks"]


# --- updates ------------------------------------------------------------------------------------------------


def test_replaces_swaps_our_own_line_in_its_place(bench: Bench) -> None:
    """SPEC S-26: ours is replaced where it stands, and the old one stays in the history."""
    bench.put("LEARNED.md", "## Coding\n- mine before\n")
    bench.learn()
    bench.put("LEARNED.md", bench.learned + "- mine after\n")
    update = f"FILE: LEARNED.md\nFACT: Use bun for everything\nREPLACES: {PNPM}"
    bench.answer((SYNTHESIS, update), (EXTRACTION, "Use bun for everything"))
    bench.learn("use bun now", session="s2")
    assert bench.bullets == ["mine before", "Use bun for everything", "mine after"]
    past = bench.history.lines(bench.root)[bench.files.learned, PNPM]
    assert past.taken_at is not None


def test_replaces_leaves_a_persons_line_alone(bench: Bench) -> None:
    """SPEC S-26, S-28: what updates a person's own line is put beside it."""
    bench.put("LEARNED.md", "## Coding\n- Use npm everywhere\n")
    update = "FILE: LEARNED.md\nSECTION: Coding\nFACT: Use pnpm everywhere\nREPLACES: Use npm everywhere"
    bench.answer((SYNTHESIS, update), (EXTRACTION, "Use pnpm everywhere"))
    bench.learn()
    assert bench.bullets == ["Use npm everywhere", "Use pnpm everywhere"]


# --- orphans ------------------------------------------------------------------------------------------------


def test_orphans_of_several_projects_are_found_in_one_round(bench: Bench) -> None:
    """SPEC S-52: each project's synthesis is its own event; a live one, an excluded one and a failing one stop none."""
    places = [bench.new_project(f"p{n}") for n in range(5)]
    for place in places:
        bench.type("use pnpm", session=place.root.name, project=place)
    bench.restart()
    bench.live.add(places[0].root)
    bench.modes[places[1].root] = "off"
    (places[2].root / "LEARNED.md").mkdir()
    bench.due("recover")
    assert bench.posted == [Due("synthesize", places[n]) for n in (2, 3, 4)]
    outcomes = bench.play_posted()
    assert [type(one) for one in outcomes] == [Later, Done, Done]
    assert [(p.root / "LEARNED.md").is_file() for p in places] == [False, False, False, True, True]


def test_a_claimed_file_of_a_dead_daemon_is_an_orphan_too(bench: Bench) -> None:
    """SPEC S-52: also where nothing but an earlier commit tells of the project."""
    bench.learn()
    bench.put("tmp/learning-raw.0001.processing.jsonl", '{"facts": ["Prefers tabs"]}\n')
    bench.restart()
    bench.answer((SYNTHESIS, lines("Prefers tabs")))
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM, "Prefers tabs"] and not bench.claimed


def test_facts_of_which_somebody_cleaned_tmp_are_written_again(bench: Bench) -> None:
    """DESIGN "One way through": `tmp/` is a projection; recovery knows of them from the log."""
    bench.type("use pnpm")
    bench.files.raw.unlink()
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM]


@pytest.mark.parametrize("odd", ["fifo", "link"])
def test_an_odd_claimed_file_is_not_read(bench: Bench, tmp_path: Path, odd: str) -> None:
    """DESIGN "Hints and truth": a FIFO or a link under a name of ours hangs nothing and leads nowhere."""
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"facts": ["Never seen"]}\n')
    path = bench.put("tmp/x", "").with_name("learning-raw.0.processing.jsonl")
    os.mkfifo(path) if odd == "fifo" else path.symlink_to(secret)
    bench.learn()
    assert bench.bullets == [PNPM] and "Never seen" not in bench.asked(SYNTHESIS)[0]


def test_an_excluded_projects_facts_wait_and_cost_nothing(bench: Bench) -> None:
    """Issue "tacitd exclude": from that moment on; taken back, they are made lines of."""
    bench.type("use pnpm")
    bench.modes[bench.root] = "off"
    assert bench.end() == Done() and not bench.asked(SYNTHESIS) and not bench.files.learned.exists()
    del bench.modes[bench.root]
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM]


def test_no_line_and_no_batch_is_written_twice_by_a_second_claim_in_the_same_moment(bench: Bench) -> None:
    """SPEC S-22: a claimed file that waits is not overwritten by the next, whatever the clock says."""
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")), ("pnpm please", PNPM), (EXTRACTION, SHORT))
    bench.type("pnpm please")
    bench.end()
    bench.type("short answers", session="s2")
    bench.end("s2")
    assert len(bench.claimed) == 2
    bench.answer((SYNTHESIS, lines(PNPM, SHORT)))
    bench.end("s2")
    assert bench.bullets == [PNPM, SHORT] and not bench.claimed


def test_directives_are_known_in_a_synthesis_too(bench: Bench) -> None:
    """SPEC S-06."""
    path = bench.box / "coding.md"
    path.write_text("- Use pnpm, never npm\n")
    bench.directives = [path]
    bench.restart()
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [PNPM]}) + "\n")
    bench.due("synthesize", bench.project)
    assert not bench.asked(SYNTHESIS) and not bench.asked(SUMMARY)


# --- secrets ------------------------------------------------------------------------------------------------

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123"


@pytest.mark.parametrize("where", ["LEARNED.md", "src/AGENTS.md", "folder", "fact"])
def test_no_secret_leaves_the_machine_with_a_synthesis(bench: Bench, where: str) -> None:
    """ANCHORS P15: whatever text goes along, secrets are blanked; the file itself keeps every byte."""
    folder = f"src/{TOKEN}" if where == "folder" else "src"
    (bench.root / folder).mkdir(parents=True)
    if where.endswith(".md"):
        bench.put(where, f"- The token: {TOKEN}\n- Use tabs\n")
    facts = [PNPM, *([f"Key {TOKEN}"] if where == "fact" else [])]
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": facts, "folders": [folder]}) + "\n")
    bench.due("synthesize", bench.project)
    prompt = bench.asked(SYNTHESIS)[0]
    assert "ghp_" not in prompt and ("[secret]" in prompt) == (where != "fact") and PNPM in prompt
    if where.endswith(".md"):
        assert f"- The token: {TOKEN}\n- Use tabs\n" in (bench.root / where).read_text()


def test_a_secret_at_the_cut_is_not_halved(bench: Bench) -> None:
    """ANCHORS P15: blanked before the file is cut for the prompt."""
    bench.put("LEARNED.md", "x" * (synthesize.EXISTING_LIMIT - 20) + f" {TOKEN}\n")
    bench.learn()
    assert "ghp_" not in bench.asked(SYNTHESIS)[0]


def test_a_blanked_line_that_the_model_says_again_is_not_new(bench: Bench) -> None:
    """Issue "no duplicate": and a line that cannot be named cannot be replaced either (SPEC S-26)."""
    bench.put("LEARNED.md", f"## Coding\n- The token: {TOKEN}\n")
    again = lines("The token: [secret]") + "\n\n" + lines(PNPM) + "\nREPLACES: The token: [secret]"
    bench.answer((SYNTHESIS, again), (EXTRACTION, PNPM))
    bench.learn()
    assert bench.bullets == [f"The token: {TOKEN}", PNPM]


def test_our_line_is_still_replaced(bench: Bench) -> None:
    """SPEC S-26: blanking leaves the other lines as they are, so REPLACES finds them."""
    bench.learn()
    bench.files.learned.write_text(bench.learned + f"- The token: {TOKEN}\n")
    bench.answer(
        (SYNTHESIS, lines("Use bun, never npm") + f"\nREPLACES: {PNPM}"), (EXTRACTION, "Use bun, never npm")
    )
    bench.learn("use bun", session="s2")
    assert bench.bullets == ["Use bun, never npm", f"The token: {TOKEN}"]


def test_facts_of_other_tools_with_a_secret_are_counted_once(bench: Bench) -> None:
    """SPEC S-21, S-67: they vanish, but not without a trace; a retry counts nothing twice."""
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [f"Key {TOKEN}", PNPM]}) + "\n")
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")))
    bench.due("synthesize", bench.project)
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.due("synthesize", bench.project)
    assert bench.status["skipped"] == {"looks like a secret": 1} and TOKEN not in json.dumps(bench.status)
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [f"Key {TOKEN}"]}) + "\n")
    bench.due("synthesize", bench.project)
    bench.restart()
    assert bench.status["skipped"] == {"looks like a secret": 2}
