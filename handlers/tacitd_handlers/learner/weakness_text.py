"""The format of one entry of Known Weaknesses (SPEC L-07). Text in, fields out, and changed fields spliced back.

A well-formed entry has four lines, and formatting what was parsed gives the same bytes. A malformed entry is read as
far as possible, and only the fields that change are rewritten.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learner.vocabulary import STATUSES, strip_placeholder, time_of
from tacitd_handlers.learner.weakness_rules import Weakness

if TYPE_CHECKING:
    from tacitd.contract import Leaf

RESOLVED = "Resolved"
_START = compile_lazily(r"[-*+] +\*\*(?P<label>.+?)\*\*[ \t]*(?:[—–:-]+[ \t]*)?(?P<rest>.*)$", re.S)
_FIELDS = {
    "First observed": "first",
    "Last tested": "tested",
    "Last failed": "failed",
    "Last clean streak start": "streak",
    "Sessions since last failure": "clean",
    "Status": "status",
}
_FIELD = compile_lazily(rf"({'|'.join(_FIELDS)}):[ \t]*([^.\n]*)")


class WeaknessEntry(Struct, frozen=True):
    """The fields of an entry. None: missing or malformed."""

    label: str
    description: str
    text: str
    """Its lines, without the last newline."""
    first: str | None = None
    tested: str | None = None
    failed: str | None = None
    streak: str | None = None
    clean: int | None = None
    status: str | None = None
    leaf: Leaf = ""
    """Its name in the profile."""

    @property
    def resolved(self) -> bool:
        """Whether it is below `### Resolved`."""
        return self.leaf.startswith(f"{RESOLVED}\n")

    @property
    def dates(self) -> tuple[str, str, str]:
        """First observed, Last tested and Last failed, "" for what is missing."""
        return self.first or "", self.tested or "", self.failed or ""

    @property
    def missing_fields(self) -> list[str]:
        """The names of the missing or malformed fields."""
        return [name for name, field in _FIELDS.items() if getattr(self, field) is None]

    def as_weakness(self, tag: str) -> Weakness:
        """The fields as a weakness with this tag; "" and 0 for what is missing."""
        return Weakness(tag, self.status or "", *self.dates, self.streak or "", self.clean or 0)


def parse_entry(text: str, leaf: Leaf = "") -> WeaknessEntry | None:
    """Given an entry's lines, return its fields. None if they are not an entry."""
    head, body = _cut(text)
    found = _START.match(re.sub(r"\s*\n\s*", " ", head).rstrip())
    if found is None:
        return None
    values = dict(reversed(_FIELD.findall(body)))
    given = {field: values[name].strip() for name, field in _FIELDS.items() if name in values}
    clean, status = given.pop("clean", ""), given.pop("status", None)
    stamps = {field: strip_placeholder(value) for field, value in given.items()}
    return WeaknessEntry(
        found["label"].strip(),
        found["rest"].strip().removesuffix("."),
        text,
        **{field: value for field, value in stamps.items() if not value or time_of(value) is not None},
        clean=int(clean) if re.fullmatch(r"\d{1,9}", clean, re.ASCII) else None,
        status=status if status in STATUSES else None,
        leaf=leaf,
    )


def format_entry(label: str, description: str, weakness: Weakness) -> str:
    """The four lines of an entry (SPEC L-07, L-12)."""
    ended = description if description.endswith((".", "!", "?")) else f"{description}."
    w = weakness
    return (
        f"- **{label}** — {ended}\n"
        f"  First observed: {w.first}. Last tested: {w.tested}. Last failed: {w.failed}.\n"
        f"  Last clean streak start: {w.streak}. Sessions since last failure: {w.clean}.\n"
        f"  Status: {w.status}"
    )


def update_entry(text: str, weakness: Weakness) -> str:
    """The entry with these fields; all other bytes stay. Missing fields are appended.

    A field that says the same in another spelling, such as `none` for an empty streak, stays too.
    """
    head, body = _cut(text)
    left = {name: str(getattr(weakness, field)) for name, field in _FIELDS.items()}

    def put(found: re.Match[str]) -> str:
        value, there = left.pop(found[1], None), found[2].strip()
        is_same = value == there or (found[1] != "Status" and there and value == strip_placeholder(there))
        return found[0] if value is None or is_same else f"{found[1]}: {value}"

    body = _FIELD.sub(put, body)
    return (
        head
        + body
        + "".join(f"\n  {name}: {value}" + "." * (name != "Status") for name, value in left.items())
    )


def _cut(text: str) -> tuple[str, str]:
    """The entry's text up to its first field, and the rest. Fields in the first line count if there is no other."""
    found = _FIELD.search(text, max(0, text.find("\n"))) or _FIELD.search(text)
    at = found.start() if found else len(text)
    return text[:at], text[at:]


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
_OBSERVED = compile_lazily(r"\(observed \d{4}-\d{2}-\d{2}T\d{2}:\d{2}\)")


def is_specific(description: str) -> bool:
    """Whether a description contains a stamp, or enough words that are not vague."""
    if _OBSERVED.search(description):
        return True
    significant = [word for word in _WORD.findall(_WEAK.sub(" ", description)) if not _VAGUE.fullmatch(word)]
    return len(significant) >= (2 if _WEAK.search(description) else 1)


def describe_gap(tag: str, description: str, problem: str, pattern: str, stamp: str) -> tuple[str, bool]:
    """Given the description of a new gap ("" for none), return the text to write, and whether it was specific."""
    text = sanitize_line(description.replace("**", "")).rstrip(".")
    if not text:
        words = re.sub(r"[_.:-]+", " ", tag.partition(":")[2] or tag).strip() or tag
        text = f"{words}, seen in {problem} ({pattern})"
    elif is_specific(text):
        return text, True
    return f"{text} (observed {stamp})", False
