"""What a learner's short answer means: a choice of the quiz, the way through the prerequisites, yes or no. Pure.

The tutor's questions are in English or in the learner's language, so the words of both sides are few and exact; everything
that is not understood is left to the caller.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from tacitd_handlers.tutor.session_model import Question

LETTERS = "ABCDEFGH"
"""Letters of the choices, in order."""
_LETTER = re.compile(r"[(\[]?([A-Ha-h])[)\].:]?")
_LETTER_AND_TEXT = re.compile(r"[(\[]?([A-Ha-h])[)\].:]\s*(\S.*)", re.DOTALL)
_YES = {"y", "yes", "yeah", "yep", "sure", "ok", "okay", "please", "yes please", "ja", "oui", "si", "sí"}
_SKIP = {"skip", "neither", "none", "no", "nothing", "skip it", "skip them", "start", "next"}


def normalise_answer(text: str) -> str:
    """The text without case, width, surrounding quotes, final full stops and repeated spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(plain.split()).strip("\"'`“”‘’ ").rstrip(".!").strip()


def find_choice(question: Question, text: str) -> int | None:
    """The index of the choice that the text names by its letter, by its text, or by both; None if it names none."""
    said = text.strip()
    both = _LETTER_AND_TEXT.fullmatch(said)
    if said in question.choices:
        return question.choices.index(said)
    # Two choices may differ in case or quotes only (`HEAD` and `head`): then only a letter or the exact text names one.
    alike = [
        at for at, choice in enumerate(question.choices) if normalise_answer(choice) == normalise_answer(said)
    ]
    if len(alike) == 1:
        return alike[0]
    letter = _LETTER.fullmatch(said) or both
    if letter is None:
        return None
    at = LETTERS.index(letter[1].upper())
    if at >= len(question.choices):
        return None
    if both is not None and normalise_answer(both[2]) != normalise_answer(question.choices[at]):
        return None  # the letter and the text name different choices
    return at


def judge_choice(question: Question, text: str) -> bool | None:
    """Whether the text names the choice that is the key; None if this is not decided by a choice."""
    if question.kind != "mcq":
        return None
    given, key = find_choice(question, text), find_choice(question, question.answer)
    if given is None or key is None:
        return None
    return given == key


def format_choice(question: Question, text: str) -> str:
    """A choice as `B) its text`; the text as it is if it names none."""
    at = find_choice(question, text) if question.kind == "mcq" else None
    return text if at is None else f"{LETTERS[at]}) {question.choices[at]}"


def parse_route(text: str) -> Literal["quiz", "summary", "skip"] | None:
    """What the learner wants of the prerequisites; None if it is not clear (SPEC T-08, T-10)."""
    said = normalise_answer(text).removesuffix(" please").strip(" ,")
    if said in _SKIP:
        return "skip"
    words = set(re.findall(r"\w+", said))
    if words & {"not", "no", "don", "dont", "without"}:
        return None
    quiz, summary = words & {"quiz", "q"}, words & {"summary", "s", "recap", "summarize", "summarise"}
    if bool(quiz) == bool(summary):
        return "skip" if "skip" in words and not quiz else None
    return "quiz" if quiz else "summary"


def is_yes(text: str) -> bool:
    """Whether the answer to an offer is yes. Everything else is no, so that an offer never blocks."""
    return normalise_answer(text) in _YES
