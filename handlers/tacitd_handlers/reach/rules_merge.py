"""A person's edits of the rules file: what was deleted, what was added, and where both go in a new text. Pure.

Only differences against the text that tacitd wrote last count. A line of tacitd's that is missing was deleted. A line that
tacitd did not write is the person's and stays where it is. Of a file that was truncated, or that lost more than half of its
lines at once, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from tacitd.errors import FileRefusedError
from tacitd_handlers.reach.rules_text import HEAD_START, RuleLine

_BOM = "\ufeff"


class GeneratedText(Struct, frozen=True):
    """A text that tacitd generated."""

    lines: tuple[str, ...] = ()
    """All lines of the file, without a person's own."""
    rules: tuple[RuleLine, ...] = ()


class RulesMemory(Struct, frozen=True):
    """What tacitd knows of the file from its last writes."""

    written: GeneratedText = field(default_factory=GeneratedText)
    pending: GeneratedText | None = None
    """A text that was being written when the process ended: the file has this one or `written`."""
    at: float = 0.0
    """When the file was written last: seconds since 1970, UTC."""

    @property
    def base(self) -> tuple[str, ...]:
        """All lines that may be tacitd's, for the comparison with the file."""
        if self.pending is None:
            return self.written.lines
        return (*self.pending.lines, *(x for x in self.written.lines if x not in self.pending.lines))

    @property
    def certain_rules(self) -> tuple[RuleLine, ...]:
        """The rules that are in the file whether the interrupted write took place or not."""
        if self.pending is None:
            return self.written.rules
        both = {line.text for line in self.pending.rules}
        return tuple(line for line in self.written.rules if line.text in both)


class FileText(Struct, frozen=True):
    """A text file as lines, and what is needed to write it in the same form."""

    lines: tuple[str, ...]
    newline: str = "\n"
    bom: str = ""
    is_terminated: bool = True
    """Whether the last line ends with a newline."""

    def encode_lines(self, lines: Sequence[str]) -> bytes:
        """These lines in the form of the file."""
        return (self.bom + "".join(line + self.newline for line in lines)).encode()


def parse_file(data: bytes) -> FileText:
    """Given a file's bytes, return its lines. Raises FileRefusedError if it is not UTF-8 or contains NUL bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileRefusedError("it is not UTF-8", "save it as UTF-8") from None
    if "\0" in text:
        raise FileRefusedError("it contains NUL bytes", "remove them, or delete the file")
    bom = _BOM if text.startswith(_BOM) else ""
    lines = text.removeprefix(_BOM).split("\n")
    ended = lines[-1] == ""
    plain = [line.removesuffix("\r") for line in (lines[:-1] if ended else lines)]
    return FileText(tuple(plain), "\r\n" if "\r\n" in text else "\n", bom, ended)


def is_generated(current: FileText) -> bool:
    """Whether the file has the first line that tacitd writes."""
    return any(line.startswith(HEAD_START) for line in current.lines)


def find_deleted(
    memory: RulesMemory, current: FileText, handled: Collection[tuple[str, str]] = ()
) -> tuple[RuleLine, ...] | None:
    """Return the rules whose lines a person deleted; None if the file is incomplete, so that nothing is concluded.

    `handled`: keys of rules whose deletion is handled already.

    It is incomplete if its first line is gone, if its end is a part of a line of tacitd's, or if more than half of several
    lines are gone.
    """
    present = {line.rstrip() for line in current.lines}
    rules = [rule for rule in memory.certain_rules if rule.key not in handled]
    if rules and not is_generated(current):
        return None
    gone = tuple(rule for rule in rules if rule.text.rstrip() not in present)
    if not gone:
        return ()
    last = "" if current.is_terminated or not current.lines else current.lines[-1]
    torn = bool(last) and any(rule.text.startswith(last) for rule in gone)
    if torn or (len(gone) > 1 and 2 * len(gone) > len(rules)):
        return None
    return gone


def find_own_lines(memory: RulesMemory, current: FileText) -> tuple[str, ...]:
    """The lines of the file that tacitd did not write, without blank ones."""
    ours = {line.rstrip() for line in memory.base}
    torn = _torn_line(memory, current)
    return tuple(x for x in current.lines if x.strip() and x.rstrip() not in ours and x != torn)


def merge_lines(memory: RulesMemory, current: FileText, new: Sequence[str]) -> list[str]:
    """Return `new` with the person's lines of the current file at their places.

    The place of a line is after the nearest line of tacitd's before it that is still there, and after the person's lines
    before it. At the end of the file it stays at the end.
    """
    from difflib import SequenceMatcher  # seldom needed

    base = memory.base
    ours = {line.rstrip() for line in base if line.strip()}
    torn = _torn_line(memory, current)
    placed: dict[int, list[str]] = {}
    least = 0
    before = [line.rstrip() for line in base]
    matcher = SequenceMatcher(None, before, [line.rstrip() for line in current.lines], autojunk=False)
    # A line of tacitd's that was moved is generated again at its own place. One that is also at its place is a person's copy.
    moved = ours - {
        before[at] for block in matcher.get_matching_blocks() for at in range(block.a, block.a + block.size)
    }
    for tag, start, _, begin, end in matcher.get_opcodes():
        if tag in ("insert", "replace"):
            added = [x for x in current.lines[begin:end] if x.rstrip() not in moved and x != torn]
            if any(line.strip() for line in added):
                at = len(new) if end == len(current.lines) else _find_place(before, start, new)
                # New lines may be in another order than the old ones; a person's lines keep theirs.
                least = max(at, least)
                placed.setdefault(least, []).extend(added)
    merged: list[str] = []
    for at in range(len(new) + 1):
        merged += placed.get(at, [])
        merged += new[at : at + 1]
    return merged


def _find_place(before: Sequence[str], start: int, new: Sequence[str]) -> int:
    """The index in `new` that corresponds to the place before `before[start]`."""
    for at in range(start - 1, -1, -1):
        if before[at] and before[at] in new:
            place = new.index(before[at]) + 1
            for _ in range(start - 1 - at):  # the blank lines between them
                if place < len(new) and not new[place]:
                    place += 1
            return place
    return 0


def _torn_line(memory: RulesMemory, current: FileText) -> str | None:
    """The last line, if it is the beginning of one of tacitd's that is missing: the file was truncated in it."""
    if current.is_terminated or not current.lines:
        return None
    last, present = current.lines[-1], {line.rstrip() for line in current.lines}
    missing = [line for line in memory.base if line.rstrip() not in present]
    return last if last and any(line.startswith(last) for line in missing) else None


def adopt_text(current: FileText, new: GeneratedText) -> RulesMemory:
    """What is assumed of a generated file of which nothing is known: tacitd's lines are those that it would write now.

    The others count as the person's, because nobody knows who wrote them. No line of it counts as deleted.
    """
    present = {line.rstrip() for line in current.lines}
    head = tuple(line for line in current.lines if line.startswith(HEAD_START))
    kept = tuple(line for line in new.lines if line.rstrip() in present and line not in head)
    return RulesMemory(GeneratedText((*head, *kept), ()))
