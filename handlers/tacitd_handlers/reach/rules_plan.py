"""What happens to the person's rules file now. Pure.

The file is rewritten once a day at most, because each change costs every running session a note and its prompt cache. A line
that does not hold any more, and what the person changed by hand, is followed at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd_handlers.reach.rules_merge import (
    FileText,
    GeneratedText,
    RulesMemory,
    adopt_text,
    find_deleted,
    find_own_lines,
    is_generated,
    parse_file,
)
from tacitd_handlers.reach.rules_text import RuleLine, RuleSection, choose_lines, render_rules

DAY = 86_400.0


class LeaveFile(Struct, frozen=True):
    """The file stays as it is."""

    why: str = ""
    """`missing` or `incomplete`: it is made again at the next session. `waits`: it is rewritten at `until`."""
    until: float | None = None
    """Seconds since 1970, UTC."""


class WithdrawRules(Struct, frozen=True):
    """The person deleted these lines: they are taken back where they are stored."""

    rules: tuple[RuleLine, ...]


class WriteText(Struct, frozen=True):
    """The text is written, with the person's own lines in it."""

    memory: RulesMemory
    """What is known of the file that it replaces."""
    text: GeneratedText


class RemoveRulesFile(Struct, frozen=True):
    """The file is removed: it has no line of a person's, and tacitd has none for it."""


RulesPlan = LeaveFile | WithdrawRules | WriteText | RemoveRulesFile


def plan_update(
    data: bytes | None,
    memory: RulesMemory,
    sections: Sequence[RuleSection],
    now: float,
    *,
    restore: bool,
    handled: Collection[tuple[str, str]] = (),
) -> RulesPlan:
    """Given the file's bytes (None: no file) and the lines that hold now, return what is done.

    `restore`: a session has started, so a file that is missing or incomplete is made again. `handled`: keys of rules that
    were withdrawn just now.

    Raises FileRefusedError if the file is not text, or is not tacitd's.
    """
    current, whole = parse_file(data or b""), True
    if not any(line.strip() for line in current.lines):
        if memory.written.lines and not restore:
            return LeaveFile("missing")
        whole = False
    elif memory.at == 0.0 and memory.pending is None:
        if not is_generated(current):
            raise FileRefusedError("it is not tacitd's", "rename it; tacitd then makes its own")
        memory = adopt_text(current, _make_text(sections, ()))
    elif (deleted := find_deleted(memory, current, handled)) is None:
        if not restore:
            return LeaveFile("incomplete")
        whole = False
    elif deleted:
        return WithdrawRules(deleted)
    own = find_own_lines(memory, current)
    text = _make_text(sections, {line.rstrip() for line in own})
    if whole and memory.pending is None and text.lines == memory.written.lines:
        return LeaveFile()
    if whole and not _is_due(memory, text, sections, now):
        return LeaveFile("waits", memory.at + DAY)
    return _replace(memory, text, own, data)


def plan_removal(data: bytes | None, memory: RulesMemory) -> RulesPlan:
    """Return how tacitd's lines leave the file. Raises FileRefusedError if the file is not text."""
    if data is None or (memory.at == 0.0 and memory.pending is None):
        return LeaveFile()
    own = find_own_lines(memory, parse_file(data))
    if not memory.base and own:
        return LeaveFile()
    return _replace(memory, GeneratedText(), own, data)


def has_only_generated(data: bytes, memory: RulesMemory) -> bool:
    """Whether the file is tacitd's and has no line of a person's. False for a file that is not text."""
    try:
        current: FileText = parse_file(data)
    except FileRefusedError:
        return False
    return memory.at > 0.0 and not find_own_lines(memory, current)


def _make_text(sections: Sequence[RuleSection], taken: Collection[str]) -> GeneratedText:
    chosen = choose_lines(sections, taken)
    return GeneratedText(render_rules(chosen), tuple(line for one in chosen for line in one.lines))


def _is_due(memory: RulesMemory, text: GeneratedText, sections: Sequence[RuleSection], now: float) -> bool:
    if memory.pending is not None or not 0.0 <= now - memory.at < DAY:
        return True
    holding = {line.key for one in sections for line in one.lines}
    known = {line.text for line in memory.written.rules}
    withdrawn = any(line.key not in holding for line in memory.written.rules)
    return withdrawn or any(line.by_person and line.text not in known for line in text.rules)


def _replace(memory: RulesMemory, text: GeneratedText, own: Sequence[str], data: bytes | None) -> RulesPlan:
    if text.lines or own:
        return WriteText(memory, text)
    return RemoveRulesFile() if data is not None else LeaveFile()
