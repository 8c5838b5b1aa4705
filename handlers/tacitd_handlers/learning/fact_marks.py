"""The mark of a fact: which prompts it comes from, and whether it corrects the assistant (SPEC S-01, S-36). Pure.

Marks are stored beside the facts, one for each, in the handler's log and in the raw file:

    {"facts": ["Use pnpm", "Prefers tabs"], "marks": [{"of": ["u3"], "corrected": true}, {}]}

Facts that were stored before marks existed, and facts of other tools, have none. Some of those begin with "Corrected:"
(seed 003); `split_corrected` reads that as a mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.text_parts import is_cjk

_WORDS = (
    r"correct(?:ed|ion)|korrigiert|korrektur|berichtigt|corregid[oa]|correcci[oó]n|corrig[eé]e?|correzione|corretto|corrigid[oa]|"
    r"correção|gecorrigeerd|correctie|訂正|更正|纠正|정정|исправлено|исправление"
)
"""How models write "Corrected" in the languages of the labelled messages and their neighbours."""
_COPIED = compile_lazily(
    rf"(?:[\[【]\d{{1,3}}[\]】]\s*|(?:\*\*|__)?(?:{_WORDS}|AGAIN)(?:\*\*|__)?\s*[:：](?:\*\*|__)?\s*)+(?=\S)",
    re.IGNORECASE,
)
_ONLY_MARKS = compile_lazily(rf"(?:\W*(?:{_WORDS}|AGAIN)\b)+\W*", re.IGNORECASE)
_NOTE = compile_lazily(r"\s*\(an existing line(?:, \d{4}-\d\d-\d\d)?\)$")
_CORRECTED = compile_lazily(
    rf"(?:\*\*|__)?(?:{_WORDS})(?:\*\*|__)?\s*[:：](?:\*\*|__)?\s*(?=\S)", re.IGNORECASE
)


class FactMark(Struct, frozen=True):
    """What is known about one fact beside its text."""

    prompts: tuple[str, ...] = ()
    """Ids of the prompts that it was extracted from. () if the answer does not tell: any prompt of the batch."""
    corrected: bool = False
    """Whether the person corrected what the assistant did or said."""
    again: bool = False
    """Whether the fact is a line that is written already. It was corrected again, so its words are to become a rule."""

    def to_record(self) -> dict[str, Any]:
        """Return JSON without empty fields: `{"of": ["u3"], "corrected": true}`."""
        record: dict[str, Any] = {"of": list(self.prompts)} if self.prompts else {}
        return record | {name: True for name in ("corrected", "again") if getattr(self, name)}


NO_MARK = FactMark()


def read_marks(value: Any, number: int) -> tuple[FactMark, ...]:
    """Return `number` marks from their JSON. What is missing or not a mark is NO_MARK, so old records are valid."""
    given = value if isinstance(value, list) else []
    marks = [_read_mark(one) for one in given[:number]]
    return (*marks, *[NO_MARK] * (number - len(marks)))


def split_corrected(fact: str) -> tuple[str, bool]:
    """Return a fact without a leading "Corrected:", and whether it had one."""
    # `find` and not `in`: a damaged record may have an object or a list here, which must not count as a fact.
    found = _CORRECTED.match(fact) if fact.find(":") >= 0 or fact.find("：") >= 0 else None
    if found is None:
        return fact, False
    text = fact[found.end() :]
    return (text if is_cjk(text) else text[:1].upper() + text[1:]), True


def is_only_marks(text: str) -> bool:
    """Whether a line of an answer has marks and no fact: "[3] Corrected: AGAIN:"."""
    return _ONLY_MARKS.fullmatch(text) is not None


def strip_copied_marks(text: str) -> str:
    """Return a line of Stage 2's answer without the marks that its prompt puts around the numbered facts."""
    marked = _COPIED.match(text)
    plain = _NOTE.sub("", text[marked.end() :] if marked else text)
    return plain[:1].upper() + plain[1:] if marked else plain


def split_all_corrected(
    facts: Sequence[str], marks: Sequence[FactMark]
) -> tuple[tuple[str, ...], tuple[FactMark, ...]]:
    """Return facts without a leading "Corrected:", and their marks with what it says."""
    split = [split_corrected(fact) for fact in facts]
    changed = (
        replace(mark, corrected=mark.corrected or corrected)
        for mark, (_, corrected) in zip(marks, split, strict=True)
    )
    return tuple(text for text, _ in split), tuple(changed)


def _read_mark(record: Any) -> FactMark:
    if not isinstance(record, Mapping):
        return NO_MARK
    prompts = record.get("of")
    ids = tuple(one for one in prompts if isinstance(one, str)) if isinstance(prompts, list) else ()
    return FactMark(ids, record.get("corrected") is True, record.get("again") is True)
