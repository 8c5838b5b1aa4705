"""Whether a text speaks in the first person, so that asking what the person said of themselves makes sense. Pure.

Only the singular counts: "we stay with pnpm" is about a project or a team. A request ("I need a function", "show me the diff")
and what the person said or thinks ("as I told you") say nothing about who they are. In languages that are written without
pronouns (Japanese, Korean, Chinese), and in unknown ones, the answer is yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacitd_handlers.shared.text_parts import compose_text, is_cjk
from tacitd_handlers.shared.word_stems import language_of

_WORDS = {
    "en": "i my mine myself",
    "de": "ich mein meine meinen meinem meiner meines",
    "fr": "je j mon ma mes mien mienne",
    "es": """yo mi mis mío mía soy estoy tengo trabajo uso utilizo prefiero vengo escribo programo desarrollo conozco odio""",
    "it": "io mio mia miei mie sono lavoro uso preferisco scrivo voglio odio",
    "pt": "meu minha meus minhas sou estou trabalho uso prefiro escrevo quero",
    "nl": "ik mijn",
    "pl": "mój moja moje jestem pracuję używam wolę piszę",
    "sv": "jag",
    "tr": "benim bana beni",
    "ro": "meu mea sunt lucrez folosesc prefer",
    "cs": "já můj moje jsem pracuji používám píšu",
    "fi": "minä minun minua olen käytän",
    "id": "saya aku",
    "ru": "я мой моя моё мои работаю использую пишу",
}
# Words that are frequent in another language with another meaning ("eu", "min", "ja") are left out.
_FIRST_PERSON = frozenset(word for words in _WORDS.values() for word in words.split())
_REQUEST = re.compile(
    r"\bi(?:'d| would) like (?:you|to|an?|the|it)\b|\bi\s+(?:just |really |already |still |only |also )*(?:need (?:you\b|to\b|an?\b|the\b|this\b|that\b|it\b|some\b)|want(?:ed)?\b"
    r"|said\b|told\b|meant?\b|asked\b|see\b|saw\b|think\b(?! in\b)|thought\b|guess\b|g[eo]t\b|did\b|ran\b|tried\b|forgot\b|don'?t (?:know (?:why|if|what(?:'s| is\b| to\b| went\b| happen)|how to\b)|care|see|think|want|need)\b)"
    r"|\b(?:do|can|should|could|shall|did|may) i\b|\bi (?:can|could) (?:see|not see|try|read it)\b"
    r"|\bich (?:doch |ja |nur |noch )*(?:brauche?|will|möchte|meine?|meinte|sage?|sagte|sehe?|denke?|glaube?|bekomme?|kriege?|dachte)\b"
    r"|\b(?:brauche?|will|möchte|sehe?) ich\b|\b(?:ich hab\w*|hab\w* ich)\b[^.!?\n]*\bgesagt\b"
    r"|\bje (?:veux|voudrais|pense|crois|vois|disais)\b|\bj'(?:aimerais|ai (?:besoin|dit))\b"
    r"|\byo (?:quiero|necesito|digo|dije|creo)\b"
)
"""What is wanted or was said. It is searched in the folded text."""
_SELF_AS_OBJECT = re.compile(
    r"\bmi piac\w*\b|\bme (?:gusta|encanta|llamo|dedico|interesa|molesta)\w*\b|\b(?:mir (?:gefällt|fehlt|liegt)|mich (?:interessiert|nervt|stört))\b|\b(?:suits|bothers|annoys|confuses) me\b"
)
"""Where the person is not the subject, and it is about them."""
_IM = re.compile(r"\b(?:im|ive)\b")
_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_OTHER_SCRIPT = re.compile("[\u0370-\u03ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0fff\uac00-\ud7af]")


def speaks_in_first_person(texts: Iterable[str]) -> bool:
    """Return whether one of the texts has a word of the first person, outside code."""
    return any(map(_speaks, texts))


def _speaks(text: str) -> bool:
    plain = compose_text(_CODE.sub(" ", text)).casefold()
    if is_cjk(plain) or _OTHER_SCRIPT.search(plain):
        return True
    # "im" is also a German word.
    if _SELF_AS_OBJECT.search(plain) or (_IM.search(plain) and language_of(text) == "en"):
        return True
    # "i2c", "512Mi" and "i18n" have no word of these.
    return not _FIRST_PERSON.isdisjoint(_WORD.findall(_REQUEST.sub(" ", plain)))
