"""How agents that load no rules, such as Codex, get the lines of LEARNED.md: by what stands in the root's AGENTS.md, which they load.

It is a line that names LEARNED.md, which `tacitd init` and `reach` print, or with `reach.codex` a block at its end with the lines
themselves. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tacitd.errors import FileRefusedError
from tacitd.files.formats import Bullets
from tacitd_handlers.learning.folders import GROUPS, TITLE

if TYPE_CHECKING:
    from tacitd.contract import Leaf

BLOCK_START = "<!-- tacitd: the lines of LEARNED.md begin here. Change that file. -->"
BLOCK_END = "<!-- tacitd: the lines of LEARNED.md end here. -->"
WHOLE = "\t"
"""A leaf without a text: a change that takes it away leaves of the block only what a person wrote in it."""


class BlockFormat:
    """AGENTS.md with a block at its end: a leaf is a list item of the block. What stands before and behind it keeps its bytes."""

    name = f"{__name__}:BLOCK"
    is_generated = True

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        """See `Format`."""
        return _BULLETS.read_leaves(_split_block(data)[1])

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`. The block is put at the end if there is none."""
        before, inside, after = _split_block(data or b"")
        is_new = BLOCK_START.encode() not in (data or b"")
        newline = _newline_of(before if is_new else inside)
        lines = {leaf: value for leaf, value in changes.items() if leaf != WHOLE}
        inside = _BULLETS.splice(inside.strip(b"\r\n"), lines).replace(b"\r\n", b"\n").strip(b"\n")
        inside = b"" if inside == f"# {TITLE}".encode() else inside.replace(b"\n", newline)
        if is_new and not inside:
            return data or b""
        if not inside:
            return _without_block(before, newline, after)
        if WHOLE in changes:
            return before + inside + after
        if is_new and before:
            # The block of a text without a newline at its end has none either: so that text is found again.
            after = newline if before.endswith(b"\n") else b""
            before += newline if after else newline * 2
        elif is_new:
            after = newline
        block = (BLOCK_START.encode(), b"", inside, b"", BLOCK_END.encode())
        return before + newline.join(block) + after

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`."""
        return _BULLETS.pair_reworded(base, now)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`: the block is gone as a whole, or most of it."""
        return BLOCK_START.encode() not in data or _BULLETS.is_cut(data, base)


_BULLETS = Bullets(TITLE, order=GROUPS)
BLOCK = BlockFormat()


def strip_block(text: str) -> str:
    """The text of an AGENTS.md as it was before the block was added, whose lines are in LEARNED.md."""
    try:
        before, inside, after = _split_block(text.encode())
    except FileRefusedError:
        return text
    return _without_block(before, _newline_of(inside), after).decode() if inside else text


def _without_block(before: bytes, newline: bytes, after: bytes) -> bytes:
    """What is left without a block and what was put around it."""
    return before.removesuffix(newline if after else newline * 2) + after.removeprefix(newline)


def _newline_of(text: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in text else b"\n"


def _split_block(data: bytes) -> tuple[bytes, bytes, bytes]:
    """What is before the block, in it, and behind it. Raises FileRefusedError if it has no end."""
    before, start, rest = data.partition(BLOCK_START.encode())
    inside, end, after = rest.partition(BLOCK_END.encode())
    if start and not end:
        raise FileRefusedError(
            f"the block of tacitd has no end: {BLOCK_END}", "write that line, or delete the block"
        )
    return (before, inside, after) if start else (data, b"", b"")
