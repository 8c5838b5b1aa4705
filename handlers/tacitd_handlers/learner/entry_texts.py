"""The formats of one entry of Known Weaknesses and of one of Session History. Text in, fields out, and changed fields spliced back.

A well-formed weakness has four lines (SPEC L-07), and formatting what was parsed gives the same bytes. A malformed entry is
read as far as possible, and only the fields that change are rewritten.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line, sanitize_text
from tacitd_handlers.learner.ledger_file import (
    STAMP,
    STATUSES,
    LedgerRow,
    name_of,
    strip_placeholder,
    time_of,
)
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
    """An entry. A field is None if it is missing or malformed; the leaf is its name in the profile."""

    label: str
    description: str
    text: str
    first: str | None = None
    tested: str | None = None
    failed: str | None = None
    streak: str | None = None
    clean: int | None = None
    status: str | None = None
    leaf: Leaf = ""

    @property
    def resolved(self) -> bool:
        return self.leaf.startswith(f"{RESOLVED}\n")

    @property
    def dates(self) -> tuple[str, str, str]:
        return self.first or "", self.tested or "", self.failed or ""

    @property
    def missing_fields(self) -> list[str]:
        return [name for name, field in _FIELDS.items() if getattr(self, field) is None]

    def as_weakness(self, tag: str) -> Weakness:
        """The fields, with "" and 0 for what is missing."""
        return Weakness(tag, self.status or "", *self.dates, self.streak or "", self.clean or 0)


def parse_entry(text: str, leaf: Leaf = "") -> WeaknessEntry | None:
    """The fields of an entry's lines; None if they are not an entry."""
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
    more = (f"\n  {name}: {value}" + "." * (name != "Status") for name, value in left.items())
    return head + body + "".join(more)


def _cut(text: str) -> tuple[str, str]:
    """The entry's text up to its first field, and the rest. Fields in the first line count if there is no other."""
    found = _FIELD.search(text, max(0, text.find("\n"))) or _FIELD.search(text)
    at = found.start() if found else len(text)
    return text[:at], text[at:]


# --- descriptions: whether one names an input class or a code pattern (SPEC L-10). Only known vague shapes are recognised, and nothing
# is refused: a vague description gets the stamp of the session, as seed 000 asks.

_VAGUE_WORDS = (
    "struggles struggle struggling bad weak poor not good trouble difficulty difficulties issue issues problem problems "
    "need needs needed work unsure confused get gets stuck has hard time with at on in the a an some of and more about "
    "handling general often sometimes still edge corner case cases thing things stuff basic basics concept concepts "
    "coding code algorithm algorithms data structure structures detail details logic mistake mistakes error errors bug "
    "bugs practice careless this that it them is are to be lot"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())
_WORD = compile_lazily(r"[A-Za-z][A-Za-z']*|\d+")
_OBSERVED = compile_lazily(r"\(observed \d{4}-\d{2}-\d{2}T\d{2}:\d{2}\)")


def is_specific(description: str) -> bool:
    """Whether a description contains a stamp, or two words that are not vague."""
    significant = [word for word in _WORD.findall(description) if word.lower() not in _VAGUE]
    return _OBSERVED.search(description) is not None or len(significant) >= 2


def describe_gap(tag: str, description: str, row: LedgerRow) -> str:
    """The text to write for a new gap, whose given description may be ""."""
    text = sanitize_line(description.replace("**", "")).rstrip(".")
    if not text:
        words = re.sub(r"[_.:-]+", " ", tag.partition(":")[2] or tag).strip() or tag
        text = f"{words}, seen in {row.problem} ({row.pattern})"
    elif is_specific(text):
        return text
    return f"{text} (observed {row.stamp})"


# --- one entry of Session History (SPEC L-32 to L-36). Only a line that matches the whole header starts an entry; the lines below it are
# its observations. Lines of an observation that look like structure are escaped on write.

_HEADER = compile_lazily(
    rf"###[ \t]+(?P<stamp>{STAMP})[ \t]*\|(?P<problem>.+)\|[ \t]*(?P<mode>[A-Za-z_-]+)[ \t]*"
    r"\|[ \t]*(?P<verdict>[A-Za-z_-]+)[ \t]*(?:\r?\n|$)",
    re.ASCII,
)
_RULED = compile_lazily(r"(?P<data>(?:\w[\w ]*:.*\n|[ \t]*\n)*)-{3,}[ \t]*(?:\n|$)")
"""`Name: value` lines, and the rule below them."""
_DATA = compile_lazily(r"(?P<data>(?:(?:Gaps|Review):.*(?:\n|$))*)")
RECOVERED = "(recovered from ledger)"
NOTHING_SAID = "(no observations were given)"
LONGEST = 4000
"""Characters of observations that are written to the profile. """
_STRUCTURE = compile_lazily(r"^[ \t]*(?=#{1,6}(?:[ \t]|$)|-{3,}[ \t]*$|`{3,}|~{3,}|<!--)", re.M)

HistoryKey = tuple[str, str, str]
"""Stamp, problem and mode: the fields that an entry shares with its ledger row."""


class HistoryEntry(Struct, frozen=True):
    """An entry. Gaps and review are None if their line is missing; the leaf is its name in the profile."""

    stamp: str
    problem: str
    mode: str
    verdict: str
    gaps: str | None
    review: str | None
    observations: str
    text: str
    leaf: Leaf = ""

    @property
    def key(self) -> HistoryKey:
        return self.stamp, self.problem, self.mode


def parse_session(text: str, leaf: Leaf = "") -> HistoryEntry | None:
    head = _HEADER.match(text)
    if head is None or time_of(head["stamp"]) is None:
        return None
    ruled = _RULED.match(text, head.end())
    data = ruled["data"] if ruled else text[head.end() :]
    gaps, review = (re.search(rf"^{name}:(.*)$", data, re.M) for name in ("Gaps", "Review"))
    return HistoryEntry(
        head["stamp"],
        name_of(head["problem"]),
        head["mode"].lower(),
        head["verdict"],
        gaps[1].strip() if gaps else None,
        review[1].strip() if review else None,
        text[ruled.end() :].strip() if ruled else "",
        text,
        leaf,
    )


def format_session(row: LedgerRow, observations: str) -> str:
    """The lines of an entry for a ledger row (SPEC L-32, L-36)."""
    return (
        f"### {row.stamp} | {row.problem} | {row.mode} | {row.verdict}\n"
        f"Gaps: {row.gaps}\nReview: {row.review}\n---\n{escape_observations(observations)}"
    )


def correct_entry(session: HistoryEntry, row: LedgerRow) -> str:
    """The entry's lines with the verdict, gaps and review of its ledger row (SPEC L-38); the observations are unchanged.

    A header that is right keeps its bytes, also where a person spaced it differently.
    """
    head, _, rest = session.text.partition("\n")
    found = _RULED.match(rest) or _DATA.match(rest)
    kept = re.sub(r"^(?:Gaps|Review):.*(?:\n|$)", "", found["data"] if found else "", flags=re.M)
    wanted = format_session(row, "").split("\n")
    if session.verdict == row.verdict:
        wanted[0] = head
    body = rest[found.end() :] if found else rest
    return "\n".join((*wanted[:3], f"{kept}---", *([body] if body else ())))


def matches_row(session: HistoryEntry, row: LedgerRow) -> bool:
    return (session.verdict, session.gaps, session.review) == (row.verdict, row.gaps, row.review)


def escape_observations(observations: str) -> str:
    """The observations, sanitized and cut to `LONGEST`. Lines that look like a header, rule, fence or comment are escaped (SPEC L-34)."""
    text = sanitize_text(observations).strip()
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit(" ", 1)[0] + " …"
    return _STRUCTURE.sub(r"\\", text or NOTHING_SAID)
