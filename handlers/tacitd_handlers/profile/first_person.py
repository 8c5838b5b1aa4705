"""Whether a text speaks in the first person, so that asking what the person said of themselves makes sense. Pure.

Only the singular counts: "we stay with pnpm" is about a project or a team. In languages that are written without
pronouns (Japanese, Korean, Chinese), and in unknown ones, the answer is yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacitd_handlers.shared.text_parts import compose_text, is_cjk, split_words

_WORDS = {
    "en": "i me my mine myself",
    "de": "ich mir mich mein meine meinen meinem meiner meines",
    "fr": "je j moi mon ma mes mien mienne",
    "es": """yo me mí mi mis mío mía soy estoy tengo trabajo uso utilizo prefiero quiero vengo escribo programo desarrollo
        conozco necesito odio""",
    "it": "io mi me mio mia miei mie sono lavoro uso preferisco scrivo voglio odio",
    "pt": "mim meu minha meus minhas sou estou trabalho uso prefiro escrevo quero",
    "nl": "ik mij mijn",
    "pl": "mnie mi mój moja moje jestem pracuję używam wolę piszę",
    "sv": "jag mig",
    "tr": "benim bana beni",
    "ro": "meu mea sunt lucrez folosesc prefer",
    "cs": "já mě mi můj moje jsem pracuji používám píšu",
    "fi": "minä minun minua olen käytän",
    "id": "saya aku",
    "ru": "я мне меня мой моя моё мои работаю использую пишу",
}
# Words that are frequent in another language with another meaning ("eu", "min", "ja") are left out.
_FIRST_PERSON = frozenset(word for words in _WORDS.values() for word in words.split())
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_OTHER_SCRIPT = re.compile("[\u0370-\u03ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0fff\uac00-\ud7af]")


def speaks_in_first_person(texts: Iterable[str]) -> bool:
    """Return whether one of the texts has a word of the first person, outside code."""
    return any(map(_speaks, texts))


def _speaks(text: str) -> bool:
    plain = compose_text(_CODE.sub(" ", text)).casefold()
    if is_cjk(plain) or _OTHER_SCRIPT.search(plain):
        return True
    return not _FIRST_PERSON.isdisjoint(split_words(plain))
