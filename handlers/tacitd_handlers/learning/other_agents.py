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
        newline = b"\r\n" if b"\r\n" in before else b"\n"
        is_new = BLOCK_START.encode() not in (data or b"")
        lines = {leaf: value for leaf, value in changes.items() if leaf != WHOLE}
        inside = _BULLETS.splice(inside.strip(b"\r\n"), lines).replace(b"\r\n", b"\n").strip(b"\n")
        inside = b"" if inside == f"# {TITLE}".encode() else inside.replace(b"\n", newline)
        if is_new and not inside:
            return data or b""
        if not inside:  # with the empty line that was put above it
            return before.removesuffix(newline) + after.removeprefix(newline)
        if WHOLE in changes:
            return before + inside + after
        if is_new and before.strip():
            before += newline if before.endswith(b"\n") else newline * 2
        block = (BLOCK_START.encode(), b"", inside, b"", BLOCK_END.encode())
        return before + newline.join(block) + (newline if is_new else after)

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
    before, start, rest = text.partition(BLOCK_START)
    _, end, after = rest.partition(BLOCK_END)
    return f"{before.removesuffix(chr(10))}{after.removeprefix(chr(10))}" if start and end else text


def _split_block(data: bytes) -> tuple[bytes, bytes, bytes]:
    """What is before the block, in it, and behind it. Raises FileRefusedError if it has no end."""
    before, start, rest = data.partition(BLOCK_START.encode())
    inside, end, after = rest.partition(BLOCK_END.encode())
    if start and not end:
        raise FileRefusedError(
            f"the block of tacitd has no end: {BLOCK_END}", "write that line, or delete the block"
        )
    return (before, inside, after) if start else (data, b"", b"")
