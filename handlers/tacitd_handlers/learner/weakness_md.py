"""One entry of Known Weaknesses, as lines (SPEC L-07). Lines in, fields out, and changed fields put back in place.

A well-formed entry is four lines; formatting what was parsed gives the same bytes. One that a person or Claude wrote
otherwise is read as far as it can be, and only the fields that change are touched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tacitd_handlers.learner.lifecycle import Weakness
from tacitd_handlers.learner.words import STATUSES, time_of, written

STARTS = re.compile(r"[-*+] +\*\*(?P<label>.+?)\*\*[ \t]*(?:[—–:-]+[ \t]*)?(?P<rest>.*)$")
_FIELDS = {
    "first": "First observed",
    "tested": "Last tested",
    "failed": "Last failed",
    "streak": "Last clean streak start",
    "clean": "Sessions since last failure",
    "status": "Status",
}
_ANY_FIELD = re.compile("|".join(f"{name}:" for name in _FIELDS.values()))


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says. Fields that are not there, or cannot be read, are None."""

    label: str
    description: str
    first: str | None = None
    tested: str | None = None
    failed: str | None = None
    streak: str | None = None
    clean: int | None = None
    status: str | None = None

    @property
    def faults(self) -> tuple[str, ...]:
        """The fields that are missing or cannot be read."""
        return tuple(name for field, name in _FIELDS.items() if getattr(self, field) is None)


def parse_entry(lines: Sequence[str]) -> Entry | None:
    """Given an entry's lines without their newlines, return what it says; None where they are no entry."""
    found = STARTS.match(lines[0]) if lines else None
    if found is None:
        return None
    head, body = _cut(lines)
    start = STARTS.match(re.sub(r"\s*\n\s*", " ", head).rstrip())
    description = start["rest"].strip().removesuffix(".") if start is not None else ""
    said = {field: _value(body, name) for field, name in _FIELDS.items()}
    stamps = {field: _stamp(said[field]) for field in ("first", "tested", "failed", "streak")}
    count, status = said["clean"], said["status"]
    return Entry(
        found["label"].strip(),
        description,
        **stamps,
        clean=int(count) if count is not None and re.fullmatch(r"\d{1,9}", count, re.ASCII) else None,
        status=status if status in STATUSES else None,
    )


def format_entry(label: str, description: str, weakness: Weakness) -> list[str]:
    """The four lines of the seed (SPEC L-07, L-12)."""
    ended = description if description.endswith((".", "!", "?")) else f"{description}."
    w = weakness
    return [
        f"- **{label}** — {ended}",
        f"  First observed: {w.first}. Last tested: {w.tested}. Last failed: {w.failed}.",
        f"  Last clean streak start: {w.streak}. Sessions since last failure: {w.clean}.",
        f"  Status: {w.status}",
    ]


def updated(lines: Sequence[str], weakness: Weakness) -> list[str]:
    """The entry with this weakness' fields; every other byte stays. Fields that are missing come at its end."""
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
    """Whether what stands there says this already, in other letters (`none` for an empty streak)."""
    return field != "status" and text is not None and written(text) == value and bool(value or text)


def _cut(lines: Sequence[str]) -> tuple[str, str]:
    """The label and description, and from the first field on the rest."""
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
    """A stamp, "" for none of it, None for what is neither."""
    if text is None:
        return None
    bare = written(text)
    return bare if not bare or time_of(bare) is not None else None
