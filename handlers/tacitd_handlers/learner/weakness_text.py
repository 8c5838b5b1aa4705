"""The format of one entry of Known Weaknesses (SPEC L-07). Lines in, fields out, and changed fields spliced back.

A well-formed entry has four lines, and formatting what was parsed gives the same bytes. A malformed entry is read as
far as possible, and only the fields that change are rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learner.vocabulary import STATUSES, strip_placeholder, time_of
from tacitd_handlers.learner.weakness_rules import Weakness

STARTS = compile_lazily(r"[-*+] +\*\*(?P<label>.+?)\*\*[ \t]*(?:[—–:-]+[ \t]*)?(?P<rest>.*)$")
_FIELDS = {
    "first": "First observed",
    "tested": "Last tested",
    "failed": "Last failed",
    "streak": "Last clean streak start",
    "clean": "Sessions since last failure",
    "status": "Status",
}
_ANY_FIELD = compile_lazily("|".join(f"{name}:" for name in _FIELDS.values()))


class WeaknessEntry(Struct, frozen=True):
    """The fields of an entry. None: missing or malformed."""

    label: str
    description: str
    first: str | None = None
    tested: str | None = None
    failed: str | None = None
    streak: str | None = None
    clean: int | None = None
    status: str | None = None

    @property
    def dates(self) -> tuple[str, str, str]:
        """First observed, Last tested and Last failed, "" for what is missing."""
        return self.first or "", self.tested or "", self.failed or ""

    @property
    def missing_fields(self) -> tuple[str, ...]:
        """The names of the missing or malformed fields."""
        return tuple(name for field, name in _FIELDS.items() if getattr(self, field) is None)

    def as_weakness(self, tag: str) -> Weakness:
        """The fields as a weakness with this tag; "" and 0 for what is missing."""
        return Weakness(
            tag,
            self.status or "",
            self.first or "",
            self.tested or "",
            self.failed or "",
            self.streak or "",
            self.clean or 0,
        )


def parse_entry(lines: Sequence[str]) -> WeaknessEntry | None:
    """Given an entry's lines without newlines, return its fields. None if they are not an entry."""
    found = STARTS.match(lines[0]) if lines else None
    if found is None:
        return None
    head, body = _cut(lines)
    start = STARTS.match(re.sub(r"\s*\n\s*", " ", head).rstrip())
    description = start["rest"].strip().removesuffix(".") if start is not None else ""
    values = {field: _value(body, name) for field, name in _FIELDS.items()}
    stamps = {field: _stamp(values[field]) for field in ("first", "tested", "failed", "streak")}
    count, status = values["clean"], values["status"]
    return WeaknessEntry(
        found["label"].strip(),
        description,
        **stamps,
        clean=int(count) if count is not None and re.fullmatch(r"\d{1,9}", count, re.ASCII) else None,
        status=status if status in STATUSES else None,
    )


def format_entry(label: str, description: str, weakness: Weakness) -> list[str]:
    """The four lines of an entry (SPEC L-07, L-12)."""
    ended = description if description.endswith((".", "!", "?")) else f"{description}."
    w = weakness
    return [
        f"- **{label}** — {ended}",
        f"  First observed: {w.first}. Last tested: {w.tested}. Last failed: {w.failed}.",
        f"  Last clean streak start: {w.streak}. Sessions since last failure: {w.clean}.",
        f"  Status: {w.status}",
    ]


def update_entry(lines: Sequence[str], weakness: Weakness | WeaknessEntry) -> list[str]:
    """The entry with these fields; all other bytes stay. Missing fields are appended."""
    head, body = _cut(lines)
    missing: list[str] = []
    for field, name in _FIELDS.items():
        value = str(getattr(weakness, field))
        if _value(body, name) is None:
            missing.append(f"  {name}: {value}" + ("" if field == "status" else "."))
        elif (_value(body, name) or "") != value and not _means(field, _value(body, name), value):
            body = _pattern(name).sub(lambda m, v=value: f"{m[1]} {v}", body, count=1)  # type: ignore[misc]
    whole = head + body
    return [*whole.split("\n"), *missing]


def _means(field: str, text: str | None, value: str) -> bool:
    """Whether the field's text already means this value in another spelling, such as `none` for an empty streak."""
    return field != "status" and text is not None and strip_placeholder(text) == value and bool(value or text)


def _cut(lines: Sequence[str]) -> tuple[str, str]:
    """The entry's text up to its first field, and the rest."""
    whole = "\n".join(lines)
    begin = len(lines[0]) if len(lines) > 1 else 0
    found = _ANY_FIELD.search(whole, begin) or _ANY_FIELD.search(whole)
    at = found.start() if found else len(whole)
    return whole[:at], whole[at:]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"({re.escape(name)}:)[ \t]*([^.\n]*)")


def _value(body: str, name: str) -> str | None:
    found = _pattern(name).search(body)
    return found[2].strip() if found else None


def _stamp(text: str | None) -> str | None:
    """The stamp, "" for an empty one, None for text that is neither."""
    if text is None:
        return None
    bare = strip_placeholder(text)
    return bare if not bare or time_of(bare) is not None else None


# --- descriptions: whether one names an input class or a code pattern (SPEC L-10). Only known vague shapes are recognised, and nothing
# is refused: a vague description gets the stamp of the session, as seed 000 asks, and the caller gets a notice.

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
