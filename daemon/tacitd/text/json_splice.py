"""Adding, changing and removing a value in JSON text without changing any other byte. Pure.

Programs and people both write settings files, and each formats them differently. A value is added at the end of its array
or object, in the style of what is there, and removed with exactly the bytes that were added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily

_SPACE = compile_lazily(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
INDENT = "  "
"""The indent of a document that has none to follow."""

MOST_CHANGES = 100
"""Each change scans the text again, so a document that differs in more values is written anew."""

Step = str | int


class _Member(Struct, frozen=True):
    """One value in a container, with its offsets: of its key (of the value in an array), of the value, and its end."""

    step: Step
    start: int
    value: int
    end: int


class _Container(Struct, frozen=True):
    """An object or an array: the offsets after its opening and of its closing bracket, and its members."""

    inner: int
    close: int
    members: tuple[_Member, ...]


def change_json_values(text: str, old: Any, new: Any, path: tuple[Step, ...] = (), *, width: int = 0) -> str:
    """Given a text in which `old` is the value at `path`, return one in which `new` is, and in which what both have keeps its bytes.

    Of keys in another order, the order stays. Raises ValueError if the text is no object, or more than MOST_CHANGES values
    differ. `width`: as for `_dump`.
    """
    changes = _list_changes(old, new, path, width)
    if len(changes) > MOST_CHANGES:
        raise ValueError(f"{len(changes)} values differ")
    for change in changes:
        text = change(text)
    return text


def _list_changes(old: Any, new: Any, path: tuple[Step, ...], width: int) -> list[Callable[[str], str]]:
    """The changes, in order, that make `new` of `old` at `path`. Additions come first: a container that is emptied is removed."""
    if _is_same(old, new):
        return []
    made, gone = list[Callable[[str], str]](), list[Step]()
    if isinstance(old, dict) and isinstance(new, dict) and (new or not path):
        for key, value in new.items():
            made += (
                _list_changes(old[key], value, (*path, key), width)
                if key in old
                else [_put((*path, key), value, width)]
            )
        gone = [key for key in old if key not in new]
    elif isinstance(old, list) and isinstance(new, list) and new:
        kept = 0
        for index, value in enumerate(old):
            if len(new) >= len(old):
                made += _list_changes(value, new[index], (*path, index), width)
                kept += 1
            elif kept < len(new) and _is_same(value, new[kept]):
                kept += 1
            else:
                gone.insert(0, index)
        made += [partial(add_json_value, path=path, value=value, width=width) for value in new[kept:]]
    else:
        return [_put(path, new, width)]
    return made + [partial(remove_json_value, path=(*path, step)) for step in gone]


def _put(path: tuple[Step, ...], value: Any, width: int) -> Callable[[str], str]:
    return partial(put_json_value, path=path, value=value, width=width)


def _is_same(one: Any, other: Any) -> bool:
    """`==` ignores the order of keys, and takes `1` for `true`."""
    return json.dumps(one) == json.dumps(other)


def add_json_value(text: str, path: Sequence[Step], value: Any, *, width: int = 0) -> str:
    """Append `value` to the array at `path` (keys and indexes from the top), creating the array and objects that are missing.

    `text` is a JSON document whose top is an object. Raises ValueError if it is not, or if another kind of value is in
    the way. `width`: as for `_dump`.
    """
    place, depth = _skip_space(text, 0), 0
    if not text.startswith("{", place):
        raise ValueError("the document is not an object")
    container = _scan(text, place)
    for depth, key in enumerate(path, 1):
        found = next((one for one in container.members if one.step == key), None)
        if found is None:
            _refuse_index(path[depth - 1 :])
            made: Any = [value]
            for missing in reversed(path[depth:]):
                made = {missing: made}
            return _append(text, container, depth, made, str(key), width)
        place = found.value
        container = _scan(text, place)
        is_array = depth == len(path) or isinstance(path[depth], int)
        if text[place] != ("[" if is_array else "{"):
            raise ValueError(f"{_name(path[:depth])} has another kind of value than expected")
    return _append(text, container, depth + 1, value, None, width)


def put_json_value(
    text: str, path: Sequence[Step], value: Any, *, width: int = 0, order: Sequence[str] = ()
) -> str:
    """Set the member at `path` (keys and indexes from the top), in its place if it is there, otherwise at the end of its object;
    objects that are missing are made.

    `text` is a JSON document whose top is an object. Raises ValueError if it is not, or if a value that is no object is in
    the way. `width`: as for `_dump`. `order`: keys of the top; a new one of them goes before those that follow it here.
    """
    place = _skip_space(text, 0)
    for depth, key in enumerate(path, 1):
        if not text.startswith("[" if isinstance(key, int) else "{", place):
            raise ValueError(f"{_name(path[: depth - 1]) or 'the document'} is not an object")
        container = _scan(text, place)
        found = next((one for one in container.members if one.step == key), None)
        if found is None:
            _refuse_index(path[depth - 1 :])
            made: Any = value
            for missing in reversed(path[depth:]):
                made = {missing: made}
            later = order[order.index(key) + 1 :] if depth == 1 and key in order else ()
            follower = next((one for one in container.members if one.step in later), None)
            if follower is not None:
                return _insert(text, follower, made, str(key), width)
            return _append(text, container, depth, made, str(key), width)
        if depth == len(path):
            lead = text[text.rfind("\n", 0, found.start) + 1 : found.start]
            lead = f"\n{lead}" if "\n" in text and not lead.strip() else ""
            return text[: found.value] + _render(text, value, None, lead, width) + text[found.end :]
        place = found.value
    raise ValueError("the path is empty")


def _refuse_index(missing: Sequence[Step]) -> None:
    if any(isinstance(step, int) for step in missing):
        raise ValueError(f"there is no {_name(missing)}")


def _name(path: Sequence[Step]) -> str:
    return ".".join(map(str, path))


def remove_json_value(text: str, path: Sequence[Step]) -> str:
    """Remove the value at `path` (keys and indexes from the top), and each container that is empty then, except the top.

    Raises ValueError if there is no such value.
    """
    container, trail = _scan(text, _skip_space(text, 0)), list[tuple[_Container, int]]()
    for step in path:
        index = next((n for n, one in enumerate(container.members) if one.step == step), None)
        if index is None:
            raise ValueError(f"there is no {step!r}")
        trail.append((container, index))
        if len(trail) < len(path):
            container = _scan(text, container.members[index].value)
    while len(trail) > 1 and len(trail[-1][0].members) == 1:
        trail.pop()
    container, index = trail[-1]
    one = container.members[index]
    if len(container.members) == 1:
        return text[: container.inner] + text[container.close :]
    if index:
        # With the comma before it; the first member goes with the comma after it. JSON allows none at the end.
        return text[: container.members[index - 1].end] + text[one.end :]
    return text[: one.start] + text[container.members[1].start :]


def _insert(text: str, follower: _Member, value: Any, key: str, width: int) -> str:
    """Add a member before another one, with the white space that is before that one."""
    before = text[: follower.start]
    lead = before[len(before.rstrip(" \t\r\n")) :]
    return f"{before}{_render(text, value, key, lead, width)},{lead}{text[follower.start :]}"


def _append(text: str, container: _Container, depth: int, value: Any, key: str | None, width: int) -> str:
    """Add a member at the end. `depth`: of the new member, 1 in the top object."""
    members = container.members
    if members:
        # What is before the last member is repeated, so the new one is formatted like its neighbours.
        before = text[container.inner if len(members) == 1 else members[-2].end : members[-1].start]
        lead = before[before.find(",") + 1 :]
        if len(members) == 1 and not lead and not _is_compact(text):
            lead = " "
        at, tail = members[-1].end, text[members[-1].end :]
        opening = ","
    else:
        unit = _find_indent(text)
        newline = "\r\n" if "\r\n" in text else "\n"
        lead = f"{newline}{unit * depth}" if unit else ""
        at, opening = container.inner, ""
        tail = (f"{newline}{unit * (depth - 1)}" if unit else "") + text[container.close :]
    return text[:at] + opening + lead + _render(text, value, key, lead, width) + tail


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
    """Scan an object or an array that begins at `start`. Raises ValueError if it is neither, or is damaged."""
    if text[start : start + 1] not in ("{", "["):
        raise ValueError("neither an object nor an array")
    is_object, at, members = text[start] == "{", _skip_space(text, start + 1), list[_Member]()
    while text[at : at + 1] not in ("}", "]"):
        first, step = at, len(members)
        name: Step = step
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, at)
            if text[at : at + 1] != ":":
                raise ValueError("a key without a value")
            at = _skip_space(text, at + 1)
        value = at
        # Decoded for its end only. A bracket in a string cannot mislead it.
        _, at = _DECODER.raw_decode(text, at)
        members.append(_Member(name, first, value, at))
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] not in ("}", "]"):
            raise ValueError("a comma is missing")
    return _Container(start + 1, at, tuple(members))


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
