"""The profile as a document that keeps every byte, and the places where tacitd may write (SPEC L-02, L-03).

A profile is a tuple of lines; joining them restores every byte. Sections, weaknesses and sessions are spans of lines.
Changes are splices, applied together, so that all other lines stay unchanged. About Me is never part of a span that
is written. `PROFILE_FORMAT` is the file as the engine changes it: its leaves are the headings, the weaknesses and the sessions.
The formats of entries are in `weakness_text.py` and `history_text.py`; what is written is decided in `practice_sync.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from tacitd.errors import FileRefusedError
from tacitd_handlers.learner.history_text import HistoryEntry, HistoryKey, is_header, parse_session
from tacitd_handlers.learner.vocabulary import LONG
from tacitd_handlers.learner.weakness_text import STARTS, WeaknessEntry, parse_entry

if TYPE_CHECKING:
    from tacitd.contract import Leaf

ABOUT, WEAKNESSES, HISTORY, RESOLVED = "About Me", "Known Weaknesses", "Session History", "Resolved"
SECTIONS: Final = (ABOUT, WEAKNESSES, HISTORY)
TEMPLATE: Final = b"""\
## About Me

<!-- Yours: goals, timeline, preferred language, self-assessed level. Nothing is written here without asking you. -->

## Known Weaknesses

<!-- What to watch for: at most 20. -->

### Resolved

<!-- Gone for four weeks or more: at most 10. -->

## Session History

<!-- Newest first: at most 20. -->
"""
_BOM = "\ufeff"
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
_HEADING = re.compile(r"(?P<marks>#{1,3})[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})")


class Span(Struct, frozen=True):
    """Lines `start` to `end` (exclusive)."""

    start: int
    end: int


NOWHERE = Span(0, 0)


class PlacedEntry(Struct, frozen=True):
    """A weakness entry and its position."""

    entry: WeaknessEntry
    resolved: bool
    lines: tuple[str, ...]
    """Without their newlines."""
    leaf: Leaf
    """Its name in the format."""
    span: Span = NOWHERE


class PlacedSession(Struct, frozen=True):
    """A session entry and its position. The blank lines after it are not in its span."""

    session: HistoryEntry
    lines: tuple[str, ...]
    leaf: Leaf
    span: Span = NOWHERE
    own_span: Span = NOWHERE
    """The span up to a person's heading or comment below the entry, which stays when the entry is removed."""


class Splice(Struct, frozen=True):
    """Replace a span by these lines (without newlines); an empty span inserts."""

    span: Span
    lines: tuple[str, ...] = ()


class LearnerProfile(Struct, frozen=True):
    """A parsed profile."""

    mark: str
    """The byte order mark, or ""."""
    lines: tuple[str, ...]
    """All lines, with their newlines."""
    newline: str
    sections: tuple[tuple[str, Span], ...]
    """The sections with one of the three names, duplicates included. A span begins with its heading."""
    weaknesses: tuple[PlacedEntry, ...]
    sessions: tuple[PlacedSession, ...]
    resolved_at: int | None
    """The index of the first line `### Resolved`, or None."""

    def list_placed(self) -> list[PlacedEntry | PlacedSession]:
        """The weaknesses and the sessions."""
        return [*self.weaknesses, *self.sessions]


def name_entry(label: str, *, resolved: bool, number: int = 1) -> Leaf:
    """The leaf of a weakness. `number`: from the highest entry with its label on."""
    return f"{RESOLVED if resolved else WEAKNESSES}\n{label}" + (f"\n{number}" if number > 1 else "")


def name_session(key: HistoryKey, number: int = 1) -> Leaf:
    """The leaf of a session with this header. `number`: from the lowest entry with its header on, which is the oldest."""
    return f"{HISTORY}\n{' | '.join(key)}" + (f" | {number}" if number > 1 else "")


def list_entries(leaves: Mapping[Leaf, str]) -> list[PlacedEntry]:
    """The weaknesses among the leaves."""
    found = list[PlacedEntry]()
    for leaf, text in leaves.items():
        heading, lines = leaf.partition("\n")[0], tuple(text.split("\n"))
        if "\n" in leaf and heading in (WEAKNESSES, RESOLVED) and (entry := parse_entry(lines)) is not None:
            found.append(PlacedEntry(entry, heading == RESOLVED, lines, leaf))
    return found


def list_sessions(leaves: Mapping[Leaf, str]) -> list[PlacedSession]:
    """The sessions among the leaves."""
    found = list[PlacedSession]()
    for leaf, text in leaves.items():
        lines = tuple(text.split("\n"))
        if leaf.startswith(f"{HISTORY}\n") and (session := parse_session(lines)) is not None:
            found.append(PlacedSession(session, lines, leaf))
    return found


class ProfileFormat:
    """The profile as a `Format`. A section that is missing is added with the first change."""

    name = "tacitd_handlers.learner.profile_text:PROFILE_FORMAT"
    is_generated = False

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        """See `Format`. A heading's leaf is its title."""
        profile = parse_profile(data)
        found: dict[Leaf, str] = {title: title for title, _ in profile.sections}
        if profile.resolved_at is not None:
            found[RESOLVED] = RESOLVED
        for placed in profile.list_placed():
            found.setdefault(placed.leaf, "\n".join(placed.lines))
        return found

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`."""
        profile = parse_profile(restore_sections(TEMPLATE if data is None else data)[0])
        there: dict[Leaf, PlacedEntry | PlacedSession] = {}
        for placed in profile.list_placed():
            there.setdefault(placed.leaf, placed)
        splices, added = list[Splice](), dict[str, list[list[str]]]()
        for leaf, text in changes.items():
            if "\n" not in leaf:
                continue
            if leaf not in there:
                if text is not None:
                    added.setdefault(leaf.partition("\n")[0], []).append(text.split("\n"))
            elif text is None:
                gone = there[leaf]
                splices.append(Splice(gone.own_span if isinstance(gone, PlacedSession) else gone.span))
            elif text.split("\n") != [*there[leaf].lines]:
                splices.append(Splice(there[leaf].span, tuple(text.split("\n"))))
        for heading in (WEAKNESSES, RESOLVED):
            if heading in added:
                splices.append(insert_weaknesses(profile, added[heading], resolved=heading == RESOLVED))
        for lines in reversed(added.get(HISTORY, [])):
            found = parse_session(lines)
            splices += [insert_session(profile, found.stamp, lines)] if found is not None else []
        return apply_splices(profile, splices)

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`. A leaf keeps its name; a renamed entry is recognised by its dates, in `practice_sync.py`."""
        return {}

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`: a section is missing."""
        return bool(base) and not {*SECTIONS} <= {title for title, _ in parse_profile(data).sections}


PROFILE_FORMAT = ProfileFormat()


@lru_cache(maxsize=4)  # one sync parses the same bytes six times, and a parsed profile is immutable
def parse_profile(data: bytes) -> LearnerProfile:
    """Parse a profile. Raises FileRefusedError if it is not UTF-8, or contains NUL bytes or conflict markers."""
    text = _decoded(data)
    mark = _BOM if text.startswith(_BOM) else ""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(_BOM))
    bare = [line.rstrip("\r\n") for line in lines]
    crlf = sum(line.endswith("\r\n") for line in lines)
    newline = "\r\n" if crlf * 2 > sum(line.endswith("\n") for line in lines) else "\n"
    closed = _opaque(bare)
    sections = tuple(_sections(bare, closed))
    weaknesses: list[PlacedEntry] = []
    resolved_at: int | None = None
    for name, span in sections:
        if name == WEAKNESSES:
            found, at = _weaknesses(bare, closed, span)
            weaknesses += found
            resolved_at = at if resolved_at is None else resolved_at
    sessions = [one for name, span in sections if name == HISTORY for one in _sessions(bare, closed, span)]
    counted = Counter[tuple[str, str, str]]()
    for at, one in reversed([*enumerate(sessions)]):
        counted[one.session.key] += 1
        sessions[at] = replace(one, leaf=name_session(one.session.key, counted[one.session.key]))
    return LearnerProfile(
        mark,
        tuple(lines),
        newline,
        sections,
        tuple(weaknesses),
        tuple(sessions),
        resolved_at,
    )


def apply_splices(profile: LearnerProfile, splices: Iterable[Splice]) -> bytes:
    """The document with these changes applied.

    Insertions at one position keep their order; an insertion may lie inside a removed span. If a removal makes two
    blank lines adjacent, one of them is removed too.
    """
    inserted: dict[int, list[str]] = {}
    dead: set[int] = set()
    for splice in splices:
        inserted.setdefault(splice.span.start, []).extend(splice.lines)
        dead.update(range(splice.span.start, splice.span.end))
    out: list[str] = []
    seam = False  # whether lines were removed since the last line of `out`
    for at in range(len(profile.lines) + 1):
        for line in (*(new + profile.newline for new in inserted.get(at, ())), *_kept(profile, at, dead)):
            if seam and not line.strip() and (not out or not out[-1].strip()):
                continue
            if out and not out[-1].endswith("\n"):
                out[-1] += profile.newline
            out.append(line)
            seam = False
        seam = seam or at in dead
    return (profile.mark + "".join(out)).encode()


def _kept(profile: LearnerProfile, at: int, dead: set[int]) -> tuple[str, ...]:
    return (profile.lines[at],) if at < len(profile.lines) and at not in dead else ()


def restore_sections(data: bytes) -> tuple[bytes, list[str]]:
    """The profile with its missing headings added, and their names. Existing lines are unchanged (SPEC L-02, L-03)."""
    names: list[str] = []
    for name in (*SECTIONS, RESOLVED):
        profile = parse_profile(data)
        there = {title for title, _ in profile.sections}
        if name in there or (name == RESOLVED and profile.resolved_at is not None):
            continue
        if name == RESOLVED:
            at = _before_resolved(profile)
            names += [] if WEAKNESSES in names else [name]
        else:  # before the next section, otherwise at the end
            after = SECTIONS[SECTIONS.index(name) + 1 :]
            at = min(
                (span.start for title, span in profile.sections if title in after), default=len(profile.lines)
            )
            names.append(name)
        heading = f"{'###' if name == RESOLVED else '##'} {name}"
        data = apply_splices(
            profile, [Splice(Span(at, at), tuple(_with_blank_line(profile, at, [heading, ""])))]
        )
    return data, names


def _before_resolved(profile: LearnerProfile) -> int:
    """The line of the last run of long-term resolved entries, whose heading was deleted; otherwise the section's end."""
    section = [span for title, span in profile.sections if title == WEAKNESSES][-1]
    at = section.end
    for placed in reversed(profile.weaknesses):
        if not section.start < placed.span.start < section.end or placed.entry.status != LONG:
            break
        at = placed.span.start
    return at


def _with_blank_line(profile: LearnerProfile, at: int, block: list[str]) -> list[str]:
    """The block with a blank line before it, except after About Me, which would then contain that line."""
    follows_about = any(name == ABOUT and span.start < at <= span.end for name, span in profile.sections)
    if at and profile.lines[at - 1].strip() and not follows_about:
        return ["", *block]
    return block


def insert_weaknesses(profile: LearnerProfile, entries: Sequence[Sequence[str]], *, resolved: bool) -> Splice:
    """The insertion of entries after the last active or the last resolved entry."""
    there = [one for one in profile.weaknesses if one.resolved is resolved]
    if there:
        at = there[-1].span.end
    elif resolved and profile.resolved_at is not None:
        at = _after_text(profile, profile.resolved_at + 1)
    else:
        at = _after_text(profile, _below(profile, WEAKNESSES))
    lines = [line for entry in entries for line in entry]
    return Splice(Span(at, at), tuple(_spaced(profile, at, lines, tight=bool(there))))


def insert_session(profile: LearnerProfile, row_stamp: str, entry: Sequence[str]) -> Splice:
    """The insertion of a session entry before the first one that is not newer, otherwise after the last (SPEC L-32)."""
    older = next((one for one in profile.sessions if one.session.stamp <= row_stamp), None)
    if older is not None:
        at = older.span.start
    elif profile.sessions:
        at = profile.sessions[-1].span.end
    else:
        at = _after_text(profile, _below(profile, HISTORY))
    return Splice(Span(at, at), tuple(_spaced(profile, at, list(entry), tight=False)))


def _below(profile: LearnerProfile, name: str) -> int:
    """The line below a section's heading; the end if there is no such section."""
    found = (span.start + 1 for title, span in profile.sections if title == name)
    return next(found, len(profile.lines))


def _after_text(profile: LearnerProfile, at: int) -> int:
    """The line after the comments and text at the top of a section."""
    end, last = at, at
    while end < len(profile.lines) and not re.match(r"#{1,3}[ \t]", profile.lines[end]):
        end += 1
        if profile.lines[end - 1].strip():
            last = end
    return last


def _spaced(profile: LearnerProfile, at: int, lines: list[str], *, tight: bool) -> list[str]:
    """The lines with a blank line before and after. `tight`: entries follow each other without one."""
    if at and profile.lines[at - 1].strip() and not tight:
        lines = ["", *lines]
    if (
        at < len(profile.lines)
        and profile.lines[at].strip()
        and not (tight and STARTS.match(profile.lines[at]))
    ):
        lines = [*lines, ""]
    return lines


def _decoded(data: bytes) -> str:
    hint = "save it as UTF-8"
    if b"\0" in data:
        raise FileRefusedError("the profile contains NUL bytes, so it is not text", hint)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FileRefusedError(f"the profile is not UTF-8 (byte {error.start})", hint) from error
    if _CONFLICT.search(text):
        raise FileRefusedError("the profile has conflict markers", "resolve the conflict, or undo the merge")
    return text


def _opaque(lines: Sequence[str]) -> list[bool]:
    """For each line, whether it is in a comment or in code, where headings and entries have no meaning.

    A comment or fence that is never closed is ordinary text. So is every fence in Session History: an unbalanced
    fence in an observation must not hide the sessions below it.
    """
    closed = [False] * len(lines)
    at, history = 0, False
    while at < len(lines):
        heading = _HEADING.match(lines[at])
        if heading and len(heading["marks"]) < 3:
            history = heading["title"].casefold() == HISTORY.casefold()
        end = _comment_end(lines, at) or (0 if history else _fence_end(lines, at))
        for each in range(at, end):
            closed[each] = True
        at = max(end, at + 1)
    return closed


def _comment_end(lines: Sequence[str], at: int) -> int:
    """The line after the comment that starts at this line; 0 if none starts here or if it is never closed.

    A comment that meets the start of another one counts as never closed.
    """
    if not lines[at].lstrip().startswith("<!--"):
        return 0
    rest = lines[at].lstrip()[4:]
    for end in range(at, len(lines)):
        text = rest if end == at else lines[end]
        if "-->" in text:
            return end + 1
        if "<!--" in text:
            return 0
    return 0


def _fence_end(lines: Sequence[str], at: int) -> int:
    found = _FENCE.match(lines[at])
    if found is None:
        return 0
    closing = re.compile(rf" {{0,3}}{re.escape(found['fence'][0])}{{{len(found['fence'])},}}[ \t]*$")
    return next((end + 1 for end in range(at + 1, len(lines)) if closing.match(lines[end])), 0)


def _sections(lines: Sequence[str], closed: Sequence[bool]) -> Iterator[tuple[str, Span]]:
    names = {name.casefold(): name for name in SECTIONS}
    tops = []
    for at, line in enumerate(lines):
        found = None if closed[at] else _HEADING.match(line)
        if found and len(found["marks"]) < 3:
            tops.append((at, names.get(found["title"].casefold()) if len(found["marks"]) == 2 else None))
    for (start, name), (end, _) in zip(tops, [*tops, (len(lines), None)][1:], strict=True):
        if name is not None:
            yield name, Span(start, end)


def _weaknesses(
    lines: Sequence[str], closed: Sequence[bool], span: Span
) -> tuple[list[PlacedEntry], int | None]:
    found: list[PlacedEntry] = []
    resolved, resolved_at = False, None
    at = span.start + 1
    while at < span.end:
        heading = None if closed[at] else _HEADING.match(lines[at])
        end = at + 1
        if heading:
            resolved = heading["title"].casefold() == RESOLVED.casefold()
            resolved_at = at if resolved and resolved_at is None else resolved_at
        elif not closed[at] and STARTS.match(lines[at]):
            end = _entry_end(lines, closed, at, span.end)
            entry = parse_entry(lines[at:end])
            if entry is not None:
                same = sum((one.entry.label, one.resolved) == (entry.label, resolved) for one in found)
                leaf = name_entry(entry.label, resolved=resolved, number=same + 1)
                found.append(PlacedEntry(entry, resolved, tuple(lines[at:end]), leaf, Span(at, end)))
        at = end
    return found, resolved_at


def _entry_end(lines: Sequence[str], closed: Sequence[bool], at: int, limit: int) -> int:
    """The line after the entry that starts at `at`.

    An entry continues with indented lines, and with text directly below. It ends before a bullet, heading or comment.
    """
    end = at + 1
    while end < limit and not closed[end]:
        line = lines[end]
        if not line.strip():
            after = next((each for each in lines[end:limit] if each.strip()), "")
            if not after.startswith(("  ", "\t")) or after.lstrip().startswith(("- **", "* **")):
                break
        elif re.match(r"[-*+][ \t]|#{1,6}[ \t]", line):
            break
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def _sessions(lines: Sequence[str], closed: Sequence[bool], span: Span) -> Iterator[PlacedSession]:
    starts = [at for at in range(span.start, span.end) if not closed[at] and is_header(lines[at])]
    for start, limit in zip(starts, [*starts, span.end][1:], strict=True):
        end = limit
        while not lines[end - 1].strip():
            end -= 1
        session = parse_session(lines[start:end])
        if session is not None:
            theirs = (
                at for at in range(start + 1, end) if closed[at] or lines[at].startswith(("### ", "#### "))
            )
            own_span = Span(start, next(theirs, end))
            yield PlacedSession(session, tuple(lines[start:end]), "", Span(start, end), own_span)
