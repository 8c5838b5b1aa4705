"""What is said again counts: in the lines' counts, in the next prompt, and once as a reworded rule (SPEC S-36, S-54).

A second session says the same in the same words, in other words, and from another folder.
"""

from __future__ import annotations

import json
import re

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.clock import utc_seconds
from tacitd.events import ToolUse
from tacitd_handlers.learning.confidence import describe_count
from tacitd_handlers.learning.inventory import list_learned

RULE = "Always use pnpm, never npm"
AGAIN, CORRECTED = f"[1] AGAIN: {PNPM}", f"[1] Corrected: AGAIN: {PNPM}"


@pytest.mark.parametrize("answer", [AGAIN, f"[1] {PNPM}", PNPM, "- use pnpm, never npm."])
def test_the_same_in_another_session_counts(told: Bench, answer: str) -> None:
    """S-54: as AGAIN, or as a fact that the comparison finds; no model call about lines is made for it."""
    told.answer((EXTRACTION, answer), (SYNTHESIS, "NONE"))
    told.learn("pnpm, please", session="s2")
    assert told.bullets == [PNPM] and told.count_said() == (2, 2, 1)
    assert len(told.asked(SYNTHESIS)) == 1


def test_again_of_a_line_that_does_not_exist_is_a_fact(bench: Bench) -> None:
    """Bad input: it is judged like any fact, so what nobody typed is refused and the rest is learned."""
    bench.answer((EXTRACTION, f"[1] AGAIN: {PNPM}\n[1] AGAIN: Deploy with `kubectl apply`"))
    bench.type("use pnpm, not npm")
    assert bench.raw[0].facts == (PNPM,)


def test_the_second_correction_makes_a_rule_once(told: Bench) -> None:
    """S-36: synthesis rewords the line at the second correction, undoably, and is not asked at the third."""
    told.answer((EXTRACTION, CORRECTED), (SYNTHESIS, lines(RULE) + f"\nREPLACES: {PNPM}\nFROM: 1"))
    told.learn("I said pnpm", session="s2")
    asked = told.asked(SYNTHESIS)[1]
    assert re.search(rf"^1\. Corrected: {PNPM} \([\d-]+, an L line, said again\)$", asked, re.MULTILINE)
    assert told.bullets == [RULE] and told.count_said(RULE) == (2, 2, 2)
    (line,) = list_learned(told.root, told.state)
    assert line.sessions == ("s1", "s2") and len(line.prompts) == 2, (
        "`why` shows the words of both corrections"
    )
    assert line.facts == (PNPM,)
    told.answer((EXTRACTION, f"[1] Corrected: AGAIN: {RULE}"), (SYNTHESIS, lines("Never npm")))
    told.learn("pnpm!", session="s3")
    assert told.bullets == [RULE] and told.count_said(RULE) == (3, 3, 3) and len(told.asked(SYNTHESIS)) == 2
    last = told.history.list_transactions(told.root)[-1]
    told.history.undo_transaction(last.id)
    assert told.bullets == [PNPM]


def test_a_rewording_that_synthesis_declines_is_not_asked_again(told: Bench) -> None:
    """S-36: the line stays as it is, with its count."""
    for session in ("s2", "s3"):
        told.answer((EXTRACTION, CORRECTED), (SYNTHESIS, "NONE"))
        told.learn("I said pnpm", session=session)
    assert told.bullets == [PNPM] and told.count_said() == (3, 3, 3) and len(told.asked(SYNTHESIS)) == 2


def test_a_rule_that_was_removed_meanwhile_is_not_written(told: Bench) -> None:
    """S-28: a line that the user deletes before the synthesis stays deleted."""
    told.answer((EXTRACTION, CORRECTED), (SYNTHESIS, lines(RULE) + f"\nREPLACES: {PNPM}\nFROM: 1"))
    told.type("I said pnpm", session="s2")
    told.files.learned_file.write_text("# Learned Preferences\n")
    told.changed(told.files.learned_file)
    told.answer((SYNTHESIS, lines(PNPM) + "\nFROM: 1"))
    told.end("s2")
    assert told.bullets == [] and "1 line that you removed" in "\n".join(told.status["says"])


def test_what_was_left_out_is_said_again(bench: Bench) -> None:
    """S-36: a correction that synthesis dropped comes with its count when it is said again, and makes a line then."""
    bench.answer((EXTRACTION, f"[1] Corrected: {PNPM}"), (SYNTHESIS, "NONE"))
    bench.learn("no, use pnpm, not npm", session="s1")
    bench.restart()
    bench.learn("pnpm, not npm, I said", session="s2")
    asked = bench.asked(SYNTHESIS)[1]
    count = "said 2 times in 2 sessions, 2 of them corrections"
    assert re.search(rf"^1\. Corrected: {PNPM} \([\d-]+, {count}\)$", asked, re.MULTILINE)
    bench.answer((EXTRACTION, "[1] Prefers npm replaced by pnpm"), (SYNTHESIS, lines(PNPM) + "\nFROM: 1, 2"))
    bench.learn("replace npm by pnpm", session="s3")
    day = utc_seconds(bench.clock.now())[:10]
    assert f"2. Corrected: {PNPM} ({day}, left out before, {count})" in bench.asked(SYNTHESIS)[2]
    assert bench.bullets == [PNPM] and bench.count_said() == (3, 3, 2)
    bench.answer((EXTRACTION, "[1] Prefers Go"), (SYNTHESIS, "NONE"))
    bench.learn("I prefer Go", session="s4")
    assert "left out before" not in bench.asked(SYNTHESIS)[3].partition("Facts, with the day")[2]


def test_from_another_folder_it_counts_for_the_modules_line(bench: Bench) -> None:
    """S-54: a fact that stands in any file of ours is a repetition there, not a second line."""
    line = "Use the event bus in handlers"
    (bench.root / "src/bus").mkdir(parents=True)
    edit = ToolUse("t1", "Edit", json.dumps({"file_path": str(bench.root / "src/bus/a.py")}).encode())
    bench.answer((EXTRACTION, f"[1] {line}"), (SYNTHESIS, lines(line, file="src/bus/AGENTS.md")))
    bench.play(
        bench.grew(bench.record("use the event bus in handlers"), bench.record(tools=[edit]), due=True)
    )
    bench.end()
    assert f"- {line}" in (bench.root / "src/bus/AGENTS.md").read_text()
    bench.answer((EXTRACTION, line), (SYNTHESIS, "NONE"))
    bench.learn("use the event bus in handlers, as I said", session="s2")
    assert bench.count_said(line) == (2, 2, 0) and bench.bullets == []


def test_a_users_own_line_has_no_count(bench: Bench) -> None:
    """S-54: tacitd counts its own lines only."""
    bench.put("LEARNED.md", f"- {PNPM}\n")
    bench.answer((EXTRACTION, CORRECTED))
    for session in ("s1", "s2"):
        bench.learn("pnpm!", session=session)
    bench.restart()
    assert not bench.handler._state.line_confidences.get(bench.root) and not bench.asked(SYNTHESIS)


@pytest.mark.parametrize(
    ("said", "sessions", "corrections", "text"),
    [
        (1, 0, 0, "said 1 time"),
        (3, 1, 0, "said 3 times in 1 session"),
        (3, 2, 1, "said 3 times in 2 sessions, 1 of them a correction"),
    ],
)
def test_a_count_in_words(said: int, sessions: int, corrections: int, text: str) -> None:
    """S-36: as `learned` and the prompt show it."""
    assert describe_count(said, sessions, corrections) == text


@pytest.mark.parametrize("sources", ["", "\nFROM: 1"])
def test_an_existing_line_that_the_synthesis_echoes_does_not_count(told: Bench, sources: str) -> None:
    """S-54, bad input: the answer has a line that none of the new facts says; a fact in other words still counts."""
    echo = lines(SHORT) + "\nFROM: 1\n\n" + lines(PNPM) + sources
    told.answer((EXTRACTION, f"[1] {SHORT}"), (SYNTHESIS, echo))
    told.learn("short answers, please", session="s2")
    assert sorted(told.bullets) == sorted([PNPM, SHORT]) and told.count_said() == (1, 1, 1)
    told.answer((EXTRACTION, "[1] Prefers pnpm for all scripts"), (SYNTHESIS, lines(PNPM) + sources))
    told.learn("I prefer pnpm for all scripts", session="s3")
    assert told.count_said() == (2, 2, 1)
