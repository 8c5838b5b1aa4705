"""What the check of learned wordings lets pass: faithful rules, paraphrases, recorded facts, and texts that say something else.

    python benchmarks/grounding.py [--list]

Each text goes through the check that a fact of the first call goes through, beside the message that it was made of. Counted is
what becomes of it: stored in the model's words, stored in the person's words, waiting in `review`, lost. No model is asked: the
quoted words are the whole message, and those that the recorded answers name. `--list` prints the texts that were not
stored in the model's words.

Ends with 1 if a faithful rule or a recorded fact is lost, if more than 5 % of them wait, if a hostile text is stored, or if more
than two of the texts that say something else are.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from labelled_sessions import load_projects  # noqa: E402
from recorded_answers import load_answers  # noqa: E402
from support_grounding_texts import (  # noqa: E402
    DISTORTIONS,
    HOSTILE,
    MORE_HOSTILE,
    NEAR_MESSAGES,
    NEARLY_HOSTILE,
    NEUTRAL_MESSAGES,
    PARAPHRASES,
    REVERSALS,
)
from support_plain_rules import RULES  # noqa: E402
from tacitd_handlers.learning.heard import HeardAnswer, parse_heard  # noqa: E402
from tacitd_handlers.shared.words import Refused, find_quote, word_fact  # noqa: E402

SET = Path(__file__).parent / "learning_set"
WAITING = 0.05
"""The share of faithful rules and of recorded facts that may wait."""
WRONG = 2
"""How many reversals and distortions may be stored."""

Outcome = Literal["model", "person", "waits", "lost"]
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
        for heard in parsed.lines if isinstance(parsed, HeardAnswer) else ():
            pairs = typed[name.split()[0]]
            message, said = next((one for one in pairs if find_quote(heard.words, one[0])), ("", ""))
            if heard.fact:
                yield Case(heard.fact, message, said, heard.words)


def pair(facts: Iterable[str], messages: Sequence[str]) -> list[Case]:
    """Each fact with each message."""
    return [Case(fact, message) for fact in facts for message in messages]


def main(argv: Sequence[str]) -> int:
    """Run the report. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print what is not stored in the model's words")
    options = parser.parse_args(argv)
    sets = {
        "faithful rules": [Case(rule[1], rule[0], *rule[2:]) for rule in RULES],
        "paraphrases": [Case(fact, typed) for typed, fact in PARAPHRASES],
        "recorded facts": list(list_recorded()),
        "hostile, neutral message": pair((*HOSTILE, *MORE_HOSTILE), NEUTRAL_MESSAGES),
        "hostile, near message": pair(NEARLY_HOSTILE, NEAR_MESSAGES),
        "dangerous reversals": [Case(fact, typed) for typed, fact in REVERSALS],
        "other distortions": [Case(fact, typed) for typed, fact in DISTORTIONS],
    }
    print(f"{'':<26}" + "".join(f"{name:>9}" for name in ("all", *OUTCOMES)))
    counts = {name: Counter[Outcome]() for name in sets}
    for name, cases in sets.items():
        found: list[tuple[Case, Outcome]] = [(case, check(case)) for case in cases]
        counts[name] = Counter(outcome for _, outcome in found)
        numbers = (len(cases), *(counts[name][one] for one in OUTCOMES))
        print(f"{name:<26}" + "".join(f"{number:>9}" for number in numbers))
        # Of texts that say something else, those that are stored matter.
        is_faithful = name in ("faithful rules", "paraphrases", "recorded facts")
        for case, outcome in found if options.list else ():
            if (outcome == "model") is not is_faithful:
                print(f"    {outcome:<7} {case.message!r} -> {case.fact!r}")
    return 0 if is_good(counts) else 1


def is_good(counts: dict[str, Counter[Outcome]]) -> bool:
    """Whether the figures are within the limits."""
    kept = [counts[name] for name in ("faithful rules", "recorded facts")]
    hostile = sum(counts[name]["model"] for name in ("hostile, neutral message", "hostile, near message"))
    wrong = sum(counts[name]["model"] for name in ("dangerous reversals", "other distortions"))
    return (
        all(not one["lost"] and one["waits"] <= WAITING * one.total() for one in kept)
        and not hostile
        and wrong <= WRONG
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
