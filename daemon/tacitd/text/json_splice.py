"""Changing a JSON text into one of other values, in which what both have keeps its bytes. Pure.

Programs and people both write these files, and each formats them differently. A value is added at the end of its array
or object, in the style of what is there, and removed with exactly the bytes that were added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tacitd.text.lazy_pattern import compile_lazily

_SPACE = compile_lazily(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
INDENT = "  "
"""The indent of a document that has none to follow."""


class _Member(NamedTuple):
    """One value in a container, with its offsets: of its key (of the value in an array), of the value, and its end."""

    step: str | int
    start: int
    value: int
    end: int
    data: Any


class _Container(NamedTuple):
    """An object or an array: the offsets after its opening and of its closing bracket."""

    inner: int
    close: int
    members: list[_Member]


def rewrite_json(text: str, new: dict[str, Any], *, width: int = 0, order: Sequence[str] = ()) -> str:
    """Given a text whose top is an object, return one with the value `new`. What both have keeps its bytes and its order; in an array,
    elements stay in their places, or are removed. Raises ValueError if the text is no object.

    `width`: an array without objects and arrays that is new is on one line if it has at most so many characters. `order`: keys of the
    top; a new one of them goes before those that follow it here, any other one to the end.
    """
    start = _skip_space(text, 0)
    if not text.startswith("{", start):
        raise ValueError("the document is not an object")
    container = _scan(text, start)
    return text[:start] + _rewrite(text, container, new, 1, width, order) + text[container.close + 1 :]


def _rewrite(text: str, old: _Container, new: Any, depth: int, width: int, order: Sequence[str] = ()) -> str:
    """A container with other members. `depth`: of its members, 1 in the top object."""
    members, opening, closing = old.members, text[old.inner - 1], text[old.close]
    if not new:
        return text[old.inner - 1 : old.close + 1] if not members else opening + closing
    if isinstance(new, dict):
        last = {member.step: at for at, member in enumerate(members)}
        kept = {at: new[one.step] for at, one in enumerate(members) if one.step in new}
        # Of a key that is there twice, the last one counts.
        kept |= {at: members[at].data for at in kept if last[members[at].step] != at}
        ranks = {key: rank for rank, key in enumerate(order)}
        fresh = sorted((key for key in new if key not in last), key=lambda key: ranks.get(key, len(order)))
        added: list[tuple[str | None, Any]] = [(key, new[key]) for key in fresh]
    else:
        kept = _align([member.data for member in members], new)
        added = [(None, value) for value in new[len(kept) :]]
    lead = _find_lead(text, old, depth)
    made = ""
    for at, value in kept.items():
        one = members[at]
        before = text[members[at - 1].end : one.start] if made else text[old.inner : members[0].start]
        if isinstance(new, dict):
            earlier = [
                (key, each) for key, each in added if key in order and one.step in order[order.index(key) :]
            ]
            for key, each in earlier:
                own_lead = before[len(before.rstrip(" \t\r\n")) :]
                made += before + _render(text, each, key, own_lead, width)
                before = f",{own_lead}"
            added = [each for each in added if each not in earlier]
        made += before + text[one.start : one.value] + _rewrite_value(text, one, value, depth, width)
    for key, value in added:
        made += ("," if made else "") + lead + _render(text, value, key, lead, width)
    if members:
        tail = text[members[-1].end : old.close]
    else:
        tail = lead.removesuffix(_find_indent(text)) if lead else ""
    return opening + made + tail + closing


def _rewrite_value(text: str, old: _Member, new: Any, depth: int, width: int) -> str:
    if json.dumps(old.data) == json.dumps(new):  # `==` takes 1 for true
        return text[old.value : old.end]
    if (isinstance(old.data, dict) and isinstance(new, dict)) or (
        isinstance(old.data, list) and isinstance(new, list)
    ):
        return _rewrite(text, _scan(text, old.value), new, depth + 1, width)
    lead = text[text.rfind("\n", 0, old.start) + 1 : old.start]
    lead = f"\n{lead}" if "\n" in text and not lead.strip() else ""
    return _render(text, new, None, lead, width)


def _align(old: list[Any], new: list[Any]) -> dict[int, Any]:
    """Which old elements stay, with their new values: all if there are at least as many new ones, otherwise the equal ones, in order."""
    if len(new) >= len(old):
        return dict(zip(range(len(old)), new, strict=False))
    kept: dict[int, Any] = {}
    for at, value in enumerate(old):
        if len(kept) < len(new) and json.dumps(value) == json.dumps(new[len(kept)]):
            kept[at] = value
    return kept


def _find_lead(text: str, old: _Container, depth: int) -> str:
    """The white space before a member that is added."""
    members = old.members
    if members:
        # What is before the last member is repeated, so the new one is formatted like its neighbours.
        before = text[old.inner if len(members) == 1 else members[-2].end : members[-1].start]
        lead = before[before.find(",") + 1 :]
        return " " if len(members) == 1 and not lead and not _is_compact(text) else lead
    unit = _find_indent(text)
    return ("\r\n" if "\r\n" in text else "\n") + unit * depth if unit else ""


def _render(text: str, value: Any, key: str | None, lead: str, width: int) -> str:
    """The member as text: on several lines if the document is, indented like `lead`, the white space before it."""
    unit = _find_indent(text) if "\n" in lead else ""
    if unit:
        made = _dump(value, unit, lead.rpartition("\n")[2], width - len(key or ""))
        newline = "\r\n" if "\r\n" in text else "\n"
        made = made.replace("\n", newline)
        return made if key is None else f"{json.dumps(key, ensure_ascii=False)}: {made}"
    compact = (",", ":") if _is_compact(text) else (", ", ": ")
    made = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=compact)
    return made if key is None else json.dumps(key, ensure_ascii=False) + compact[1] + made


def _dump(value: Any, unit: str, indent: str, width: int) -> str:
    """The value on several lines, but a list without objects and lists on one if it has at most `width` characters."""
    inner = indent + unit
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        line = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if len(line) <= width:
            return line
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, dict):
        pairs = ((json.dumps(key, ensure_ascii=False), each) for key, each in value.items())
        rows = [f"{key}: {_dump(each, unit, inner, width - len(key))}" for key, each in pairs]
    else:
        rows = [_dump(each, unit, inner, width) for each in value]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return "\n".join([opening, ",\n".join(inner + row for row in rows), indent + closing])


def _is_compact(text: str) -> bool:
    """Whether the document has no white space after its colons."""
    return re.search(r'"\s*:\S', text) is not None


def _find_indent(text: str) -> str:
    """The white space before the first member on a line of its own; INDENT if there are no members; "" on one line."""
    found = re.search(r"[\[{]\r?\n([ \t]+)", text)
    if found is not None:
        return found[1]
    return INDENT if not text.strip("{}\ufeff \t\r\n") else ""


def _scan(text: str, start: int) -> _Container:
    """Scan an object or an array that begins at `start`. Raises ValueError if it is damaged."""
    is_object, at, members = text[start] == "{", _skip_space(text, start + 1), list[_Member]()
    while text[at : at + 1] not in ("}", "]"):
        first = at
        step: str | int = len(members)
        if is_object:
            step, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, at)
            if text[at : at + 1] != ":":
                raise ValueError("a key without a value")
            at = _skip_space(text, at + 1)
        value = at
        data, at = _DECODER.raw_decode(text, at)
        members.append(_Member(step, first, value, at, data))
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] not in ("}", "]"):
            raise ValueError("a comma is missing")
    return _Container(start + 1, at, members)


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
