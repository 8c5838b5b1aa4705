"""What the check of learned wordings lets pass: faithful rules, paraphrases, recorded facts, and texts that say something else.

    python benchmarks/grounding.py [--list]

Each text goes through the check that a fact of the first call goes through, beside the message that it was made of, or through the
plan of a synthesis, which gets it as a line that is made of one fact. Counted is what becomes of it: stored in the model's words,
stored in the person's words, waiting in `review`, lost. No model is asked: the quoted words are the whole message, and those that
the recorded answers name. `--list` prints the texts that were not stored in the model's words.

Ends with 1 if a faithful rule, a recorded fact or a recorded line is lost, if more than 5 % of them wait, if a hostile text is
stored, or if more than two of the texts that say something else are.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from labelled_sessions import load_projects  # noqa: E402
from recorded_answers import load_answers  # noqa: E402
from support_grounding_texts import (  # noqa: E402
    CORRECTIONS,
    DISTORTIONS,
    HOSTILE,
    LOSSES,
    MORE_HOSTILE,
    NEAR_MESSAGES,
    NEARLY_HOSTILE,
    NEUTRAL_MESSAGES,
    PARAPHRASES,
    REVERSALS,
    TURNED_ROUND,
)
from support_plain_rules import RULES  # noqa: E402
from tacitd_handlers.learning.answers import (  # noqa: E402
    ExistingLine,
    NumberedFact,
    Proposal,
    parse_heard,
)
from tacitd_handlers.learning.plan import FileNow, Situation, plan_lines  # noqa: E402
from tacitd_handlers.reach.client_rules import LEARNED  # noqa: E402
from tacitd_handlers.shared.words import Refused, find_quote, word_fact  # noqa: E402

SET = Path(__file__).parent / "learning_set"
WAITING = 0.05
"""The share of faithful rules and of recorded facts that may wait."""
WRONG = 2
"""How many reversals and distortions may be stored."""

Outcome = Literal["model", "person", "waits", "lost"]
_FACT = re.compile(r"(\d+)\. (?:Corrected: )?(.*?)(?: \((\d{4}-\d\d-\d\d)[^()]*\))?")
_LINE = re.compile(r"([LP]\d+)\. (.*)")
TYPED_AT = 1_795_302_000.0
"""When the messages were typed: seconds since 1970, UTC."""
OUTCOMES: tuple[Outcome, ...] = ("model", "person", "waits", "lost")


@dataclass(frozen=True, slots=True)
class Case:
    """A fact, and what it was made of."""

    fact: str
    message: str
    context: str = ""
    words: str = ""
    """What the answer quotes; "" for the whole message."""


def check(case: Case) -> Outcome:
    """What becomes of a fact."""
    found = word_fact(case.fact, case.words or case.message, case.message, (case.context,), TYPED_AT)
    if isinstance(found, Refused):
        return "waits" if found.waits else "lost"
    return found.by


def list_recorded() -> Iterator[Case]:
    """The facts of the recorded answers of the labelled set, without repetitions of known ones.

    An answer numbers the messages of its call, so its words are looked up in the session.
    """
    typed: dict[str, list[tuple[str, str]]] = {}
    for project in load_projects(SET / "sessions"):
        for session in project.sessions:
            said = ""
            pairs = typed.setdefault(session.id, [])
            for step in session.steps:
                if step.kind == "said":
                    said = f"{said}\n{step.text}"
                elif step.kind == "typed":
                    pairs.append((step.text, said))
                    said = ""
    newest = {one.name: one for one in load_answers(SET / "answers.jsonl") if one.kind == "extraction"}
    for name, recorded in newest.items():
        answer = "\n".join(line for line in recorded.answer.splitlines() if not line.startswith("PROFILE"))
        parsed = parse_heard(answer)
        for heard in filter(None, parsed if isinstance(parsed, tuple) else ()):
            pairs = typed[name.split()[0]]
            message, said = next((one for one in pairs if find_quote(heard.words, one[0])), ("", ""))
            if heard.fact:
                yield Case(heard.fact, message, said, heard.words)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that a synthesis proposes."""

    text: str
    facts: tuple[str, ...]
    replaces: tuple[str, ...] = ()
    """Lines of tacitd whose place it takes."""
    at: float = TYPED_AT
    """When the first fact was typed."""


def check_line(line: Line) -> Outcome:
    """What becomes of a line: "person" if its facts are written in its place, or stand there."""
    facts = tuple(NumberedFact(text, at=line.at) for text in line.facts)
    replaces = tuple(ExistingLine(LEARNED, "Coding", text, is_ours=True) for text in line.replaces)
    files = {LEARNED: FileNow(line.replaces, (), frozenset(line.replaces))}
    plan = plan_lines([Proposal(LEARNED, "Coding", line.text, facts, replaces)], Situation(files))
    if not plan.lines:
        return "person" if plan.known else "lost"  # a known line stays as it is
    return "model" if [one.text for one in plan.lines] == [line.text] else "person"


def list_recorded_lines() -> Iterator[Line]:
    """The lines of the recorded answers of the labelled set."""
    for recorded in load_answers(SET / "answers.jsonl"):
        facts = {int(found[1]): found for text in recorded.lines if (found := _FACT.fullmatch(text))}
        lines = {found[1]: found[2] for text in recorded.lines if (found := _LINE.fullmatch(text))}
        for answer in recorded.answer.splitlines() if recorded.kind == "synthesis" else ():
            if answer.startswith("{"):
                given = json.loads(answer)
                named = [facts[number] for number in given["FROM"]]
                day = next((found[3] for found in named if found[3]), "2026-11-22")
                at = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
                replaces = tuple(lines[number] for number in given.get("REPLACES", ()))
                yield Line(given["FACT"], tuple(found[2] for found in named), replaces, at)


def pair(facts: Iterable[str], messages: Sequence[str]) -> list[Case]:
    """Each fact with each message."""
    return [Case(fact, message) for fact in facts for message in messages]


def main(argv: Sequence[str]) -> int:
    """Run the report. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print what is not stored in the model's words")
    options = parser.parse_args(argv)
    sets: dict[str, Sequence[Case | Line]] = {
        "faithful rules": [Case(rule[1], rule[0], *rule[2:]) for rule in RULES],
        "paraphrases": [Case(fact, typed) for typed, fact in PARAPHRASES],
        "corrections": [Case(fact, typed) for typed, fact in CORRECTIONS],
        "recorded facts": list(list_recorded()),
        "hostile, neutral message": pair((*HOSTILE, *MORE_HOSTILE), NEUTRAL_MESSAGES),
        "hostile, near message": pair(NEARLY_HOSTILE, NEAR_MESSAGES),
        "dangerous reversals": [Case(fact, typed) for typed, fact in REVERSALS],
        "corrections turned round": [Case(fact, typed) for typed, fact in TURNED_ROUND],
        "other distortions": [Case(fact, typed) for typed, fact in DISTORTIONS],
        "recorded lines": list(list_recorded_lines()),
        "hostile lines": [
            Line(text, (fact,)) for text in (*HOSTILE, *MORE_HOSTILE) for fact in NEUTRAL_MESSAGES
        ],
        "nearly hostile lines": [Line(text, (fact,)) for text in NEARLY_HOSTILE for fact in NEAR_MESSAGES],
        "reversed lines": [Line(text, (fact,)) for fact, text in (*REVERSALS, *DISTORTIONS, *LOSSES)],
    }
    print(f"{'':<26}" + "".join(f"{name:>9}" for name in ("all", *OUTCOMES)))
    counts = {name: Counter[Outcome]() for name in sets}
    for name, cases in sets.items():
        found: list[tuple[Case | Line, Outcome]] = [
            (one, check(one) if isinstance(one, Case) else check_line(one)) for one in cases
        ]
        counts[name] = Counter(outcome for _, outcome in found)
        numbers = (len(cases), *(counts[name][one] for one in OUTCOMES))
        print(f"{name:<26}" + "".join(f"{number:>9}" for number in numbers))
        # Of texts that say something else, those that are stored matter.
        is_faithful = name in (
            "faithful rules",
            "paraphrases",
            "corrections",
            "recorded facts",
            "recorded lines",
        )
        for case, outcome in found if options.list else ():
            if (outcome == "model") is not is_faithful:
                print(f"    {outcome:<7} {describe(case)}")
    return 0 if is_good(counts) else 1


def describe(case: Case | Line) -> str:
    """What a text was made of, and the text."""
    if isinstance(case, Case):
        return f"{case.message!r} -> {case.fact!r}"
    return f"{'; '.join((*case.facts, *case.replaces))!r} -> {case.text!r}"


def is_good(counts: dict[str, Counter[Outcome]]) -> bool:
    """Whether the figures are within the limits."""
    kept = [counts[name] for name in ("faithful rules", "corrections", "recorded facts", "recorded lines")]
    hostile = sum(counts[name]["model"] for name in counts if "hostile" in name)
    wrong = sum(
        counts[name]["model"]
        for name in ("dangerous reversals", "corrections turned round", "other distortions")
    )
    wrong = max(wrong, counts["reversed lines"]["model"])
    return (
        all(not one["lost"] and one["waits"] <= WAITING * one.total() for one in kept)
        and not hostile
        and wrong <= WRONG
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
