"""Stage 2 on the bench: waiting facts are written as lines once, and the user's bytes are not changed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SUMMARY, SYNTHESIS, Bench, lines
from tacitd.events import Due
from tacitd.files.disk import RealDisk
from tacitd.handler import Done, Later
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd_handlers.learning import synthesize
from tacitd_handlers.learning.numbered import split_facts

PERSONS = b"# My file\r\n\r\nI wrote this.  \r\n\r\n## Coding\r\n*  mine\t\r\n\r\n<!-- keep -->\r\n## Other\r\ntext\r\n"


# --- from facts to lines --------------------------------------------------------------------------------------


def test_facts_become_lines_the_summary_is_made_and_the_raw_file_is_gone(bench: Bench) -> None:
    """SPEC S-27, S-32: the file has seed 003's form; then the summary is written, and raw and claimed files are removed."""
    bench.learn()
    assert bench.learned == f"# Learned Preferences\n\n## Coding\n- {PNPM}\n"
    assert PNPM in bench.files.summary_file.read_text()
    assert not bench.files.raw_file.exists() and not bench.claimed
    assert bench.status["total"] == {"seen": 1, "asked": 1, "facts": 1, "lines": 1}
    assert bench.status["facts_waiting"] == {} and not bench.degraded


def test_the_claim_leaves_the_raw_file_to_others(bench: Bench) -> None:
    """SPEC S-22: facts that another tool appends during the call are in a new file, and are not lost."""

    def say(ask: ModelRequest) -> str:
        assert not bench.files.raw_file.exists() and len(bench.claimed) == 1
        bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"]}\n')
        return lines(PNPM)

    bench.answer((SYNTHESIS, say), (EXTRACTION, PNPM))
    bench.learn()
    assert bench.bullets == [PNPM] and [line.facts for line in bench.raw] == [("Prefers tabs",)]


def test_lines_of_other_tools_are_facts_like_ours(bench: Bench) -> None:
    """SPEC S-02: the seed's two keys are enough."""
    bench.put("tmp/learning-raw.jsonl", '{"ts": "2025-12-17T01:50:00Z", "facts": ["Use pnpm, never npm"]}\n')
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM] and not bench.files.raw_file.exists()


def test_a_bad_raw_line_is_put_in_quarantine_once_and_stops_nothing(bench: Bench) -> None:
    """SPEC S-21: bad lines are kept and shown in `status` until a file without any is handled."""
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
    assert not bench.model.asked and not bench.files.raw_file.exists()


def test_every_byte_of_a_persons_text_is_kept(bench: Bench) -> None:
    """SPEC S-28: one line is put under its heading, with the file's own newlines; all other bytes stay."""
    bench.put("LEARNED.md", PERSONS)
    bench.learn()
    after = bench.files.learned_file.read_bytes()
    assert after == PERSONS.replace(b"*  mine\t\r\n", b"*  mine\t\r\n" + f"* {PNPM}\r\n".encode())


def test_the_same_facts_again_change_no_byte(bench: Bench) -> None:
    """SPEC S-29: a second pass changes no byte."""
    bench.learn()
    before = {p: p.read_bytes() for p in bench.root.rglob("*") if p.is_file() and ".git" not in p.parts}
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": ["use pnpm and never npm", PNPM]}) + "\n")
    bench.answer((SYNTHESIS, lines("Use pnpm, never npm")))
    bench.due("synthesize", bench.project)
    after = {p: p.read_bytes() for p in bench.root.rglob("*") if p.is_file() and ".git" not in p.parts}
    assert after == before


def test_facts_that_are_known_by_now_cost_no_call(bench: Bench) -> None:
    """SPEC S-06: lines of other tools are compared with the documents, and known ones are not paid for."""
    bench.put("LEARNED.md", f"- {PNPM}\n")
    bench.put("AGENTS.md", "Always keep answers short.\n")
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [PNPM, "Always keep answers short"]}) + "\n")
    bench.due("synthesize", bench.project)
    assert not bench.model.asked and not bench.files.raw_file.exists() and bench.bullets == [PNPM]


def test_a_statement_that_is_no_bullet_counts_as_said(bench: Bench) -> None:
    """SPEC S-06: the user's LEARNED.md may contain sentences."""
    bench.answer((SYNTHESIS, lines("Keep answers short.")), (EXTRACTION, SHORT))
    bench.type("short answers")
    bench.put("LEARNED.md", "Keep answers short. That matters to me.\n")
    bench.end()
    assert bench.bullets == []


def test_nothing_new_leaves_no_file(bench: Bench) -> None:
    """An empty result creates no file; the raw file is removed, and a restart is possible."""
    bench.answer((SYNTHESIS, "NONE"), (EXTRACTION, PNPM))
    bench.learn()
    assert not bench.files.learned_file.exists() and not bench.files.raw_file.exists()
    bench.restart()
    assert bench.status["facts_waiting"] == {} and not bench.files.raw_file.exists()


def test_two_sessions_of_one_project_are_merged(bench: Bench) -> None:
    """SPEC S-53: the first end handles the facts of both sessions, the second finds none."""
    bench.answer((SYNTHESIS, lines(PNPM, SHORT)), ("pnpm please", PNPM), (EXTRACTION, SHORT))
    bench.type("pnpm please, not npm", session="s1")
    bench.type("short answers", session="s2")
    bench.end("s1")
    bench.end("s2")
    assert bench.bullets == [PNPM, SHORT] and len(bench.asked(SYNTHESIS)) == 1


def test_repeated_corrections_are_counted_for_the_model(bench: Bench) -> None:
    """SPEC S-36: a fact from two sessions is in the prompt once, with its count."""
    bench.type("use pnpm, not npm", session="s1")
    bench.type("I said pnpm, not npm", session="s2")
    bench.end("s1")
    prompt = bench.asked(SYNTHESIS)[0]
    assert re.search(rf"^1\. {PNPM} \([\d-]+, said 2 times in 2 sessions\)$", prompt, re.MULTILINE)
    assert prompt.count(PNPM) == 1


def test_very_many_facts_go_out_in_portions_and_none_is_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Priorities", 1: hundreds of facts after a scan are written without a loss."""
    words = [f"Use tool{n}x for job{n}y " + "z" * 100 for n in range(40)]
    bench.put("tmp/learning-raw.jsonl", "".join(json.dumps({"facts": [one]}) + "\n" for one in words))
    monkeypatch.setattr(synthesize, "split_facts", lambda facts: split_facts(facts, 2800))

    def say(ask: ModelRequest) -> str:
        return lines(*re.findall(r"^\d+\. (Use tool.*)$", ask.prompt, re.MULTILINE))

    bench.answer((SYNTHESIS, say))
    bench.due("synthesize", bench.project)
    assert len(bench.bullets) == 40 and len(bench.model.asked) == 2
    assert len({ask.key for ask in bench.model.asked}) == 2


def test_a_portion_that_was_paid_for_is_not_paid_for_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Consumers": if a later portion gets no answer, the answers before it are kept and not paid for again."""
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [PNPM, SHORT]}) + "\n")
    monkeypatch.setattr(synthesize, "split_facts", lambda facts: split_facts(facts, 10))
    bench.answer((f". {SHORT}", NoAnswer(Why.LIMIT, "later")), (SYNTHESIS, lines(PNPM)))
    assert isinstance(bench.due("synthesize", bench.project), Later)
    bench.answer((f". {SHORT}", lines(SHORT)), (SYNTHESIS, "never"))
    bench.due("synthesize", bench.project)
    assert bench.bullets == [PNPM, SHORT] and len(bench.model.asked) == 3


def test_a_synthesis_does_not_read_the_history_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log was read when the handler was opened, and once is enough."""
    read: list[Path] = []
    real = RealDisk.open_read

    def open_read(disk: RealDisk, path: Path) -> int:
        read.append(path)
        return real(disk, path)

    bench.learn()
    monkeypatch.setattr(RealDisk, "open_read", open_read)
    bench.answer((SYNTHESIS, lines("Prefers tabs")), (EXTRACTION, "Prefers tabs"))
    bench.learn("tabs, always", session="s2")
    assert bench.bullets == [PNPM, "Prefers tabs"]
    assert "history.jsonl" not in {path.name for path in read} and bench.files.learned_file in read


# --- updates ------------------------------------------------------------------------------------------------


def test_replaces_swaps_our_own_line_in_its_place(bench: Bench) -> None:
    """SPEC S-26: a line of ours is replaced in place, and the history keeps the old one."""
    bench.put("LEARNED.md", "## Coding\n- mine before\n")
    bench.learn()
    bench.put("LEARNED.md", bench.learned + "- mine after\n")
    update = f"FILE: LEARNED.md\nFACT: Use bun, never npm\nREPLACES: {PNPM}"
    bench.answer((SYNTHESIS, update), (EXTRACTION, "Use bun, never npm"))
    bench.learn("use bun now, never npm", session="s2")
    assert bench.bullets == ["mine before", "Use bun, never npm", "mine after"]
    past = bench.history.list_lines(bench.root)[bench.files.learned_file, PNPM]
    assert past.taken_at is not None


def test_replaces_leaves_a_persons_line_alone(bench: Bench) -> None:
    """SPEC S-26, S-28: an update of the user's own line is put in addition to it."""
    bench.put("LEARNED.md", "## Coding\n- Use npm everywhere\n")
    update = "FILE: LEARNED.md\nSECTION: Coding\nFACT: Use pnpm everywhere\nREPLACES: Use npm everywhere"
    bench.answer((SYNTHESIS, update), (EXTRACTION, "Use pnpm everywhere"))
    bench.learn()
    assert bench.bullets == ["Use npm everywhere", "Use pnpm everywhere"]


# --- orphans ------------------------------------------------------------------------------------------------


def test_orphans_of_several_projects_are_found_in_one_round(bench: Bench) -> None:
    """SPEC S-52: each project's synthesis is its own event; a live, an excluded and a failing project do not stop others."""
    places = [bench.new_project(f"p{n}") for n in range(5)]
    for place in places:
        bench.type("use pnpm, not npm", session=place.root.name, project=place)
    bench.restart()
    bench.live.add(places[0].root)
    bench.modes[places[1].root] = "off"
    (places[2].root / "LEARNED.md").mkdir()
    bench.due("recover")
    bench.posted = [one for one in bench.posted if not (isinstance(one, Due) and one.job == "mirror")]
    assert bench.posted == [Due("synthesize", places[n]) for n in (2, 3, 4)]
    outcomes = bench.play_posted()
    assert [type(one) for one in outcomes] == [Later, Done, Done]
    assert [(p.root / "LEARNED.md").is_file() for p in places] == [False, False, False, True, True]


def test_a_claimed_file_of_a_dead_daemon_is_an_orphan_too(bench: Bench) -> None:
    """SPEC S-52: it works if the project is known from an earlier commit only."""
    bench.learn()
    bench.put("tmp/learning-raw.0001.processing.jsonl", '{"facts": ["Prefers tabs"]}\n')
    bench.restart()
    bench.answer((SYNTHESIS, lines("Prefers tabs")))
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM, "Prefers tabs"] and not bench.claimed


def test_facts_of_which_somebody_cleaned_tmp_are_written_again(bench: Bench) -> None:
    """DESIGN "Consumers": the raw file is a projection; recovery finds the facts in the log."""
    bench.type("use pnpm, not npm")
    bench.files.raw_file.unlink()
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM]


@pytest.mark.parametrize("odd", ["fifo", "link"])
def test_an_odd_claimed_file_is_not_read(bench: Bench, tmp_path: Path, odd: str) -> None:
    """A FIFO or a link under the name of one of our files neither blocks nor leads out of the project."""
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"facts": ["Never seen"]}\n')
    path = bench.put("tmp/x", "").with_name("learning-raw.0.processing.jsonl")
    os.mkfifo(path) if odd == "fifo" else path.symlink_to(secret)
    bench.learn()
    assert bench.bullets == [PNPM] and "Never seen" not in bench.asked(SYNTHESIS)[0]


def test_an_excluded_projects_facts_wait_and_cost_nothing(bench: Bench) -> None:
    """An exclusion applies at once; after `--undo` the facts are written as lines."""
    bench.type("use pnpm, not npm")
    bench.modes[bench.root] = "off"
    assert bench.end() == Done() and not bench.asked(SYNTHESIS) and not bench.files.learned_file.exists()
    del bench.modes[bench.root]
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM]


def test_no_line_and_no_batch_is_written_twice_by_a_second_claim_in_the_same_moment(bench: Bench) -> None:
    """SPEC S-22: a claimed file that waits is not overwritten by the next one, whatever the clock shows."""
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")), ("pnpm please", PNPM), (EXTRACTION, SHORT))
    bench.type("pnpm please, not npm")
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
