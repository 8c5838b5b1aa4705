"""The formats of files that people edit too: which leaves a file has, and how one of them is changed. Pure.

Each keeps every byte that no change names: newlines, byte order mark, comments, order, indentation, and whatever it does not
understand. A plan stores the name of its format, so a name is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacitd.errors import FileRefusedError
from tacitd.text.json_splice import rewrite_json

if TYPE_CHECKING:
    from tacitd.contract import Format, Leaf

__all__ = ["Bullets", "JsonLeaves", "Lines", "bullet", "split_bullet"]

BOM = b"\xef\xbb\xbf"
WIDTH = 70
SEVERAL = 3
"""So many leaves that are gone at once may have been cut off, or an older copy was put back."""


def bullet(heading: str, text: str) -> Leaf:
    """The leaf of a line under a heading."""
    return f"{heading}\n{text}"


def split_bullet(leaf: Leaf) -> tuple[str, str]:
    """The heading and the text of a line's leaf."""
    heading, _, text = leaf.partition("\n")
    return heading, text


def _are_several_gone(format: Format, base: Mapping[Leaf, str], now: Mapping[Leaf, str]) -> bool:
    gone = base.keys() - now.keys()
    return len(gone) >= SEVERAL and len(gone - format.pair_reworded(list(base), list(now)).keys()) >= SEVERAL


class Bullets:
    """Markdown: a leaf is a list item, named by its heading and text; its value is its text.

    A leaf that gets another text is reworded in its place; its name then has the new text.
    """

    def __init__(
        self, title: str = "", first: str = "", order: Sequence[str] = (), *, keeps_headings: bool = False
    ) -> None:
        """`title`: of a file that is made. `first`: the line that a generated file begins with, if it has one. `order`: headings, of
        which one that is added is put before those behind it. `keeps_headings`: whether a heading stays whose last line is removed,
        because it is the person's."""
        self.title = title
        self._first = first
        self._later = {heading: order[at + 1 :] for at, heading in enumerate(order)}
        self._keeps_headings = keeps_headings
        given = {"title": title, "first": first, "order": list(order), "keeps_headings": keeps_headings}
        options = {key: value for key, value in given.items() if value}
        self.is_generated = bool(first)
        self.name = f"bullets {json.dumps(options, ensure_ascii=False)}" if options else "bullets"

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        """See `Format`. Of a line that is there twice, both are one leaf."""
        from tacitd.text.markdown import lines_of  # as below: commands that only read JSON need none of it

        return {bullet(heading, text): text for heading, text in lines_of(data)}

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        from tacitd.text.markdown import arrange_lines, put_lines, swap_line, take_lines

        if self.is_generated and (data or changes):
            data = self._mend(data or b"", changes)
        now = self.read_leaves(data) if data else {}
        gone = [split_bullet(leaf) for leaf, value in changes.items() if value is None and leaf in now]
        new = [(split_bullet(leaf)[0], value) for leaf, value in changes.items() if value and leaf not in now]
        for leaf, value in changes.items():
            if value is not None and leaf in now and now[leaf] != value:
                data = swap_line(data or b"", now[leaf], value)
        if gone:
            headings = [] if self._keeps_headings else [heading for heading, _ in gone]
            data = take_lines(data or b"", [text for _, text in gone], headings)
        if new:
            data = self._mend(data or b"", changes) if self.is_generated else data
            data = put_lines(data, new, self.title, self._later)
        if not self.is_generated:
            return data or b""
        data = arrange_lines(data or b"", [value for value in changes.values() if value])
        return b"" if self._is_frame(data, changes) else data

    def _mend(self, data: bytes, changes: Mapping[Leaf, str | None]) -> bytes:
        """A generated file with its first line, and with the headings of what is put; without a last line that is the beginning of one
        that is put, because the file was cut in it."""
        from tacitd.text.markdown import list_headings, normalise_heading

        text = _decode(data)
        if not text.strip():
            text = f"{self._first}\n\n# {self.title}\n"
        elif self._first not in text.splitlines():
            text = f"{self._first}\n{text}"
        if not text.endswith("\n"):
            kept, _, last = text.rpartition("\n")
            torn = last and any(
                value is not None and f"- {value}".startswith(last) for value in changes.values()
            )
            text = f"{kept}\n" if torn else f"{text}\n"
        known = set(list_headings(text.encode()))
        wanted = (split_bullet(leaf)[0] for leaf, value in changes.items() if value is not None)
        for heading in dict.fromkeys(wanted):
            if normalise_heading(heading) not in known:
                text += f"\n## {heading}\n\n"
        return text.encode()

    def _is_frame(self, data: bytes, leaves: Iterable[Leaf]) -> bool:
        """Whether nothing is left but what tacitd makes around these lines."""
        lines = {line.rstrip() for line in _decode(data).splitlines()}
        headings = {f"## {split_bullet(leaf)[0]}" for leaf in leaves}
        return lines <= {"", self._first, f"# {self.title}"} | headings

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`. A line with the same text under another heading was moved; otherwise, lines that are gone and lines that are
        new are paired if they stand between the same neighbours, as many of one as of the other."""
        gone, new = _differences(base, now)
        by_text = {split_bullet(leaf)[1]: leaf for leaf in new}
        pairs = {leaf: by_text[text] for leaf in gone if (text := split_bullet(leaf)[1]) in by_text}
        left = [leaf for leaf in base if leaf not in pairs]
        fresh = [leaf for leaf in now if leaf not in set(pairs.values())]
        return pairs | _pair_by_place(left, fresh)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`: several lines are gone at once, of a generated file more than half of them; or that lacks its first line, or ends
        in the beginning of one of tacitd's."""
        lines = [line.rstrip() for line in data.decode(errors="replace").splitlines()]
        if not self.is_generated:
            return _are_several_gone(self, base, self.read_leaves(data))
        now = self.read_leaves(data)
        gone = [value for leaf, value in base.items() if leaf not in now]
        last = "" if data.endswith(b"\n") or not lines else lines[-1]
        is_torn = bool(last) and any(f"- {value}".startswith(last) for value in gone)
        return self._first not in lines or is_torn or (len(gone) > 1 and 2 * len(gone) > len(base))


class Lines:
    """Text of lines: a leaf is a line; its value is the line. A line that is there twice is one leaf."""

    name = "lines"
    is_generated = False

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        """See `Format`. Lines without text are no leaves."""
        return {line: line for line in _decode(data).splitlines() if line.strip()}

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        text = _decode(data or b"")
        newline = "\r\n" if "\r\n" in text else "\n"
        kept = list[str]()
        there: set[Leaf] = set()
        for line in text.splitlines(keepends=True):
            words = line.rstrip("\r\n")
            there.add(words)
            if words not in changes or changes[words] == words:
                kept.append(line)
            elif (value := changes[words]) is not None:
                kept.append(value + line[len(words) :])
        added = [value for leaf, value in changes.items() if value is not None and leaf not in there]
        if added and kept and not kept[-1].endswith(("\n", "\r")):
            kept[-1] += newline
        return "".join([*kept, *(line + newline for line in added)]).encode()

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`: by their place between lines that stayed."""
        return _pair_by_place(base, now)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        return _are_several_gone(self, base, self.read_leaves(data))


class JsonLeaves:
    """A JSON object. A list of scalars that is new is on one line if it has at most WIDTH characters. A leaf is a value that is no object, named by its keys as a JSON list, and each scalar element of a list on
    its own, with the element in a list as last member. Its value is JSON."""

    is_generated = False

    def __init__(self, order: Sequence[str] = ()) -> None:
        """`order`: keys of the top. A new one of them goes before those that follow it here, any other one to the end."""
        self._order = tuple(order)
        self.name = f"json-leaves {json.dumps({'order': self._order})}" if order else "json-leaves"

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        found: dict[Leaf, str] = {}
        _collect(_parse(data), [], found)
        return found

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`. Objects that a new leaf needs are made, and removed when they are empty again."""
        bom = BOM if (data or b"").startswith(BOM) else b""
        text = _decode((data or b"")[len(bom) :]) or "{}\n"
        document = _parse(text.encode())
        for leaf, value in changes.items():
            _change_leaf(document, json.loads(leaf), value)
        return bom + rewrite_json(text, document, width=WIDTH, order=self._order).encode()

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`. A leaf keeps its name when its value changes."""
        return {}

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`. A truncated document does not parse, and is refused by `read_leaves`."""
        return False


def _collect(value: Any, path: list[Any], found: dict[Leaf, str]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _collect(item, [*path, key], found)
    elif isinstance(value, list) and value and all(not isinstance(item, dict | list) for item in value):
        for item in value:
            found[write_json([*path, [item]])] = write_json(item)
    elif path:
        found[write_json(path)] = write_json(value)


def write_json(value: Any) -> str:
    """A leaf's name or value. Half of a surrogate pair, which nothing can store, is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or text == text.encode(errors="replace").decode() else json.dumps(value)


def _change_leaf(document: dict[str, Any], path: list[Any], value: str | None) -> None:
    """Put or replace one leaf; or remove it, and each container that is empty then. Raises FileRefusedError if another kind of value
    is in the way."""
    *keys, last = path
    trail: list[Any] = [document]
    for key in keys:
        at = trail[-1]
        if not isinstance(at, dict) or (value is None and key not in at):
            break
        trail.append(at.setdefault(key, [] if isinstance(last, list) and len(trail) == len(keys) else {}))
    kind: type = list if isinstance(last, list) else dict
    is_there = len(trail) == len(path) and isinstance(trail[-1], kind)
    if value is None:
        if is_there:
            _remove_leaf(trail, keys, last)
    elif not is_there:
        raise FileRefusedError(f"{'.'.join(map(str, keys))} has another kind of value", "correct it by hand")
    elif kind is dict:
        trail[-1][last] = json.loads(value)
    elif _find_element(trail[-1], last[0]) is None:
        trail[-1].append(json.loads(value))


def _remove_leaf(trail: list[Any], keys: list[Any], last: Any) -> None:
    step = _find_element(trail[-1], last[0]) if isinstance(last, list) else last
    if step is None or (isinstance(trail[-1], dict) and step not in trail[-1]):
        return
    del trail[-1][step]
    while len(trail) > 1 and not trail[-1]:
        trail.pop()
        del trail[-1][keys[len(trail) - 1]]


def _find_element(items: list[Any], element: Any) -> int | None:
    same = (at for at, item in enumerate(items) if item == element and type(item) is type(element))
    return next(same, None)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(_decode(data.removeprefix(BOM)) or "{}")
    except ValueError as error:
        raise FileRefusedError(f"it is not JSON: {error}", "correct it, or move it away") from error
    if not isinstance(found, dict):
        raise FileRefusedError("it is not a JSON object", "correct it, or move it away")
    return found


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FileRefusedError("it is not UTF-8", "save it as UTF-8") from error


def _differences(base: Iterable[Leaf], now: Iterable[Leaf]) -> tuple[list[Leaf], list[Leaf]]:
    before, after = dict.fromkeys(base), dict.fromkeys(now)
    return [one for one in before if one not in after], [one for one in after if one not in before]


def _pair_by_place(base: Sequence[Leaf], now: Sequence[Leaf]) -> dict[Leaf, Leaf]:
    """Leaves that are gone and leaves that are new, between the same two that stayed, if there are as many of one as of the other.

    No general comparison is used, because it takes quadratic time.
    """
    gone, new = _differences(base, now)
    olds, news = _group_by_place(base, set(gone)), _group_by_place(now, set(new))
    return {
        old: other
        for place, some in olds.items()
        if len(some) == len(news.get(place, ()))
        for old, other in zip(some, news[place], strict=True)
    }


def _group_by_place(leaves: Sequence[Leaf], changed: set[Leaf]) -> dict[tuple[Leaf, Leaf], list[Leaf]]:
    """The changed leaves by those around them that are not; "" is an end. A place that is there twice is left out."""
    found: dict[tuple[Leaf, Leaf], list[Leaf]] = {}
    twice: set[tuple[Leaf, Leaf]] = set()
    previous, run = "", list[str]()
    for leaf in [*leaves, ""]:
        if leaf in changed:
            run.append(leaf)
            continue
        if run:
            twice |= {(previous, leaf)} & found.keys()
            found[previous, leaf] = run
        previous, run = leaf, []
    return {place: some for place, some in found.items() if place not in twice}


def find_format(name: str) -> Format:
    """The format of this name, as a plan stores it; a plugin's own is named by its hook, `module:name`. Raises FileRefusedError if its
    plugin is not installed any more, and KeyError."""
    kind, _, options = name.partition(" ")
    if ":" in kind:
        module, _, attribute = kind.partition(":")
        try:
            found: Format = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise FileRefusedError(
                f"the format {name} is not known", "install the plugin that made it"
            ) from error
        return found
    makers: Mapping[str, Callable[..., Format]] = {
        "bullets": Bullets,
        "lines": Lines,
        "json-leaves": JsonLeaves,
    }
    return makers[kind](**json.loads(options or "{}"))
