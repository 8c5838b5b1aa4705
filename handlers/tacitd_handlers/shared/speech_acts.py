"""Which typed sentences are orders. A question or a report has the words of an order but does not give it. Pure.

A sentence that is not recognised counts as an order, so that a person's own rule does not wait because of its form.
Languages: those of `word_stems.JUDGED`.
"""

from __future__ import annotations

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.text_parts import compose_text

_SENTENCE = compile_lazily(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_OPENING = r"^\W*(?:(?:but|and|so|hey|hi|wait|wtf|oh|no|nope|ok|okay|please|pls|also|then|again|claude|aber|und|bitte|mais|et|pero|y)\b\W*)*"
_REQUEST = compile_lazily(
    _OPENING
    + r"(?:(?:can|could|would|will|may|might) (?:you|we|i|u|it)\b|why (?:not|don't|dont) |(?:how|what) about |let's |shall we "
    r"|(?:kannst|könntest|würdest|magst|willst) du\b|können (?:sie|wir)\b|könnten sie\b|(?:peux|pourrais|veux)-?\s?tu\b|(?:pouvez|pourriez)-?\s?vous\b"
    r"|(?:puedes|podrías|quieres|podemos)\b)"
)
_TAG = compile_lazily(
    r"(?:\b(?:ok|okay|k|please|pls|right|alright|yes|yeah|thx|thanks|will you|would you|bitte|ja|d'accord|s'il (?:te|vous) plaît|vale|por favor)"
    r"|してください|して|くれる|くれますか|もらえますか|くださいませんか)\s*[?？]+\W*$"
)
_ASKS = compile_lazily(
    _OPENING
    + r"(?:why|how come|did|does|has|had|were|was|warum|wieso|weshalb|hast du|haben sie|pourquoi|est-ce que|as-tu|avez-vous|por qué|porqué)\b(?! (?:geht|gilt)\b)"
)
_REPORTS = compile_lazily(
    _OPENING + r"(?:(?:you|u|he|she|it|they|somebody|someone|claude)(?:'ve|'d| have| has| had)? "
    r"(?:(?:just|also|again|already|even|simply|always|still|have|had|accidentally|wrongly) )*"
    r"(?:(?!need|exceed|proceed|embed|feed|seed|speed)[^\W\d_]{2,}ed|did|didn't|broke|wrote|ran|took|gave|sent|put|threw|forgot|lost|made|went|got|left|kept|read|done|reset)\b"
    r"(?! to\b)"
    r"|(?:du hast|ihr habt|sie haben|tu as|tu m'as|vous avez|me has|has|habéis|borraste|eliminaste|saltaste) .*(?:\bge\w+t\b|\bge\w+en\b|é[es]?\b|ado\b|ido\b|\w+aste\b))"
    r"|(?:ました|たのは|ましたか|でした)[。！!？?]*$"
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, with their punctuation."""
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence and sentence.strip()]


def is_order(sentence: str) -> bool:
    """Whether a sentence may be an order: it is neither a question nor a report of what happened.

    "Can you skip the tests?" and "skip the tests, ok?" are orders in the form of a question.
    """
    plain = compose_text(sentence).casefold().strip()
    if _REQUEST.search(plain) or _TAG.search(plain):
        return True
    return not (plain.rstrip("\"'”’)*_ ").endswith("?") or _ASKS.search(plain) or _REPORTS.search(plain))
