"""The format of one entry of Session History (SPEC L-32 to L-36).

Text in, fields out, and changed fields spliced back. Only a line that matches the whole header starts an entry; the
lines below it are its observations. Lines of an observation that look like structure are escaped on write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.vocabulary import STAMP, name_of, time_of

if TYPE_CHECKING:
    from tacitd.contract import Leaf

_HEADER = re.compile(
    rf"###[ \t]+(?P<stamp>{STAMP})[ \t]*\|(?P<problem>.+)\|[ \t]*(?P<mode>[A-Za-z_-]+)[ \t]*"
    r"\|[ \t]*(?P<verdict>[A-Za-z_-]+)[ \t]*(?:\r?\n|$)",
    re.ASCII,
)
_RULED = re.compile(r"(?P<data>(?:\w[\w ]*:.*\n|[ \t]*\n)*)-{3,}[ \t]*(?:\n|$)")
"""`Name: value` lines, and the rule below them."""
_DATA = re.compile(r"(?P<data>(?:(?:Gaps|Review):.*(?:\n|$))*)")
RECOVERED = "(recovered from ledger)"
NOTHING_SAID = "(no observations were given)"
LONGEST = 4000
"""Characters of observations that are written to the profile. """
_STRUCTURE = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|-{3,}[ \t]*$|`{3,}|~{3,}|<!--)")

HistoryKey = tuple[str, str, str]
"""Stamp, problem and mode: the fields that an entry shares with its ledger row."""


class HistoryEntry(Struct, frozen=True):
    """The fields of an entry. None: the line is missing."""

    stamp: str
    problem: str
    mode: str
    verdict: str
    gaps: str | None
    review: str | None
    observations: str
    text: str
    """Its lines, without the last newline."""
    leaf: Leaf = ""
    """Its name in the profile."""

    @property
    def key(self) -> HistoryKey:
        """The identity of its header."""
        return self.stamp, self.problem, self.mode


def parse_session(text: str, leaf: Leaf = "") -> HistoryEntry | None:
    """Given an entry's lines, return its fields. None if they are not an entry."""
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
    """Whether an entry's verdict, gaps and review equal its row's, byte for byte (SPEC L-36)."""
    return (session.verdict, session.gaps, session.review) == (row.verdict, row.gaps, row.review)


def escape_observations(observations: str) -> str:
    """The observations as lines that cannot be taken for structure (SPEC L-34).

    They are sanitized and cut to `LONGEST`. Lines that look like a header, rule, fence or comment are escaped.
    """
    text = sanitize_text(observations).strip()
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit(" ", 1)[0] + " …"
    lines = [line.rstrip() for line in (text or NOTHING_SAID).split("\n")]
    return "\n".join("\\" + line.lstrip() if _STRUCTURE.match(line) else line for line in lines)
