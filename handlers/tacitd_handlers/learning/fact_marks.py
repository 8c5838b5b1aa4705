"""The mark of a fact: which prompts it comes from, and whether it corrects the assistant (SPEC S-01, S-36). Pure.

Marks are stored beside the facts, one for each, in the handler's log and in the raw file:

    {"facts": ["Use pnpm", "Prefers tabs"], "marks": [{"of": ["u3"], "corrected": true}, {}]}

Facts of other tools have none. Some of those begin with "Corrected:" (seed 003); `split_corrected` reads that as a mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily

_CORRECTED = compile_lazily(r"corrected:\s*(?=\S)", re.IGNORECASE)
_COPIED = compile_lazily(r"(?:\[\d{1,3}\]\s*|corrected:\s*)+(?=\S)", re.IGNORECASE)
_NOTE = compile_lazily(
    r"\s*\((?:\d{4}-\d\d-\d\d|an L line, said again|left out before|said \d+ times?\b)(?:, [^()]*| in [^()]*)?\)$"
)


class FactMark(Struct, frozen=True):
    """What is known about one fact beside its text."""

    prompts: tuple[str, ...] = ()
    """Ids of the prompts that it was extracted from. () if that is not known: any prompt of the batch."""
    corrected: bool = False
    """Whether the person corrected what the assistant did or said."""
    again: bool = False
    """Whether the fact is a line that is written already. It was corrected again, so its words are to become a rule."""
    is_about_person: bool = False
    """Whether it says who the person is, or how they want to be answered in every project."""

    def to_record(self) -> dict[str, Any]:
        """Return JSON without empty fields: `{"of": ["u3"], "corrected": true, "about": "person"}`."""
        record: dict[str, Any] = {"of": list(self.prompts)} if self.prompts else {}
        record |= {name: True for name in ("corrected", "again") if getattr(self, name)}
        return record | ({"about": "person"} if self.is_about_person else {})


NO_MARK = FactMark()


def read_marks(value: Any, number: int) -> tuple[FactMark, ...]:
    """Return `number` marks from their JSON. What is missing or not a mark is NO_MARK."""
    given = value if isinstance(value, list) else []
    marks = [_read_mark(one) for one in given[:number]]
    return (*marks, *[NO_MARK] * (number - len(marks)))


def split_corrected(fact: str) -> tuple[str, bool]:
    """Return a fact without a leading "Corrected:", and whether it had one."""
    found = _CORRECTED.match(fact)
    if found is None:
        return fact, False
    text = fact[found.end() :]
    return text[:1].upper() + text[1:], True


def strip_copied_marks(text: str) -> str:
    """Return a line of Stage 2's answer without the marks that its prompt puts around the numbered facts."""
    marked = _COPIED.match(text)
    plain = _NOTE.sub("", text[marked.end() :] if marked else text)
    return plain[:1].upper() + plain[1:] if marked else plain


def _read_mark(record: Any) -> FactMark:
    if not isinstance(record, Mapping):
        return NO_MARK
    prompts = record.get("of")
    ids = tuple(one for one in prompts if isinstance(one, str)) if isinstance(prompts, list) else ()
    return FactMark(
        ids, record.get("corrected") is True, record.get("again") is True, record.get("about") == "person"
    )
