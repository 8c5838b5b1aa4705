"""Splicing bullets into Markdown that people edit too: bytes in, bytes out. Pure.

Adding a bullet under a heading, removing it and replacing it belong here. Opening files does not. Nothing is re-flowed or
tidied, and only lines that the caller names change their places (S-28): newline style, byte order mark, indentation and text that is not understood are kept byte
for byte.

A line is the text of one bullet. It is also found after a formatter wrapped it over several lines. If a person extended
a bullet (added words below it, or nested bullets under it), it belongs to the person from then on. It still counts as
present, but it is neither removed nor replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tacitd.errors import FileRefusedError
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.markdown_blocks import LineKind, lines_as_blocks, opens_fence
from tacitd.text.markdown_text import (
    BOM,
    MarkdownItem,
    MarkdownText,
    fold_spaces,
    is_same_text,
    normalise_heading,
)

_NEW_LINES = compile_lazily(r"\s*[\r\n]+\s*")


def put_line(data: bytes | None, heading: str, line: str, title: str, later: Sequence[str] = ()) -> bytes:
    """Add `- line` at the end of the list under `## heading`; unchanged if the file has the line already.

    For no file (None) or an empty one, the result begins with `# title`. A missing heading is added before the first of the
    headings `later`, otherwise at the end. Raises FileRefusedError if the file cannot be spliced, or if the line could not be
    read back as one bullet.
    """
    line, heading, title = clean_line(line), clean_line(heading), clean_line(title)
    _refuse_line(line)
    _refuse_halves(heading + title)
    text = MarkdownText.parse_bytes(data or b"", for_writing=True)
    # A transaction that a crash cut off is applied again, so each operation must do nothing the second time.
    if text.items_with(line):
        return data or b""
    if not text.lines:
        return text.bom + text.join_lines([f"# {title}", "", f"## {heading}", f"- {line}"])
    at = text.find_heading(heading)
    if at is None:
        next_one = text.find_first_section(later)
        if next_one is not None:
            return _check_spliced(text.with_section_before(next_one, [f"## {heading}", f"- {line}"]), line)
        return _check_spliced(text.at_end(["", f"## {heading}", f"- {line}"]), line)
    where, mark = text.place_under(at)
    return _check_spliced(text.with_line(where, mark + line), line)


def put_lines(
    data: bytes | None,
    lines: Sequence[tuple[str, str]],
    title: str,
    later: Mapping[str, Sequence[str]] | None = None,
) -> tuple[bytes | None, list[bool]]:
    """Add each (heading, line) in order, as `put_line` does one after the other, with one pass over the file if possible.

    `later`: by heading, the headings that come after it. Returns (bytes, whether each line was added). Raises
    FileRefusedError if any of them is refused; nothing is added then.
    """
    after, added = data, list[bool]()
    batch: list[tuple[str, str]] = []
    known, coming = set(list_headings(data)), set[str]()
    for heading, line in lines:
        name = normalise_heading(clean_line(heading))
        following = [
            each for each in (later or {}).get(heading, ()) if normalise_heading(each) in known | coming
        ]
        # The first line makes the file, and a new section before another one moves the places of the lines below it.
        if not (after or b"").removeprefix(BOM) or (name not in known and following):
            after, done = _put_batch(after, batch, title)
            before, after = after, put_line(after, heading, line, title, following)
            added += [*done, after != before]
            batch, known, coming = [], set(list_headings(after)), set()
        else:
            batch.append((heading, line))
            coming.add(name)
    after, done = _put_batch(after, batch, title)
    return after, added + done


def _put_batch(
    data: bytes | None, lines: Sequence[tuple[str, str]], title: str
) -> tuple[bytes | None, list[bool]]:
    after, added = data, list[bool]()
    if len(lines) > 1:
        spliced = _splice_all(data or b"", [(clean_line(h), clean_line(line)) for h, line in lines], title)
        if spliced is not None:
            return spliced
    # A single line, or one of the lines does not read back. Which one, and why, is found one by one.
    for heading, line in lines:
        before, after = after, put_line(after, heading, line, title)
        added.append(after != before)
    return after, added


def _splice_all(data: bytes, lines: Sequence[tuple[str, str]], title: str) -> tuple[bytes, list[bool]] | None:
    """Splice cleaned lines into a file that is not empty; None if one of them would not read back as one bullet."""
    _refuse_halves(clean_line(title))
    text = MarkdownText.parse_bytes(data, for_writing=True)
    there = {fold_spaces(words) for item in text.iter_items() for words in (item.first, item.joined)}
    sections = text.index_headings()
    under: dict[int, tuple[int, str]] = {}
    """By heading: where its new bullets go, and their mark."""
    inserted: dict[int, list[str]] = {}
    """By index of a line: the bullets that go before it."""
    appended: dict[str, list[str]] = {}
    """By heading, without decoration: the lines of a new section at the end."""
    added: list[bool] = []
    for heading, line in lines:
        _refuse_line(line)
        _refuse_halves(heading)
        added.append(fold_spaces(line) not in there)
        if not added[-1]:
            continue
        there.add(fold_spaces(line))
        name = normalise_heading(heading)
        at = sections.get(name)
        if at is None:
            appended.setdefault(name, [f"## {heading}"]).append(f"- {line}")
        else:
            where, mark = under.setdefault(at, text.place_under(at)) if at not in under else under[at]
            inserted.setdefault(where, []).append(mark + line)
    after = text.with_sections(inserted, list(appended.values()))
    # Read back, because a comment, a code block or indented text around it decides what Markdown makes of a new line.
    items = {fold_spaces(item.joined): item for item in MarkdownText.parse_bytes(after).iter_items()}
    new = [items.get(fold_spaces(line)) for (_, line), is_new in zip(lines, added, strict=True) if is_new]
    return (after, added) if all(item and not item.parent for item in new) else None


def take_line(data: bytes, line: str, section: str = "") -> bytes:
    """Remove every bullet with this text that no person extended; unchanged if there is none.

    `section`: a heading that is removed too if nothing is left below it. Raises FileRefusedError if the file cannot be
    spliced.
    """
    return take_lines(data, [line], [section])[0]


def take_lines(
    data: bytes, lines: Sequence[str], sections: Sequence[str] = ()
) -> tuple[bytes, list[str | None]]:
    """Remove each line, as `take_line` does one after the other, with one pass over the file.

    `sections`: for each line, the heading that is removed if nothing is left below it; "" for none. Returns (bytes, for each
    line the heading that it was under; None if it was not removed). Raises FileRefusedError as `take_line`.
    """
    text = MarkdownText.parse_bytes(data, for_writing=True)
    wanted = {fold_spaces(clean_line(line)) for line in lines}
    items = [(fold_spaces(item.joined), item) for item in text.iter_items()]
    gone = [(words, item) for words, item in items if words in wanted and not item.parent]
    if not gone:
        return data, [None] * len(lines)
    after = text.without_items([item for _, item in gone])
    starts = {item.start for _, item in gone}
    left = [words for words, item in items if item.start not in starts]
    read_back = [fold_spaces(item.joined) for item in MarkdownText.parse_bytes(after).iter_items()]
    if len(lines) > 1 and read_back != left:
        # Without them, other text is read as something else. So each is removed from what the one before left.
        return _take_one_by_one(data, lines, sections)
    under = {fold_spaces(words): heading for heading, words in reversed(lines_of(data))}
    taken = {words: under[words] for words, _ in gone}
    headings = [taken.pop(fold_spaces(clean_line(line)), None) for line in lines]
    for section in dict.fromkeys(
        one for one, heading in zip(sections, headings, strict=False) if one and heading is not None
    ):
        after = MarkdownText.parse_bytes(after).without_empty_section(clean_line(section)).to_bytes()
    return after, headings


def _take_one_by_one(
    data: bytes, lines: Sequence[str], sections: Sequence[str]
) -> tuple[bytes, list[str | None]]:
    found: list[str | None] = []
    for at, line in enumerate(lines):
        data, headings = take_lines(data, [line], sections[at : at + 1])
        found += headings
    return data, found


def arrange_lines(data: bytes, order: Sequence[str]) -> bytes:
    """Put the bullets with these texts into this order, within each list and in the places that they have together.

    All other lines keep their places. A bullet that a person extended, and a text that the file has twice, are left alone.
    The file is unchanged if the result would not read back with the same bullets under the same headings. Raises
    FileRefusedError if the file cannot be spliced.
    """
    text = MarkdownText.parse_bytes(data, for_writing=True)
    rank = {fold_spaces(clean_line(line)): at for at, line in reversed(list(enumerate(order)))}
    count = Counter(fold_spaces(item.joined) for item in text.iter_items())
    lists: dict[tuple[int, str], list[MarkdownItem]] = {}
    sections = text.index_sections()
    for item in text.iter_items():
        words = fold_spaces(item.joined)
        if words in rank and count[words] == 1 and not item.built_upon:
            lists.setdefault((sections[item.start], text.blocks[item.start].mark), []).append(item)
    moves: dict[int, MarkdownItem] = {}
    for items in lists.values():
        wanted = sorted(items, key=lambda item: rank[fold_spaces(item.joined)])
        moves |= {slot.start: item for slot, item in zip(items, wanted, strict=True) if slot is not item}
    if not moves:
        return data
    after = text.with_moved_items(moves)
    return after if sorted(lines_of(after)) == sorted(lines_of(data)) else data


def swap_line(data: bytes, old: str, new: str) -> tuple[bytes, bool]:
    """Replace the bullet `old` with `new`, with the same mark and indentation. Returns (bytes, whether `old` was found).

    A bullet that a person extended does not count. If the file has `new` already, `old` is only removed. Raises
    FileRefusedError as `put_line`.
    """
    old, new = clean_line(old), clean_line(new)
    _refuse_line(new)
    text = MarkdownText.parse_bytes(data, for_writing=True)
    items = [item for item in text.items_with(old) if not item.built_upon]
    if not items:
        return data, False
    if is_same_text(old, new):
        return data, True
    mine = {item.start for item in items}
    if any(item.start not in mine for item in text.items_with(new)):
        return take_line(data, old), True
    return _check_spliced(text.with_item(items[0], new).to_bytes(), new), True


def has_line(data: bytes | None, line: str) -> bool:
    """Whether the file has a bullet with this text. Raises FileRefusedError if it is not UTF-8."""
    return bool(data) and bool(MarkdownText.parse_bytes(data or b"").items_with(clean_line(line)))


def lines_of(data: bytes | None) -> list[tuple[str, str]]:
    """Every bullet as (words of the heading above it, text). Raises FileRefusedError if the file is not UTF-8."""
    found: list[tuple[str, str]] = []
    if data:
        text = MarkdownText.parse_bytes(data)
        items = {item.start: item for item in text.iter_items()}
        heading = ""
        for at, block in enumerate(text.blocks):
            if block.kind is LineKind.HEADING:
                heading = block.title
            elif at in items:
                found.append((heading, items[at].joined))
    return found


def list_headings(data: bytes | None) -> list[str]:
    """The words of each heading below the title, in order, as they are compared. Raises FileRefusedError if it is not UTF-8."""
    if not data:
        return []
    blocks = MarkdownText.parse_bytes(data).blocks
    return [normalise_heading(one.title) for one in blocks if one.kind is LineKind.HEADING and one.level >= 2]


def clean_line(line: str) -> str:
    """The text as one bullet has it: without newlines and surrounding white space."""
    return (line if "\n" not in line and "\r" not in line else _NEW_LINES.sub(" ", line)).strip()


def _refuse_line(line: str) -> None:
    """Raise FileRefusedError if the line would not be read back as one bullet with exactly this text."""
    _refuse_halves(line)
    block = lines_as_blocks([f"- {line}"])[0]
    read_back = block.kind is LineKind.BULLET and is_same_text(block.title, line)
    if "\0" in line or not read_back or opens_fence(line):
        raise FileRefusedError(f"{line!r} cannot be written as one Markdown bullet")


def _refuse_halves(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FileRefusedError("the line contains a lone surrogate, which UTF-8 cannot encode") from error


def _check_spliced(data: bytes, line: str) -> bytes:
    """Return the file after a splice, or raise FileRefusedError if the splice does not read back as intended.

    Trigger: an unclosed comment or code block, or indented text right below the new bullet.
    Why: Markdown would read the new bullet as part of the comment, or the person's text as part of the bullet.
    Outcome: refused, nothing is written.
    """
    items = MarkdownText.parse_bytes(data).items_with(line)
    if not items:
        raise FileRefusedError("an unclosed comment or code block in the file would contain the new line")
    if all(item.built_upon for item in items):
        raise FileRefusedError(
            "the indented text below would become part of the new line", "remove its indentation"
        )
    return data
