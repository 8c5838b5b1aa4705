"""Whether a description names an input class or a code pattern (SPEC L-10).

Only known vague shapes are recognised. Pure. Nothing is refused. A vague description gets the stamp of the session in
which the gap was observed, as seed 000 asks, and the caller gets a notice.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line

_WEAK = compile_lazily(
    r"\b(?:struggles?|struggling|bad|weak|poor|not good|trouble|difficult(?:y|ies)|issues?|problems?|needs? work|"
    r"unsure|confused|gets? stuck|has a hard time)\b",
    re.I,
)
_VAGUE = compile_lazily(
    r"(?:with|at|on|in|the|a|an|some|of|and|more|about|handling|general|often|sometimes|still|edge|corner|"
    r"cases?|things?|stuff|basics?|concepts?|coding|code|problems?|algorithms?|data|structures?|details?|logic|"
    r"mistakes?|errors?|bugs?|practice|needed|needs?|work|careless|this|that|it|them|is|are|to|be|lot)",
    re.I,
)
_WORD = compile_lazily(r"[A-Za-z][A-Za-z'-]*|\d+")
OBSERVED = compile_lazily(r"\(observed \d{4}-\d{2}-\d{2}T\d{2}:\d{2}\)")


def is_specific(description: str) -> bool:
    """Whether a description contains a stamp, or enough words that are not vague."""
    if OBSERVED.search(description):
        return True
    significant = [word for word in _WORD.findall(_WEAK.sub(" ", description)) if not _VAGUE.fullmatch(word)]
    return len(significant) >= (2 if _WEAK.search(description) else 1)


def describe_gap(tag: str, description: str, problem: str, pattern: str, stamp: str) -> tuple[str, bool]:
    """Given the description of a new gap ("" for none), return the text to write, and whether it was specific."""
    text = sanitize_line(description.replace("**", "")).rstrip(".")
    if not text:
        words = re.sub(r"[_.:-]+", " ", tag.partition(":")[2] or tag).strip() or tag
        return f"{words}, seen in {problem} ({pattern}) (observed {stamp})", False
    if is_specific(text):
        return text, True
    return f"{text} (observed {stamp})", False
