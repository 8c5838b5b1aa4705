"""Whether the messages of a batch show that a line was said again, so that an answer of the model alone does not count (SPEC S-54). Pure.

A line counts as said again if one of the messages that the answer names, or any message if it names none, has a content
word of it and does not order the contrary. Words cannot decide this for a message in another language, for "not again!",
which is about what the assistant did, and for "be brief, as I said", which names itself a repetition. There the answer
counts, but only once in a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.learning.prompt_templates import PromptMessage
from tacitd_handlers.shared.dangerous_kinds import is_odd, split_clauses
from tacitd_handlers.shared.equality import is_reversal
from tacitd_handlers.shared.lexicon import stance_sign
from tacitd_handlers.shared.quoted_text import drop_quotes
from tacitd_handlers.shared.speech_acts import is_order, split_sentences
from tacitd_handlers.shared.text_parts import is_cjk, pairs_of_characters, split_words
from tacitd_handlers.shared.word_stems import (
    JUDGED,
    Language,
    content_stems,
    language_of,
    stem_words,
    text_stems,
)

_WORD = compile_lazily(r"[^\W\d_]+")
_COMPLAINT = compile_lazily(
    r"\b(?:again|still|wieder|immer noch|otra vez|de nuevo|todavía|encore|toujours|(?:second|third) time)\b|また|まだ",
    re.IGNORECASE,
)
_REMINDER = compile_lazily(
    r"\b(?:(?:as|like|what) i(?:'ve| have)? (?:\w+ )?said|(?:i(?:'ve| have)? (?:\w+ )?)told you|how (?:often|many times) (?:do|must|should) i|"
    r"for the \w+ time|wie (?:ich )?(?:schon )?gesagt|como (?:ya )?(?:te )?dije|comme je l[’']ai dit)\b",
    re.IGNORECASE,
)
_DESCRIPTION = compile_lazily(
    r"^\W*(?:(?:but|and|no|nope|oh|hey|wait|don[’']t)\b\W*)*"
    r"(?:there(?:[’']s| is| are| was| were)|i (?:see|saw|found|notice\w*)|you(?:[’'](?:re|ve))?|your|(?:the|this|that|these|those)(?! (?:project|repo\w*|team|code ?base|app)\b)|"
    r"it|hay|has|da (?:ist|sind|steht|stehen)|ich sehe)\b",
    re.IGNORECASE,
)
"""A sentence that describes a state or an action: "there is a commit on main"."""
_RULING = compile_lazily(
    r"\b(?:should|must|may|can|could|ha(?:ve|s) to|from now|now|instead|no longer|any ?more|fine|ok|okay|allowed|ahora|debes?|puedes?)\b",
    re.IGNORECASE,
)
"""With it a description is an order after all: "you can commit to main now"."""
_SHARED_PAIRS = 0.3
"""The share of a line's pairs of CJK characters that a message must repeat to have a word of it."""


class RepetitionVerdict(StrEnum):
    """What the messages show about a line that was said again, by the answer."""

    SAID = "said"
    UNPROVEN = "unproven"
    """Words cannot show it: it counts once in a session."""
    UNSUPPORTED = "unsupported"
    """It does not count."""


def judge_repetition(line: str, named: Sequence[int], messages: Sequence[PromptMessage]) -> RepetitionVerdict:
    """Return what the messages show about a line. `named`: the numbers in the answer's mark, from 1 on; () if it has none."""
    meant = [messages[number - 1] for number in named if 1 <= number <= len(messages)]
    if named and not meant:
        return RepetitionVerdict.UNSUPPORTED
    asked = [(drop_quotes(one.text), one.context) for one in meant or messages]
    agreeing = [(text, context) for text, context in asked if not says_contrary(text, line)]
    if any(_shares_word(text, line) for text, _ in agreeing):
        return RepetitionVerdict.SAID
    if any(
        text.strip()
        and (_cannot_be_compared(text, line) or _shares_word(context, line) or _REMINDER.search(text))
        for text, context in agreeing
    ):
        return RepetitionVerdict.UNPROVEN
    return RepetitionVerdict.UNSUPPORTED


def says_contrary(text: str, line: str) -> bool:
    """Whether a message orders the contrary of a line and nowhere the line itself: "from now on npm, not pnpm".

    A question, a report ("you used npm", "there is a commit on main") and a complaint ("again an emoji") are no orders.
    """
    contrary = False
    wanted = content_stems(line, language := language_of(line))
    theirs = _signs_of(line, wanted, language)
    for sentence in split_sentences(text):
        signs = _signs_of(sentence, wanted & content_stems(sentence, language), language)
        shared = theirs.keys() & signs.keys()
        opposite = [stem for stem in shared if theirs[stem] != signs[stem]]
        # "npm for installs, not pnpm" agrees with "pnpm for installs, never npm" only in what both are about.
        may_order = is_order(sentence) and _COMPLAINT.search(sentence) is None and not _describes(sentence)
        if (
            may_order
            and opposite
            and (len({theirs[stem] for stem in opposite}) == 2 or is_reversal(sentence, line))
        ):
            return True
        if len(opposite) < len(shared):
            return False
        if not opposite or not may_order:
            continue
        contrary |= (
            len(opposite) > 1
            or any(signs[stem] for stem in opposite)
            or _recommends(sentence, opposite, language)
        )
    return contrary


def _describes(sentence: str) -> bool:
    return _DESCRIPTION.search(sentence) is not None and _RULING.search(sentence) is None


def _signs_of(text: str, wanted: AbstractSet[str], language: Language) -> dict[str, bool]:
    """By stem: whether an odd number of negations precedes it in its clause."""
    signs: dict[str, bool] = {}
    for clause in split_clauses(text):
        for found in _WORD.finditer(clause):
            for stem in (stem_words([found[0]], language) & wanted) - signs.keys():
                signs[stem] = is_odd(clause[: found.start()], found.start())
    return signs


def _recommends(sentence: str, stems: Iterable[str], language: Language) -> bool:
    """Whether a clause says "use" or "prefer" before one of the words, not of what the assistant does."""
    wanted = set(stems)
    for clause in split_clauses(sentence):
        words = split_words(clause)
        ends = [at for at, word in enumerate(words) if stem_words([word], language) & wanted]
        if ends and "you" not in words and any(stance_sign(word) == 1 for word in words[: ends[0]]):
            return True
    return False


def _shares_word(text: str, line: str) -> bool:
    if is_cjk(line) and is_cjk(text):
        pairs = pairs_of_characters(line)
        if len(pairs & pairs_of_characters(text)) >= max(1.0, len(pairs) * _SHARED_PAIRS):
            return True
    language = language_of(line)
    words = content_stems(line, language)
    # "Always do it": a line without content words is compared by all of its words.
    return bool((words or text_stems(line, language)) & text_stems(text, language))


def _cannot_be_compared(text: str, line: str) -> bool:
    language = language_of(line)
    return is_cjk(line) or language not in JUDGED or language_of(text) != language
