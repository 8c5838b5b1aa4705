"""Relevance: lessons for a path, a query, a phase, and an error. Pure; the only import at run time is `re`.

A public measurement of such rules found that 94 % of the unused injections were off topic; a lesson that is not
loaded costs nothing. The rule is simple on purpose: words are reduced to stems, generic words are ignored, and a
lesson is on topic if its WHEN, its action or its scope shares a significant word. A lesson whose WHEN names no
subject ("WHEN editing files") applies to every subject, and is included.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SMALL = (
    "a an and any are as at be been before after but by can could did do does done each every for from get got had has "
    "have how i if in into is it its just let may me more most my need needs no not of off on one only or other our out "
    "over own please s same should so some such t than that the their them then there these they this those to too "
    "under up us want was we were what when where which while who why will with without would you your yes"
)
_GENERIC = (
    "add adding ask bug change changing check code create do edit editing error errors exception fail failed failing "
    "fails failure file files fix fixing folder issue line make making multiple new open opening problem project read "
    "reading run running something start starting task tasks text thing things update updating use user users using "
    "work working write writing"
)
_LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "tsx": "typescript", "jsx": "javascript", "rs": "rust",
    "rb": "ruby", "md": "markdown", "sh": "shell", "yml": "yaml", "kt": "kotlin", "cs": "csharp", "hs": "haskell",
    "ex": "elixir", "tf": "terraform",
}  # fmt: skip
_PLACES = "home users usr src lib tmp var opt root work main private documents projects repos index mod init"
_JUDGING = "review evaluat validat verif assess judg plan estimat compar decid choos approv grad audit critiqu examin"


def stem_word(word: str) -> str:
    """A word without its ending. It is a prefix of the word, so a text that lacks the stem lacks the word."""
    for ending in ("ings", "ing", "ies", "ied", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


_stem = lru_cache(maxsize=65_536)(stem_word)
SMALL = frozenset(_SMALL.split()) | frozenset(map(stem_word, _SMALL.split()))
GENERIC = frozenset(map(stem_word, _GENERIC.split()))
PLACES = frozenset(map(stem_word, _PLACES.split()))


def extract_terms(text: str) -> frozenset[str]:
    """The stems of the words in a text, including the parts of CamelCase names, without the smallest words."""
    low = text.casefold()
    words = set(_WORD.findall(low))
    if low != text and _CAMEL.search(text):
        words.update(_WORD.findall(_CAMEL.sub(" ", text).casefold()))
    return frozenset([_stem(word) for word in words if word not in SMALL])


def topic_of_query(query: str) -> frozenset[str]:
    """The topic of a query."""
    found = extract_terms(query)
    return found - GENERIC or found


def topic_of_path(path: str) -> frozenset[str]:
    """The topic of a path: its folders, its name, and the language of its extension."""
    found = extract_terms(path) - PLACES
    ending = path.rsplit(".", 1)[-1].lower() if "." in path.rsplit("/", 1)[-1] else ""
    return found | {stem_word(_LANGUAGES[ending])} if ending in _LANGUAGES else found


def on_topic(topic: frozenset[str], scope: str, line: str) -> bool:
    """Whether a lesson's line (`- WHEN …`) is related to the topic."""
    subject = line.rsplit(" -> BECAUSE ", 1)[0].removeprefix("- WHEN ")
    # Stems are prefixes of words, so this substring test excludes most lines without splitting them into words.
    folded = subject.casefold()
    if any(each in folded for each in topic) and topic & extract_terms(subject):
        return True
    return bool(topic & extract_terms(scope)) or not _has_subject(subject.split(" -> DO ", 1)[0])


def _has_subject(when: str) -> bool:
    words = (found[0] for found in _WORD.finditer(when.casefold()))
    return any(word not in SMALL and _stem(word) not in GENERIC for word in words)


def scopes_in(topic: frozenset[str], scopes: list[str]) -> list[str]:
    """The scopes that the topic names."""
    return [scope for scope in scopes if (found := extract_terms(scope)) and found <= topic]


def for_phase(phase: str, line: str) -> bool:
    """Whether a lesson applies to a phase of IVDX (SPEC E-31).

    To validate is to judge a plan, so every lesson applies. To execute is to act on it, so a lesson whose WHEN starts
    with judging ("WHEN reviewing a diff") does not apply.
    """
    first = line.removeprefix("- WHEN ").split(" ", 1)[0].casefold()
    return phase != "execute" or not (first.endswith("ing") and first.startswith(tuple(_JUDGING.split())))


def score_match(when: str, error: str) -> float:
    """The fraction of WHEN's terms that an error's text contains; 0 if it is below 0.6."""
    wanted = {_failing(term) for term in extract_terms(when)}
    present = {_failing(term) for term in extract_terms(error)}
    if not wanted or not (wanted & present) - {"fail"}:
        return 0.0
    share = len(wanted & present) / len(wanted)
    return share if share >= 0.6 else 0.0


def _failing(term: str) -> str:
    """One term for all words that mean failure."""
    return (
        "fail"
        if term in {"error", "fail", "failur", "exception", "crash", "broken", "traceback", "fatal"}
        else term
    )
