"""How a fact is worded: without the "User" that every fact is about anyway (SPEC S-27), in one short line."""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.answer_screening import strip_marks

FACT_LIMIT = 300
"""Characters of one fact or one learned line. A longer one is not cut: what is cut off may be its exception."""

_ATTITUDE = (
    "prefers|prefer|wants|want|likes|like|dislikes|hates|loves|believes|thinks|expects|requires|uses|avoids|"
    "requested|requests|asked|asks|corrected|corrects|stated|states|said|says|does|doesn[’']t|don[’']t|"
    "didn[’']t|would|wishes|insists|values|favou?rs|considers|finds|rejects|rejected|tends|always|never|opposes|"
    "disagrees|agrees|cares|trusts|works|instructed|instructs|specified|specifies|decided|chose|chooses|"
    "appreciates|objects|isn[’']t|mentioned|clarified|explained|told"
)
_USER = compile_lazily(
    rf"""(?:the\ )?user
        (?: [’']s\s+
          | \s*(?:[:|→]|-+>|,)\s*
          | \s+(?=(?:also\s+|explicitly\s+|strongly\s+|really\s+|generally\s+)?(?:{_ATTITUDE})\b(?!\s+(?:are|is|were|was)\b))
        )""",
    re.IGNORECASE | re.VERBOSE,
)
_TRIPLE = compile_lazily(r"\(?\s*(?:the )?user\s*[,|→;]\s*([^,|→;]+?)\s*[,|→;]\s*(.+?)\s*\)?", re.IGNORECASE)
_LABEL = compile_lazily(
    r"^(?:\*\*|__)?(?:(?:(?:user|stated|new|extracted)\s+)*(?:preference|fact|opinion|belief|stance|want)s?"
    r"|(?:from\s+)?messages?\s+\d{1,3})\s*(?:\*\*|__)?:(?:\*\*|__)?\s*(?=\S)",
    re.IGNORECASE,
)
_MARKED_LABEL = compile_lazily(r"^(\*\*|__)([^*_:]{1,30}):?\1:?\s*(?=\S)")


def strip_user(text: str) -> str:
    """Given a fact, return it without "User", "The user", "User:", "(User, prefers, x)" at its beginning.

    "User accounts need a uuid" and "User has many orders" are about the program and stay as they are.
    """
    if "user" not in text.casefold():
        return text
    triple = _TRIPLE.fullmatch(text)
    if triple:
        return _capital(f"{triple[1]} {triple[2]}")
    found = _USER.match(text)
    return _capital(text[found.end() :]) if found and text[found.end() :].strip() else text


def tidy_fact(text: str) -> str:
    """Given one line as a model or another tool wrote it, return the fact in it."""
    fact = strip_user(_unlabelled(strip_marks(text)))
    return _unlabelled(fact).strip()


def _unlabelled(text: str) -> str:
    """`**Preference:** x` is x; `**Correction:** x` keeps its word, which says that x was corrected."""
    plain = _MARKED_LABEL.sub(r"\2: ", _LABEL.sub("", text))
    return text if plain == text else _capital(plain)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
