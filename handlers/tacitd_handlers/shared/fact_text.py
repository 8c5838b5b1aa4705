"""What a fact is stored as: one short line, without the "User" that every fact is about anyway (SPEC S-27, S-67). Pure.

A learned line is loaded into every later session. It must therefore not break out of its bullet, not import other files (Claude Code
expands `@path` outside backticks), not hide anything from the user who reads the file, and not imitate a prompt. What it may ask for is
decided by what was typed, see `shared/words`.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tacitd.text.import_words import quote_imports
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.model_answers import strip_marks

FACT_LIMIT = 300
"""Characters of one fact or one learned line. A longer one is not cut: what is cut off may be its exception."""
_ATTITUDE = (
    "prefers?|wants?|likes?|dislikes|hates|loves|believes|thinks|expects|requires|uses|avoids|request(?:ed|s)|ask(?:ed|s)|correct(?:ed|s)|"
    "state[ds]|says|said|does|doesn[’']t|don[’']t|didn[’']t|would|wishes|insists|values|favou?rs|considers|finds|reject(?:s|ed)|tends|"
    "always|never|opposes|disagrees|agrees|cares|trusts|works|instruct(?:ed|s)|specifie[ds]|decided|chooses|chose|appreciates|objects|"
    "isn[’']t|mentioned|clarified|explained|told"
)
_USER = compile_lazily(
    rf"""(?:the\ )?user
        (?: [’']s\s+
          | \s*(?:[:|→]|-+>|,)\s*
          | \s+(?=(?:also\s+|explicitly\s+|strongly\s+|really\s+|generally\s+)?(?:{_ATTITUDE})\b(?!\s+(?:are|is|were|was)\b))
        )""",
    re.IGNORECASE | re.VERBOSE,
)
_LABEL = compile_lazily(
    r"(?:\*\*|__)?(?:(?:(?:user|stated|new|extracted) +)*(?:preference|fact|opinion|belief|stance|want)s?)(?:\*\*|__)?:(?:\*\*|__)? *(?=\S)",
    re.IGNORECASE,
)
_HIDING = compile_lazily(r"<!--|-->")
"""Not refused within backticks, where it is shown as it is."""
_CODE = compile_lazily(r"`[^`]*`")
_HARD = (
    (
        # "The `<system>` tag" and "the <instructions> element" name a tag; nothing is inside it.
        compile_lazily(
            r"(?!(?:</?[\w:-]+>`|<[\w:-]+> (?:tags?|elements?|nodes?|blocks?|messages?(?!\W*:))\b))"
            r"</?(?:system|system-reminder|instructions?|tool_use|tool_result|function_calls?|invoke|antml[\w:]*)\b[^>]*>",
            re.IGNORECASE,
        ),
        "it imitates a part of a prompt",
    ),
    (
        compile_lazily(r"\b(?:javascript|vbscript):(?=\S)", re.IGNORECASE),
        "it contains an address that runs code",
    ),
    (
        compile_lazily(
            r"(?:^|[\s.!?>*_])(?:Human|Assistant|HUMAN|ASSISTANT)\s*[*_]*\s*:"
            r"(?!(?:(?i:(?<=prefix human:)|(?<=prefix assistant:)))\W*$)"
        ),
        "it imitates a turn of a conversation",
    ),
)

_NAME = compile_lazily(
    r"(?<![\w*`./])(?:[\w./-]*__[\w./*-]*|[\w./-]*\*{1,2}[./][\w./*-]*|\*{1,2}\w+(?![\w*]|[^*]*\w\*))(?<![.])"
)
"""A name of code with signs of emphasis. `*word*` and `**some words**` are emphasis."""


class Unfit(Struct, frozen=True):
    """The reason why a text is not stored."""

    reason: str


def strip_user(text: str) -> str:
    """Given a fact, return it without "User", "The user", "User:" at its beginning.

    "User accounts need a uuid" and "User has many orders" are about the program and stay as they are.
    """
    found = _USER.match(text)
    return _capital(text[found.end() :]) if found and text[found.end() :].strip() else text


def tidy_fact(text: str) -> str:
    """Given one line as a model or another tool wrote it, return the fact in it: no marks, no "Preference:", no "User"."""
    plain = strip_marks(text)
    label = _LABEL.match(plain)
    return strip_user(_capital(plain[label.end() :]) if label else plain).strip()


def clean_fact(text: str) -> str | Unfit:
    """Given a fact from an answer, return the line for the file, without `- `, or why it is refused.

    The line has at most 300 characters, no leading "User", no leading marks and no control characters. `@names` are in
    backticks, so that they are not imports.
    """
    line = sanitize_line(text)
    if has_secret(line):  # checked in the sanitised line, because hidden characters could interrupt a secret
        return Unfit("it looks like a secret")
    shown = line if line.count("`") % 2 or "``" in line else _CODE.sub("` `", line)
    if _HIDING.search(shown):
        return Unfit("it contains an HTML comment, which hides text")
    for pattern, reason in _HARD:
        if pattern.search(line):
            return Unfit(reason)
    line = _quote_names(quote_imports(_plain_marks(tidy_fact(line))))
    if len(line) > FACT_LIMIT:
        return Unfit(f"it is longer than {FACT_LIMIT} characters")
    if not any(char.isalnum() for char in line):
        return Unfit("nothing is left of it")
    return line


def _quote_names(line: str) -> str:
    """Put names such as `__init__`, `*.py` and `**kwargs` in backticks, in which a formatter of Markdown leaves them."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(one if at % 2 else _NAME.sub(r"`\g<0>`", one) for at, one in enumerate(parts))


def _plain_marks(line: str) -> str:
    """Remove leading marks and code fences, and all backticks if they are not balanced."""
    line = re.sub(r"~{3,}", "", line)
    if line.count("`") % 2 or "``" in line:
        line = line.replace("`", "")
    return re.sub(r"^(?:(?:[-*+>#|=]+|\d+[.)])\s+)+", "", line.strip()).strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
