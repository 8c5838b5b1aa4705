"""The marks in Stage 1's answer, parsed and through the handler: numbers, Corrected and AGAIN."""

from __future__ import annotations

import json

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, Bench
from tacitd.handler import Done
from tacitd_handlers.learning.stage1.parse import AnswerMark, ParsedFacts, parse_facts
from tacitd_handlers.shared.answer_screening import Unusable

CORRECTED, AGAIN = AnswerMark((3,), corrected=True), AnswerMark((3,), again=True)


@pytest.mark.parametrize(
    ("answer", "facts", "marks"),
    [
        ("[3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3,))}),
        ("[3] Corrected: use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("[3] AGAIN: Use pnpm", ("Use pnpm",), {"Use pnpm": AGAIN}),
        (
            "[3] Corrected: AGAIN: Use pnpm",
            ("Use pnpm",),
            {"Use pnpm": AnswerMark((3,), corrected=True, again=True)},
        ),
        (
            "[3] AGAIN: Corrected: Use pnpm",
            ("Use pnpm",),
            {"Use pnpm": AnswerMark((3,), corrected=True, again=True)},
        ),
        ("- [3] User prefers tabs", ("Prefers tabs",), {"Prefers tabs": AnswerMark((3,))}),
        ("1. **[3]** Prefers tabs", ("Prefers tabs",), {"Prefers tabs": AnswerMark((3,))}),
        ("[1, 3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((1, 3))}),
        ("[1][3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((1, 3))}),
        ("Message 3: Corrected: use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("[1] Use pnpm\n[3] use pnpm.", ("Use pnpm",), {"Use pnpm": AnswerMark((1, 3))}),
        ("[1] NONE\n[2] none.", (), {}),
        ("[1] AGAIN:\n[2] Corrected:\n[2] Corrected: AGAIN: \n[3] **Corregido**", (), {}),
        ("[1] NONE\n[2] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((2,))}),
        ("[3] Again: Use pnpm", ("Use pnpm",), {"Use pnpm": AGAIN}),
        ("AGAIN: [3] Use pnpm", ("Use pnpm",), {"Use pnpm": AGAIN}),
        ("Corrected: [3] use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("【3】 Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3,))}),
        ("[3] AGAIN use pnpm", ("AGAIN use pnpm",), {"AGAIN use pnpm": AnswerMark((3,))}),
        ("Again and again, use pnpm", ("Again and again, use pnpm",), {}),
        ("[] Use pnpm", ("[] Use pnpm",), {}),
        ("[3-5] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3, 4, 5))}),
        ("[3–4] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3, 4))}),
        ("[1, 3-4] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((1, 3, 4))}),
        ("[1 and 3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((1, 3))}),
        ("[Message 3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3,))}),
        ("[Messages 3 and 4] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3, 4))}),
        ("[message 3]: Corrected: use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("Messages 1-2: Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((1, 2))}),
        ("[#3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((3,))}),
        ("[5-3] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark((5, 3))}),
        ("[1-999] Use pnpm", ("Use pnpm",), {"Use pnpm": AnswerMark(tuple(range(1, 100)))}),
        ("[2024-05] is a month", ("[2024-05] is a month",), {}),
        ("[3] Korrigiert: use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("[3] Corregido: use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("[3] Corrigé : use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        ("[3] 訂正：pnpmを使う", ("pnpmを使う",), {"pnpmを使う": CORRECTED}),
        ("[3] **Corrección:** use pnpm", ("Use pnpm",), {"Use pnpm": CORRECTED}),
        (
            "[3] Korrigierte Texte sind grün",
            ("Korrigierte Texte sind grün",),
            {"Korrigierte Texte sind grün": AnswerMark((3,))},
        ),
    ],
)
def test_marks_are_taken_off(answer: str, facts: tuple[str, ...], marks: dict[str, AnswerMark]) -> None:
    """S-01: facts are free of marks, whatever a model puts around them."""
    assert parse_facts(answer) == ParsedFacts(facts, marks=marks)


def test_again_without_a_colon_marks_only_a_known_line() -> None:
    """S-01: in capitals, and in front of the words of a line that is written."""
    known = ["Use pnpm, never npm"]
    for answer in ("[3] AGAIN Use pnpm, never npm", "AGAIN - [3] Use pnpm, never npm"):
        assert parse_facts(answer, known=known) == ParsedFacts((known[0],), marks={known[0]: AGAIN})
    for fact in ("AGAIN runs a command twice", "Again use pnpm, never npm"):
        assert parse_facts(fact, known=known) == ParsedFacts((fact,))


@pytest.mark.parametrize(
    "first", ["I'm unable to use sudo on this machine", "As an AI startup we keep all data in the EU"]
)
def test_a_fact_that_begins_like_a_refusal(first: str) -> None:
    """S-03: an answer with a marked fact is no refusal."""
    assert parse_facts(f"{first}\n[1] Use ruff") == ParsedFacts(
        (first, "Use ruff"), marks={"Use ruff": AnswerMark((1,))}
    )
    sorry = parse_facts("I'm sorry, I can't help with the rest.\n[1] Use ruff")
    assert isinstance(sorry, ParsedFacts) and sorry.facts == ("Use ruff",) and sorry.commentary == 1
    for answer in ("I'm unable to extract anything.\n[1] NONE", "I'm sorry, I can't help with that."):
        assert isinstance(parse_facts(answer), Unusable)


@pytest.mark.parametrize(
    "fact",
    [
        "The request has to be signed before it is sent",
        "The input is always UTF-8",
        "The message is sent with a correlation id",
        "Based on Debian, so install packages with apt",
        "The following order matters: tests, then code",
        "These are integration tests, run them serially",
        "Here is where migrations live",
        "The conversation store is append-only",
        "This text is shown to customers, write it in German",
        "Note that the above limit is per tenant",
        "These messages are queued in Kafka",
        "The messages are stored in new preferences table",
        "The request is rejected if the user wrote no message; these messages are logged",
    ],
)
def test_a_true_fact_is_no_chatter(fact: str) -> None:
    """S-03: such lines were dropped as remarks about the message."""
    for answer in (fact, f"[2] {fact}", f"- {fact}\n- Use pnpm"):
        parsed = parse_facts(answer)
        assert isinstance(parsed, ParsedFacts) and fact in parsed.facts and not parsed.commentary


@pytest.mark.parametrize(
    "remark",
    [
        "Here are the extracted facts:",
        "Here are the new facts from these messages",
        "The user's message contains two preferences.",
        "This message has no extractable opinions.",
        "These are the facts I found.",
        "I have extracted the following preferences.",
        "Let me know if you need more.",
        "I hope this helps.",
        "Coding preferences:",
    ],
)
def test_a_remark_about_the_task_is_left_out_and_counted(remark: str) -> None:
    """S-03, DESIGN "Priorities", 3: what is dropped shows in `status`."""
    parsed = parse_facts(f"{remark}\n- Use pnpm")
    assert isinstance(parsed, ParsedFacts)
    assert (parsed.facts, parsed.commentary) == (("Use pnpm",), 1)


def test_a_line_without_a_number_in_a_marked_answer() -> None:
    """S-03: it is judged like any other: a remark about the task is left out, and a fact that begins like one is kept."""
    signed = "The request has to be signed"
    parsed = parse_facts(f"Based on what was typed\n[1] Use pnpm\nPrefers tabs\n{signed}")
    assert isinstance(parsed, ParsedFacts)
    assert (parsed.facts, parsed.commentary) == (("Use pnpm", "Prefers tabs", signed), 1)


@pytest.mark.parametrize(
    "fact",
    [
        "I don't see the point of mocks",
        "I do not have a Windows machine",
        "I won't do code reviews on Friday",
    ],
)
def test_an_opinion_is_no_refusal(fact: str) -> None:
    """S-23: an answer that begins with an opinion in the first person is usable."""
    parsed = parse_facts(f"{fact}\nUse pnpm")
    assert isinstance(parsed, ParsedFacts) and parsed.facts == (fact, "Use pnpm")


# --- through the handler ------------------------------------------------------------------------------------


def test_marks_are_stored_beside_the_facts(bench: Bench) -> None:
    """S-02: the raw line has the facts free of marks, and the marks in a field of their own, also after a restart."""
    bench.answer((EXTRACTION, f"[2] Corrected: {PNPM}\n[1] {SHORT}\n[7] Prefers tabs"))
    records = [bench.record("short answers please, tabs"), bench.record("no, use pnpm, not npm")]
    assert isinstance(bench.play(bench.grew(*records, due=True)), Done)
    made = json.loads(bench.files.raw_file.read_text())
    assert made["facts"] == [PNPM, SHORT, "Prefers tabs"]
    assert made["marks"] == [{"of": ["u2"], "corrected": True}, {"of": ["u1"]}, {}], "7 is no message of ours"
    bench.files.raw_file.unlink()
    bench.restart()
    assert json.loads(bench.files.raw_file.read_text())["marks"] == made["marks"]


@pytest.mark.parametrize(
    ("answer", "prompts"),
    [
        (f"[1] {PNPM}", ["u2"]),
        (f"[1, 2] {PNPM}", ["u1", "u2"]),
        ("[1] Use pnpm in all packages", ["u1"]),
        ("[2] Make the login page blue", ["u2"]),
    ],
)
def test_a_wrong_number_is_corrected(bench: Bench, answer: str, prompts: list[str]) -> None:
    """S-36: only if the fact's words are those of another message and none of the named one's."""
    bench.answer((EXTRACTION, answer))
    records = [bench.record("the login page must be blue"), bench.record(f"please {PNPM.lower()}")]
    bench.play(bench.grew(*records, due=True))
    assert json.loads(bench.files.raw_file.read_text())["marks"] == [{"of": prompts}]


def test_an_answer_without_marks_still_works(bench: Bench) -> None:
    """S-01: a model that ignores the marks; the raw line has no field for them."""
    bench.answer((EXTRACTION, f"- {PNPM}\n- {SHORT}"))
    bench.type("use pnpm, not npm; short answers")
    made = json.loads(bench.files.raw_file.read_text())
    assert made["facts"] == [PNPM, SHORT] and "marks" not in made


def test_dropped_remarks_are_counted_in_status(bench: Bench) -> None:
    """S-03: number and reason, never the text."""
    bench.answer((EXTRACTION, f"Here are the new facts:\n[1] {PNPM}"))
    bench.type("use pnpm, not npm")
    assert bench.status["skipped"] == {"remarks of the model about its task": 1}
    assert "1 line of answers was left out: remarks of the model about its task" in bench.status["says"]


def test_facts_are_asked_for_in_the_language_of_learned_md(bench: Bench) -> None:
    """S-01: English where it is empty, otherwise the language of its lines."""
    bench.type("use pnpm, not npm")
    bench.put(
        "LEARNED.md", "# Learned Preferences\n\n## Coding\n- Immer pnpm benutzen, nie npm\n- Keine Emojis\n"
    )
    bench.type("noch etwas")
    first, second = bench.asked(EXTRACTION)
    assert "Write facts in English" in first and "Write facts in German" in second
