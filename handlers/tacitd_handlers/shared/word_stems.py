"""The stems of content words, and the language of a text as far as it can be determined. Pure.

The stems are Snowball's. The stemmer is imported inside a function, because that takes 16 ms and most texts need no stem.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.text_parts import compose_text, list_words, split_words

Language = str
"""A language's code such as `en`; "" if it cannot be determined."""

JUDGED: frozenset[Language] = frozenset({"en", "de", "es", "fr", "ja"})
"""Languages in which dangerous kinds are recognised."""

_FUNCTION_WORDS = {
    "en": """a an the this that these those and or but if when while where with without within of to in on at by for from
        as is are was be been being it its not no never always do does don doesn must should shall will can cannot may
        only all each every any use uses using used prefer prefers preferred avoid avoids keep keeps make makes write
        writes run runs want wants need needs like likes dislikes than over instead into before after until unless
        between should you your i my we our they their them there here what which who how so also both more most
        less fewer required requires allowed per via rather corrected expects believes add put set new""",
    "de": """der die das den dem des ein eine einen einem einer eines und oder aber wenn während wo mit ohne innerhalb von
        zu zum zur im in auf am an bei für aus als ist sind war sein es nicht kein keine keinen keinem nie niemals immer
        muss müssen soll sollen sollte darf dürfen kann können nur alle jede jeder jedes jeden vor nach bis statt
        zwischen sie du ich wir ihr mein dein unser was wer wie auch beide mehr weniger bitte nutze nutzen verwende
        verwenden benutze bevorzugt schreibe halte werden wird dass sich beim vom über lieber""",
    "fr": """le la les un une des du de et ou mais si quand lorsque où avec sans dans à au aux en sur par pour comme est
        sont était être il elle ne pas jamais toujours doit doivent faut peut peuvent seulement tous toutes chaque
        avant après jusqu entre vous tu je nous mon ton votre notre que qui quoi comment aussi plus moins utiliser
        utilise utilisez préfère préférer plutôt ce cette ces se sa son d l n s qu c j""",
    "es": """el la los las un una unos unas y o pero si cuando mientras donde con sin dentro de del a al en por para como
        es son era ser lo no nunca siempre debe deben hay puede pueden sólo solo todos todas cada antes después hasta
        entre usted tú yo nosotros mi tu su nuestro que quien qué cómo también más menos usar usa use utiliza prefiere
        prefiero se este esta estos""",
    "it": """il lo la gli le un una di del della dei degli delle e ed o ma se quando con senza in nel nella a al alla ai da
        dal per come è sono era essere non mai sempre deve devono può solo tutti ogni prima dopo fino tra che chi anche
        più meno usare usa preferisce si questo questa""",
    "pt": """o os as um uma de do da dos das e ou mas se quando com sem em no na nos nas por para como é são era ser não
        nunca sempre deve devem pode só todos cada antes depois até entre você eu que quem também mais menos usar use
        prefere ao à""",
    "nl": """de het een en of maar als wanneer met zonder van naar in op aan bij voor uit is zijn was niet geen nooit altijd
        moet moeten kan kunnen alleen alle elke elk na tot tussen je jij ik wij we mijn jouw ons wat wie hoe ook meer
        minder gebruik gebruiken liever""",
    "pl": "i w z na do nie się jest to że jak po przed przy dla od ale lub nigdy zawsze bez każdy używaj tylko",
    "sv": "och att det som en ett på är av för med till den inte om från alltid aldrig utan före efter använd",
    "tr": "ve bir bu için ile de da değil her asla daima önce sonra olarak gibi kullan en",
    "fi": "ja on ei se että ennen jälkeen kun aina koskaan ilman kaikki jos tai käytä lue",
    "cs": "a v na se je že to s do pro po před bez vždy nikdy nebo když použij",
    "ro": "și în la de cu nu este pe un o din pentru înainte după fără mereu niciodată",
    "id": "dan di yang untuk dengan tidak ini itu dari pada ke sebelum setelah selalu jangan tanpa gunakan",
}  # fmt: skip
_ENGLISH = list_words(
    """follow follows test tests file files function functions class classes code commit commits branch branches name names
    named type types typed add adds return returns store stored create creates check checks build builds log logs value
    values table tables user users page pages line lines version versions project projects format style module modules
    message messages documentation comment comments library limit limits short long small large simple strict every
    answers answer details responses request requests path paths written based follows using throw throws handle handles
    explicit readable concise error errors unused naming tests testing deploy deploys review reviews stays remain"""
)
"""Words of engineering rules that indicate English although they are content words."""
_WORDS = {language: frozenset(compose_text(words).split()) for language, words in _FUNCTION_WORDS.items()}
_STEMMERS = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "ru": "russian", "sv": "swedish", "tr": "turkish", "fi": "finnish", "ro": "romanian",
    "id": "indonesian", "pl": "polish", "cs": "czech",
}  # fmt: skip
_SCRIPTS = (
    (compile_lazily("[\u3040-\u30ff]"), "ja"),
    (compile_lazily("[\uac00-\ud7af]"), "ko"),
    (compile_lazily("[\u3400-\u9fff]"), "zh"),
    (compile_lazily("[\u0400-\u04ff]{2}"), "ru"),
    (compile_lazily("[\u0370-\u03ff]{2}"), "el"),
    (compile_lazily("[\u0590-\u05ff]"), "he"),
    (compile_lazily("[\u0600-\u06ff]"), "ar"),
    (compile_lazily("[\u0900-\u0dff]"), "hi"),
    (compile_lazily("[\u0e00-\u0fff]"), "th"),
)
_SIGNS = (("ñ¿¡", "es"), ("èêëàâùûçœ", "fr"), ("äöüß", "de"))
"""Letters that indicate a language if no function word does."""
_NO_CONTENT = frozenset(
    list_words("""
    prefer want like use using always never please avoid keep make do get let have has go put set say said user person
    everything anything something thing things way code project work nie immer jamais toujours nunca siempre
    """)
)


def language_of(text: str) -> Language:
    """Return the language of a text; "en" for up to three words without evidence, "" if it cannot be determined."""
    plain = compose_text(text)
    for pattern, language in _SCRIPTS:
        if pattern.search(plain):
            return language
    words = split_words(plain)
    counts = {language: sum(word in known for word in words) for language, known in _WORDS.items()}
    counts["en"] += sum(word in _ENGLISH for word in words)
    best = max(counts, key=lambda language: counts[language])
    if not counts[best]:
        marked = next((language for signs, language in _SIGNS if set(plain.casefold()) & set(signs)), "")
        return marked or ("en" if sum(len(word) > 2 for word in words) < 4 else "")
    marked = next((language for signs, language in _SIGNS if set(plain.casefold()) & set(signs)), "en")
    if counts[best] == counts["en"] == counts[marked]:
        return marked
    return best if counts[best] > counts["en"] else "en"


def content_stems(text: str, language: Language) -> frozenset[str]:
    """Return the stems of a text's content words in this language."""
    function_words = _WORDS.get(language, frozenset()) | _WORDS["en"] | _NO_CONTENT
    return stem_words(
        (word for word in split_words(text) if len(word) > 1 and word not in function_words), language
    )


@lru_cache(maxsize=256)
def text_stems(text: str, language: Language) -> frozenset[str]:
    """Return the stems of all of a text's words in this language."""
    return stem_words(split_words(text), language)


def stem_words(words: Iterable[str], language: Language = "en") -> frozenset[str]:
    """Return the stems of words; a language without a stemmer leaves the first six letters."""
    name = _STEMMERS.get(language, "")
    return frozenset(_stem(word, name) for word in words)


@lru_cache(maxsize=32_768)
def _stem(word: str, name: str) -> str:
    if not name:
        return word[:6]
    import snowballstemmer

    # A stemmer stores the word that it works on, and two projects are learned in two threads: make one for each call.
    return str(snowballstemmer.stemmer(name).stemWord(word))
