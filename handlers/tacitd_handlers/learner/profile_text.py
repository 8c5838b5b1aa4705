"""The profile as blocks that keep every byte, and as the `Format` in which the engine changes it (SPEC L-02, L-03).

A block is a heading, a weakness, a session, or a line between them; joining their texts restores the file. Only headings,
weaknesses and sessions have names, the leaves of the format, so nothing else is ever changed, and About Me least of all.
The formats of entries are in `entry_texts`; what is written is decided in `practice_sync.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tacitd.errors import FileRefusedError
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.learner.entry_texts import (
    RESOLVED,
    HistoryEntry,
    HistoryKey,
    WeaknessEntry,
    parse_entry,
    parse_session,
)

if TYPE_CHECKING:
    from tacitd.contract import Leaf

ABOUT, WEAKNESSES, HISTORY = "About Me", "Known Weaknesses", "Session History"
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
_STAMP_LENGTH = 16
_TITLES = {title.casefold(): title for title in (*SECTIONS, RESOLVED)}
_CONFLICT = compile_lazily(r"^(?:<{7}|>{7})(?: |\r?$)", re.M)
_HEADING = compile_lazily(r"(?P<marks>#{1,3})[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*\r?(?:\n|\Z)")
_COMMENT = compile_lazily(r"[ \t]*<!--(?:(?!<!--|-->)[\s\S])*-->.*(?:\n|\Z)")
"""A comment that is never closed, or that meets the start of another one, is ordinary text. So is such a fence."""
_CODE = compile_lazily(
    r" {0,3}(?P<fence>`{3,}(?=[^`\n]*\n)|~{3,}).*\n(?:.*\n)*? {0,3}(?P=fence)[`~]*[ \t]*\r?(?:\n|\Z)"
)
_LINE = compile_lazily(r".*(?:\n|\Z)")
_GAP = r"(?:\n[ \t\r]*(?=\n))"
_OPENS = r"[ \t]*(?:<!--|`{3}|~{3})"
_ENTRY = compile_lazily(
    rf"[-*+] +\*\*.+?\*\*.*(?:\n(?![-*+][ \t]|#{{1,6}}[ \t]|{_OPENS})[ \t]*[^\s].*"
    rf"|{_GAP}+\n(?=  |\t)(?!\s*[-*] \*\*|{_OPENS})[ \t]*[^\s].*)*(?:\n|\Z)"
)
"""An entry goes on with indented lines, and with text directly below. It ends before a bullet, heading, comment or fence."""
_SESSION = compile_lazily(
    rf"###[ \t]+\d.*\|.*(?:{_GAP}*\n(?!#{{1,6}}[ \t]|[ \t]*<!--)[ \t]*[^\s].*)*(?:\n|\Z)"
)
"""A person's heading or comment ends it. Fences are no structure in Session History: an unbalanced one would hide sessions."""


class Block(NamedTuple):
    text: str
    section: str = ""
    """The title of its section; "Resolved" below that heading; "" outside of the three."""
    leaf: Leaf = ""
    """Its name; "" for a line without one."""


def name_entry(label: str, *, resolved: bool, number: int = 1) -> Leaf:
    """The leaf of a weakness. `number`: of the entries with this label, from above."""
    return f"{RESOLVED if resolved else WEAKNESSES}\n{label}" + (f"\n{number}" if number > 1 else "")


def name_session(key: HistoryKey, number: int = 1) -> Leaf:
    """The leaf of a session. `number`: of those with this header, from below, where the oldest is."""
    return f"{HISTORY}\n{' | '.join(key)}" + (f" | {number}" if number > 1 else "")


def _is_weakness(leaf: Leaf) -> bool:
    return leaf.startswith((f"{WEAKNESSES}\n", f"{RESOLVED}\n"))


def list_entries(leaves: Mapping[Leaf, str]) -> list[WeaknessEntry]:
    given = (parse_entry(text, leaf) for leaf, text in leaves.items() if _is_weakness(leaf))
    return [entry for entry in given if entry is not None]


def list_sessions(leaves: Mapping[Leaf, str]) -> list[HistoryEntry]:
    given = (parse_session(text, leaf) for leaf, text in leaves.items() if leaf.startswith(f"{HISTORY}\n"))
    return [session for session in given if session is not None]


def parse_profile(data: bytes) -> list[Block]:
    """Parse a profile. Raises FileRefusedError if it is not UTF-8, or contains NUL bytes or conflict markers."""
    text = _decode(data)
    at = len(_BOM) if text.startswith(_BOM) else 0
    blocks, section, counted = [Block(text[:at])] if at else [], "", Counter[str]()
    while at < len(text):
        found, leaf = _LINE.match(text, at), ""
        opaque = _COMMENT.match(text, at) or (None if section == HISTORY else _CODE.match(text, at))
        session = _SESSION.match(text, at) if section == HISTORY else None
        weakness = _ENTRY.match(text, at) if section in (WEAKNESSES, RESOLVED) else None
        if opaque:
            found = opaque
        elif session and (one := parse_session(_bare(session[0]))):
            found, leaf = session, name_session(one.key)
        elif heading := _HEADING.match(text, at):
            title, level = _TITLES.get(heading["title"].casefold(), ""), len(heading["marks"])
            if level < 3:
                section = leaf = title if level == 2 and title in SECTIONS else ""
            elif section in (WEAKNESSES, RESOLVED):
                section, leaf = (RESOLVED, RESOLVED) if title == RESOLVED else (WEAKNESSES, "")
        elif weakness and (entry := parse_entry(_bare(weakness[0]))):
            found = weakness
            leaf = name_entry(entry.label, resolved=section == RESOLVED)
            counted[leaf] += 1
            leaf += f"\n{counted[leaf]}" if counted[leaf] > 1 else ""
        assert found is not None, "a line matches everything"
        blocks.append(Block(found[0], section, leaf))
        at = found.end()
    for place, block in reversed([*enumerate(blocks)]):  # sessions are counted from the oldest on
        if block.section == HISTORY and "\n" in block.leaf:
            counted[block.leaf] += 1
            if counted[block.leaf] > 1:
                blocks[place] = block._replace(leaf=f"{block.leaf} | {counted[block.leaf]}")
    return blocks


def _decode(data: bytes) -> str:
    text = data.decode(errors="replace")
    if "\0" in text or text.encode() != data:
        raise FileRefusedError("the profile is not text in UTF-8", "save it as UTF-8")
    if _CONFLICT.search(text):
        raise FileRefusedError("the profile has conflict markers", "resolve the conflict, or undo the merge")
    return text


def _bare(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\n")


def restore_sections(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """The profile with its missing headings, and their names (SPEC L-02, L-03)."""
    made, names, newline = [*blocks], list[str](), _find_newline(blocks)
    for name in (*SECTIONS, RESOLVED):
        if any(block.leaf == name for block in made):
            continue
        if name == RESOLVED:  # at the end of Known Weaknesses
            at = max(at for at, block in enumerate(made) if block.section == WEAKNESSES) + 1
            names += [] if WEAKNESSES in names else [name]
        else:  # before the next section, otherwise at the end
            later = SECTIONS[SECTIONS.index(name) + 1 :]
            at = next((at for at, block in enumerate(made) if block.leaf in later), len(made))
            names.append(name)
        heading = f"{'###' if name == RESOLVED else '##'} {name}{newline}"
        made[at:at] = [Block(heading, name, name), Block(newline, name)]
        # About Me would contain a blank line before the heading.
        if at and made[at - 1].section != ABOUT and made[at - 1].text.strip(_BOM + " \t\r\n"):
            made.insert(at, Block(newline))
    return made, names


def _find_newline(blocks: Sequence[Block]) -> str:
    text = "".join(block.text for block in blocks)
    return "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"


class ProfileFormat:
    """The profile as a `Format`. A section that is missing is added with the first change."""

    name = "tacitd_handlers.learner.profile_text:PROFILE_FORMAT"
    is_generated = False

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        """See `Format`. A heading's leaf is its title."""
        found: dict[Leaf, str] = {}
        for block in parse_profile(data):
            if block.leaf:
                found.setdefault(block.leaf, _bare(block.text) if "\n" in block.leaf else block.leaf)
        return found

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        blocks, _ = restore_sections(parse_profile(TEMPLATE if data is None else data))
        there = {block.leaf for block in blocks}
        added = dict[int, list[str]]()
        for leaf, text in changes.items():
            if "\n" in leaf and leaf not in there and text is not None:
                texts = added.setdefault(_find_place(blocks, leaf), [])
                at = 0 if leaf.startswith(HISTORY) else len(texts)  # sessions: the newest first
                texts.insert(at, text)
        return _join(blocks, changes, added).encode()

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`. A renamed entry is recognised by its dates, in `practice_sync.py`."""
        return {}

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        return bool(base) and not {*SECTIONS} <= {block.leaf for block in parse_profile(data)}


PROFILE_FORMAT = ProfileFormat()


def _find_place(blocks: Sequence[Block], leaf: Leaf) -> int:
    """Where an entry is added: a session before the first that is not newer (SPEC L-32), a weakness after those of its list.

    Without any, below the heading with its comments and text.
    """
    section, _, name = leaf.partition("\n")
    own = [at for at, block in enumerate(blocks) if block.section == section and "\n" in block.leaf]
    if section == HISTORY:
        stamps = ((at, blocks[at].leaf.partition("\n")[2][:_STAMP_LENGTH]) for at in own)
        older = next((at for at, stamp in stamps if stamp <= name[:_STAMP_LENGTH]), None)
        if older is not None:
            return older
    if own:
        return own[-1] + 1
    begin = next(at for at, block in enumerate(blocks) if block.leaf == section)
    end = begin + 1
    for at in range(begin + 1, len(blocks)):
        if blocks[at].leaf or blocks[at].section != section or _HEADING.match(blocks[at].text):
            break
        end = at + 1 if blocks[at].text.strip() else end
    return end


def _join(
    blocks: Sequence[Block], changes: Mapping[Leaf, str | None], added: Mapping[int, Sequence[str]]
) -> str:
    """The file with its changes. An added entry gets blank lines around it, but for a weakness among weaknesses; of the two blank lines
    around what is removed, one goes."""
    parts = list[tuple[str, bool, bool]]()  # the text, "" for what is removed; is it a weakness? is it new?
    newline = _find_newline(blocks)
    for at, block in enumerate([*blocks, Block("")]):
        for text in added.get(at, ()):
            parts.append((f"{text}\n".replace("\n", newline), not text.startswith("###"), True))
        text, new = block.text, changes.get(block.leaf, "") if "\n" in block.leaf else ""
        if new is None:
            text = ""
        elif new and new != _bare(text):
            text = f"{new}\n".replace("\n", newline)
        parts.append((text, _is_weakness(block.leaf), False))
    out, is_seam, after_weakness, after_new = list[str](), False, False, False
    for text, is_weakness, is_new in parts:
        is_blank = not text.strip()
        if not text or (is_seam and is_blank and not (out and out[-1].strip())):
            is_seam = True
            continue
        if out and not out[-1].endswith(("\n", _BOM)):
            out[-1] += newline
        is_apart = (is_new or after_new) and not (is_weakness and after_weakness)
        if is_apart and not is_blank and out and out[-1].strip():
            out.append(newline)
        out.append(text)
        is_seam, after_weakness, after_new = False, is_weakness, is_new
    return "".join(out)
