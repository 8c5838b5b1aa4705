"""The formats of files that people edit too: which leaves a file has, and how one of them is changed. Pure.

Each keeps every byte that no change names: newlines, byte order mark, comments, order, indentation, and whatever it does not
understand. A plan stores the name of its format, so a name is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacitd.errors import FileRefusedError

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
    """Markdown: a leaf is a list item, named by its heading and text; its value is its text. A leaf that gets another text is reworded
    in its place."""

    def __init__(
        self,
        title: str = "",
        first: str = "",
        order: Sequence[str] = (),
        *,
        keeps_headings: bool = False,
        ends: bool = False,
    ) -> None:
        """`title`: of a file that is made. `first`: the line that a generated file begins with, if it has one. `order`: headings, of
        which one that is added is put before those behind it. `keeps_headings`: whether a heading stays whose last line is removed,
        because it is the person's. `ends`: whether a file goes of which no more than the title is left."""
        self.title = title
        self._first = first
        self._later = {heading: order[at + 1 :] for at, heading in enumerate(order)}
        self._keeps_headings, self._ends = keeps_headings, ends
        given = {
            "title": title,
            "first": first,
            "order": list(order),
            "keeps_headings": keeps_headings,
            "ends": ends,
        }
        options = {key: value for key, value in given.items() if value}
        self.is_generated = bool(first)
        self.name = f"bullets {json.dumps(options, ensure_ascii=False)}" if options else "bullets"

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        from tacitd.text.markdown import lines_of  # as below: commands that only read JSON need none of it

        return {bullet(heading, text): text for heading, text in lines_of(data)}

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        from tacitd.text.markdown import put_lines, swap_line, take_lines

        if self.is_generated and (data or changes):
            data = self._mend(data or b"", changes)
        now = self.read_leaves(data) if data else {}
        gone = [split_bullet(leaf) for leaf, value in changes.items() if value is None and leaf in now]
        new = [(split_bullet(leaf)[0], value) for leaf, value in changes.items() if value and leaf not in now]
        for leaf, value in changes.items():
            if value is not None and leaf in now and now[leaf] != value:
                data = swap_line(data or b"", now[leaf], value)
        if gone:
            sections = [] if self._keeps_headings else [heading for heading, _ in gone]
            data = take_lines(data or b"", [text for _, text in gone], sections)
        if new:
            data = self._mend(data or b"", changes) if self.is_generated else data
            data = put_lines(data, new, self.title, self._later)
        data = data or b""
        if not self.is_generated:
            return b"" if self._ends and gone and _decode(data).strip() == f"# {self.title}" else data
        headings = {f"## {split_bullet(leaf)[0]}" for leaf in changes}
        frame = {"", self._first, f"# {self.title}"} | headings  # what tacitd makes around these lines
        return b"" if {line.rstrip() for line in _decode(data).splitlines()} <= frame else data

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

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`. A line with the same text under another heading was moved; otherwise, lines that are gone and lines that are
        new are paired if they stand between the same neighbours, as many of one as of the other."""
        before, after = set(base), set(now)
        by_text = {split_bullet(leaf)[1]: leaf for leaf in now if leaf not in before}
        gone = ((leaf, split_bullet(leaf)[1]) for leaf in base if leaf not in after)
        pairs = {leaf: by_text[text] for leaf, text in gone if text in by_text}
        left = [leaf for leaf in base if leaf not in pairs]
        fresh = [leaf for leaf in now if leaf not in set(pairs.values())]
        return pairs | _pair_by_place(left, fresh)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`: several lines are gone at once, of a generated file more than half of them; or that lacks its first line, or ends
        in the beginning of one of tacitd's."""
        if not self.is_generated:
            return _are_several_gone(self, base, self.read_leaves(data))
        lines = [line.rstrip() for line in data.decode(errors="replace").splitlines()]
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
        return {line: line for line in _decode(data).splitlines() if line.strip()}

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        text = _decode(data or b"")
        newline = "\r\n" if "\r\n" in text else "\n"
        kept, there = list[str](), set[str]()
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
        return _pair_by_place(base, now)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        return _are_several_gone(self, base, self.read_leaves(data))


class JsonLeaves:
    """A JSON object. A leaf is a value that is no object, named by its keys as a JSON list, and each scalar element of a list on its
    own, with the element in a list as last member. Its value is JSON."""

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
        from tacitd.text.json_splice import rewrite_json  # not for commands that only read

        bom = BOM if (data or b"").startswith(BOM) else b""
        text = _decode((data or b"")[len(bom) :]) or "{}\n"
        document = _parse(text.encode())
        for leaf, value in changes.items():
            _change_leaf(document, json.loads(leaf), value)
        return bom + rewrite_json(text, document, width=WIDTH, order=self._order).encode()

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        return {}

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        return False  # a truncated document does not parse, and is refused by `read_leaves`


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


def _change_leaf(node: Any, path: list[Any], value: str | None) -> None:
    """Put, replace or remove (None) one leaf of an object or a list, with each container that is empty then. Raises FileRefusedError
    if another kind of value is in the way."""
    step, *rest = path
    if isinstance(step, list):
        same = (at for at, item in enumerate(node) if item == step[0] and type(item) is type(step[0]))
        at = next(same, None)
        if value is None and at is not None:
            del node[at]
        elif value is not None and at is None:
            node.append(json.loads(value))
    elif rest:
        kind = list if isinstance(rest[0], list) else dict
        inner = node.get(step) if value is None else node.setdefault(step, kind())
        if isinstance(inner, kind):
            had = bool(inner)
            _change_leaf(inner, rest, value)
            if had and not inner:
                del node[step]
        elif value is not None:
            raise FileRefusedError(f"{step} has another kind of value", "correct it by hand")
    elif value is None:
        node.pop(step, None)
    else:
        node[step] = json.loads(value)


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


def _pair_by_place(base: Sequence[Leaf], now: Sequence[Leaf]) -> dict[Leaf, Leaf]:
    """Leaves that are gone and leaves that are new, between the same two that stayed, if there are as many of one as of the other. A
    general comparison would take quadratic time."""
    stayed = {"", *base} & {"", *now}
    olds, news = _group_by_place(base, stayed), _group_by_place(now, stayed)
    return {
        old: other
        for place, some in olds.items()
        if len(some) == len(news.get(place, ()))
        for old, other in zip(some, news.get(place, ()), strict=True)
    }


def _group_by_place(leaves: Sequence[Leaf], stayed: set[Leaf]) -> dict[tuple[Leaf, Leaf], list[Leaf]]:
    """The other leaves by those around them that stayed; "" is an end."""
    found: dict[tuple[Leaf, Leaf], list[Leaf]] = {}
    before, run = "", list[str]()
    for leaf in [*leaves, ""]:
        if leaf in stayed:
            found[before, leaf] = run
            before, run = leaf, []
        else:
            run.append(leaf)
    return found


def find_format(name: str) -> Format:
    """The format of this name, as a plan stores it; a plugin's own is named by its hook, `module:name`. Raises FileRefusedError if its
    plugin is not installed any more."""
    kind, _, options = name.partition(" ")
    if ":" in kind:
        module, _, attribute = kind.partition(":")
        try:
            found: Format = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            hint = "install the plugin that made it"
            raise FileRefusedError(f"the format {name} is not known", hint) from error
        return found
    makers: dict[str, Callable[..., Format]] = {"bullets": Bullets, "lines": Lines, "json-leaves": JsonLeaves}
    return makers[kind](**json.loads(options or "{}"))
