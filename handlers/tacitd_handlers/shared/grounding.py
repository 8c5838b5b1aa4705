"""Whether a text that a model wrote is grounded in the words that it was made from (SPEC S-67). Pure.

Every concrete token of the text must be in its sources. The content words of a dangerous text must also have been typed;
the assistant's words are not enough for it. If that cannot be determined in the text's language, the text waits for a
person. What is concrete belongs to `concrete_tokens`, what is dangerous to `dangerous_kinds`; what becomes of a text that
waits or is refused belongs to its handler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.concrete_tokens import Token, find_tokens
from tacitd_handlers.shared.dangerous_kinds import Danger, find_dangers, is_odd, split_clauses
from tacitd_handlers.shared.quoted_text import drop_quotes
from tacitd_handlers.shared.speech_acts import is_order, split_sentences
from tacitd_handlers.shared.text_parts import is_cjk, pairs_of_characters, split_parts, split_words
from tacitd_handlers.shared.token_index import TokenIndex, index_texts
from tacitd_handlers.shared.word_stems import (
    JUDGED,
    Language,
    content_stems,
    language_of,
    stem_words,
    text_stems,
)

_SHARE = 0.5
"""The part of a dangerous text's content words that must have been typed."""
_PARAPHRASED = 4
"""Content words. A shorter text may be a paraphrase that shares no content word with its message."""
_SENTENCE = compile_lazily(r"(?<=[.!?;:])\s+|->|→|[。！？]")
_CHINESE_FUNCTION = compile_lazily(
    "而不是|而非|不是|不要|不用|不使用|请勿|使用|采用|改用|代替|替代|我们|你们|他们|总是|始终|永远|一律|必须|应该|应当|需要|优先|偏好|更喜欢|喜欢|"
    "请|用|不|别|勿|我|你|的|了|是|和|与|或|在|时|要|把|以|而|都|只|也|就"
)
_SYNONYMS = tuple(
    frozenset(words.split())
    for words in (
        "ask confirm confirmation approval approve permission prompt consent question check ok okay tell inform notify",
        "delete remove drop wipe erase rm purge destroy clean clear cleanup discard rid",
        "skip bypass disable omit ignore suppress no-verify noverify off without circumvent deactivate",
        "credential credentials secret secrets",
        "password passwords passphrase",
        "start begin beginning open opening launch first start starte beginn beginne beginnen anfang commence commencer commencez "
        "débute début empieza empezar comienza comenzar inicio",
        "session sessions conversation chat",
        "download fetch curl wget get",
        "run execute start launch call exec",
        "answer respond reply response antwort antworten réponse réponses réponds répondre respuesta respuestas responde responder",
        "modify change edit touch alter",
        "database db",
        "production prod",
        "verify verification validation check checks hook hooks precommit commit",
        "force forced",
        "löschen lösche löscht gelöscht entferne entfernen",
        "fragen frage fragt nachfragen rückfrage bestätigung bestätigen bestätige zustimmung erlaubnis",
        "supprimer supprime supprimez effacer efface",
        "demander demande confirmation confirmer autorisation",
        "borrar borra eliminar elimina",
        "preguntar preguntes confirmar confirmes confirmación permiso",
    )
)


@dataclass(frozen=True, slots=True)
class Grounded:
    """The sources support the text."""


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """The text has concrete tokens that no source has: it is refused."""

    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undecided:
    """It cannot be determined whether the text was typed, or it is dangerous and was not typed: a person decides."""

    reason: str
    """A clause for a person."""


GroundingVerdict = Grounded | Ungrounded | Undecided


@dataclass(frozen=True, slots=True)
class GroundingSources:
    """The texts that a model made something from. Build it with `read_sources`."""

    typed: tuple[str, ...]
    """Texts that a person typed, or that were found grounded in such texts."""
    unquoted: tuple[str, ...]
    """`typed` without what is quoted in it, and without what was found beside a tool's result: only these words support a
    dangerous text."""
    index: TokenIndex = field(repr=False)
    """The tokens of `typed` and of the context."""


def read_sources(
    typed: Sequence[str],
    context: Sequence[str] = (),
    times: Sequence[float | None] = (),
    beside_tools: Sequence[str] = (),
) -> GroundingSources:
    """Return the sources for `judge_grounding`.

    `typed`: texts that a person typed. `context`: the assistant's words and facts of other tools. Their tokens count, but
    they do not support a dangerous text, nor does what is quoted in `typed`. `times`: when each of `typed` was typed, in seconds since 1970, UTC.
    `beside_tools`: words of a person that are recorded beside a tool's result, which a program can imitate. They are typed
    words, but do not support a dangerous text. Their times follow those of `typed`.
    """
    unquoted = tuple(map(drop_quotes, typed))
    typed = (*typed, *beside_tools)
    return GroundingSources(typed, unquoted, index_texts([*typed, *context], times))


def judge_grounding(text: str, sources: GroundingSources) -> GroundingVerdict:
    """Return whether the sources support a fact, a line, a profile value or a lesson."""
    missing = [token for token in find_tokens(text) if not sources.index.contains_token(token)]
    missing = [token for token in missing if not _is_cut(token, text, sources)]
    if missing:
        return Ungrounded(tuple(token.text for token in missing))
    language = language_of(text)
    for danger in find_dangers(text):
        if not _was_typed(text, danger, language, sources.unquoted):
            return Undecided(f"it is about {danger.kind}, and its words were not typed")
    for sentence in _SENTENCE.split(text):
        theirs = language_of(sentence)
        if theirs not in JUDGED and not _shares_words(sentence, theirs, sources.typed):
            return Undecided(
                "what it asks for cannot be determined in its language, and its words were not typed"
            )
    return Undecided("none of its words were typed") if _is_foreign(text, language, sources) else Grounded()


@dataclass(frozen=True, slots=True)
class TypedOrders:
    """The orders in typed texts. Build it once for many texts, with `read_orders`."""

    sentences: tuple[tuple[str, str], ...]
    """Each order, and its parts between single spaces, with a space at both ends."""


def read_orders(typed: Iterable[str]) -> TypedOrders:
    """Return the orders in texts that a person typed, for `was_typed_verbatim`. What is quoted is no order."""
    sentences = dict.fromkeys(sentence for text in typed for sentence in split_sentences(drop_quotes(text)))
    return TypedOrders(tuple((one, join_parts(one)) for one in sentences if is_order(one)))


def was_typed_verbatim(text: str, orders: TypedOrders) -> bool:
    """Return whether the words of a text are an uninterrupted part of a typed order, and the order supports the text."""
    wanted = join_parts(text)
    return any(
        wanted in parts and isinstance(judge_grounding(text, read_sources([sentence])), Grounded)
        for sentence, parts in orders.sentences
    )


def join_parts(text: str) -> str:
    """Return the parts of a text between single spaces, with a space at both ends."""
    return " ".join(["", *split_parts(text), ""])


def judge_names(text: str, sources: GroundingSources) -> GroundingVerdict:
    """Return whether the sources support a value that consists of names, as "VS Code, helix": all words are concrete."""
    names = [
        Token("name", one.strip()) for one in re.split(r"[,;/()+&]| and | und | et | y ", text) if one.strip()
    ]
    words = [
        Token("name", word)
        for name in names
        if not sources.index.contains_token(name)
        for word in name.text.split()
        if content_stems(word, "en") or not word.isalpha()
    ]
    missing = [
        word for word in words if any(map(str.isalnum, word.text)) and not sources.index.contains_token(word)
    ]
    return Ungrounded(tuple(word.text for word in missing)) if missing else judge_grounding(text, sources)


def explain_verdict(verdict: Ungrounded | Undecided) -> str:
    """Return the verdict's reason for a person, in one line."""
    match verdict:
        case Ungrounded(tokens):
            return f"nobody mentioned {', '.join(tokens[:5])}"
        case Undecided(reason):
            return reason


def _is_cut(token: Token, text: str, sources: GroundingSources) -> bool:
    """Whether the text was shortened within this token, and the sources contain what is left of it."""
    cut = text.rstrip().removesuffix("…")
    return cut != text.rstrip() and cut.endswith(token.text) and token.text.casefold() in sources.index.plain


def _was_typed(text: str, danger: Danger, language: Language, typed: Sequence[str]) -> bool:
    """Whether a person typed the words that make a text dangerous, with the same polarity, and half of the others."""
    orders = _orders_in(typed, text)
    if is_cjk(danger.trigger) or (is_cjk(text) and language not in JUDGED):
        return _shares_characters(text, danger, orders)
    words = split_words(danger.trigger)
    # "delete the temporary files": the verb and its object must have been typed; the words between them are optional.
    ends = " ".join([*words[:1], *words[-1:]])
    keys = (
        content_stems(ends, language)
        or content_stems(danger.trigger, language)
        or text_stems(danger.trigger, language)
    )
    rest = content_stems(text, language) - keys
    said = frozenset().union(*(text_stems(words, language) for words in typed))
    shared = sum(_is_said(stem, said, language) for stem in rest)
    sentences = [sentence for sentence in orders if _has_all(sentence, keys, language)]
    if not sentences or shared < int(len(rest) * _SHARE):
        return False
    clauses = [clause for sentence in orders for clause in split_clauses(sentence)]
    own = [clause for clause in split_clauses(text) if _has_polarity(clause, danger, keys, language)]
    objects = content_stems(" ".join(own) or text, language) - keys
    about = {
        clause: sum(_is_said(stem, text_stems(clause, language), language) for stem in objects)
        for clause in clauses
        if any(_is_said(key, text_stems(clause, language), language) for key in keys)
    }
    # "Don't ask about whitespace, but ask before each deploy": only the clause about the same objects counts.
    most = max(about.values(), default=0)
    return any(
        _has_polarity(clause, danger, keys, language) for clause, count in about.items() if count == most
    )


def _has_polarity(clause: str, danger: Danger, keys: frozenset[str], language: Language) -> bool:
    """Whether a typed clause has a key and the danger's polarity: "never skip the hooks" does not mean "skip them"."""
    found = [
        match
        for match in re.finditer(r"[^\W\d_]+", clause)
        if any(_is_said(key, stem_words([match[0]], language), language) for key in keys)
    ]
    if not found:
        return False
    match danger.scope:
        case "clause":
            governing = clause
        case "to the end":
            governing = clause[: found[-1].end()]
        case "to the start":
            governing = clause[: found[0].start()]
    return is_odd(governing, found[0].start()) == danger.odd


def _orders_in(typed: Sequence[str], text: str) -> list[str]:
    """Return the typed sentences that can support a dangerous text.

    "Why did you skip the tests?" does not support "Skip the tests". If the text is itself a question or a report, every
    sentence counts.
    """
    sentences = [sentence for words in typed for sentence in split_sentences(words)]
    if not all(map(is_order, split_sentences(text))):
        return sentences
    return [sentence for sentence in sentences if is_order(sentence)]


def _has_all(sentence: str, keys: frozenset[str], language: Language) -> bool:
    stems = text_stems(sentence, language)
    return all(_is_said(key, stems, language) for key in keys)


def _is_said(stem: str, said: frozenset[str], language: Language) -> bool:
    return bool(({stem} | _synonyms(language).get(stem, frozenset())) & said)


@cache
def _synonyms(language: Language) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for words in _SYNONYMS:
        stems = stem_words(words, language)
        for stem in stems:
            found[stem] = found.get(stem, frozenset()) | stems
    return found


def _shares_characters(text: str, danger: Danger, typed: Sequence[str]) -> bool:
    """As `_was_typed` for text without spaces between words: pairs of characters are compared instead of words."""
    said = "\n".join(typed).casefold()
    pairs, theirs = pairs_of_characters(text), pairs_of_characters(said)
    keys = pairs_of_characters(danger.trigger)
    return len(keys & theirs) >= len(keys) * 0.7 and len(pairs & theirs) >= len(pairs) * _SHARE


def _is_foreign(text: str, language: Language, sources: GroundingSources) -> bool:
    """Whether a longer text shares no word with its sources, although they are in its language.

    Trigger: no token is concrete, and none of four or more content words is in the sources. Why: a paraphrase of a short
    message may share nothing with it ("too verbose", "prefers concise answers"), but a longer text is hardly one.
    Outcome: it waits. A translation shares no words, so a text in another language than the messages is not judged.
    """
    words = content_stems(text, language)
    if len(words) < _PARAPHRASED or language not in JUDGED or is_cjk(text) or find_tokens(text):
        return False
    if any(language_of(typed) != language for typed in sources.typed):
        return False
    said = text_stems(sources.index.plain, language)
    return not any(_is_said(word, said, language) for word in words)


def _shares_words(text: str, language: Language, typed: Sequence[str]) -> bool:
    """Whether half of the words were typed. One is enough if the language is unknown."""
    if is_cjk(text):
        said_text = "\n".join(typed)
        if language == "zh":
            # Without function words only names are left of "使用pnpm而不是npm"; names are checked as tokens.
            text, said_text = _CHINESE_FUNCTION.sub(" ", text), _CHINESE_FUNCTION.sub(" ", said_text)
        pairs, theirs = pairs_of_characters(text), pairs_of_characters(said_text)
        return len(pairs & theirs) >= len(pairs) * _SHARE
    words = content_stems(text, language)
    said = frozenset().union(*(text_stems(one, language) for one in typed))
    plain = {word for one in typed for word in split_words(one)}
    shared = sum(word in said or word in plain for word in words)
    return shared >= (len(words) * _SHARE if language else min(1, len(words)))
