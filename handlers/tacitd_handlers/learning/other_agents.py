"""How agents that load no rules, such as Codex, get the lines of LEARNED.md: by what stands in the root's AGENTS.md, which they load.

It is a line that names LEARNED.md, which `tacitd init` offers, or with `reach.codex` a block at its end with the lines themselves. Pure
but for `may_add`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.errors import FileRefusedError
from tacitd.files.formats import Bullets
from tacitd_handlers.learning.folders import GROUPS, TITLE
from tacitd_handlers.shared.rule_names import SEE_ALSO
from tacitd_handlers.shared.safe_read import leads_out, read_plain_bytes

if TYPE_CHECKING:
    from tacitd.contract import Leaf

LIMIT = 16 << 20
BLOCK_START = "<!-- tacitd: the lines of LEARNED.md begin here. Change that file. -->"
BLOCK_END = "<!-- tacitd: the lines of LEARNED.md end here. -->"
WHOLE = "\t"
"""A leaf without a text: a change that takes it away leaves of the block only what a person wrote in it."""
_FENCED = re.compile(
    r"^ {0,3}(?P<bar>`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^ {0,3}(?P=bar)[`~]*[ \t\r]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def may_add(target: Path, root: Path) -> bytes | None:
    """The file's bytes if the line can be offered: it is in the project, and does not name LEARNED.md."""
    if leads_out(target, root):
        return None
    try:
        data = read_plain_bytes(target, LIMIT)
        found = None if data is None or b"LEARNED.md" in data else data
        return found if found is not None and add_line(found) != found else None
    except (OSError, FileRefusedError):
        return None


def add_line(data: bytes) -> bytes:
    """The bytes with the line appended, with the file's own newlines. Raises FileRefusedError if the file is not text in UTF-8, or ends
    in an open code fence or comment, which would contain the line."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileRefusedError("the file is not UTF-8", "save it as UTF-8") from None
    if "\0" in text:
        raise FileRefusedError("the file contains NUL bytes: it is not text", "save it as UTF-8")
    newline = "\r\n" if "\r\n" in text else "\n"
    end = "" if not text or text.endswith("\n") else newline
    gap = newline if text.strip() else ""
    after = f"{text}{end}{gap}{SEE_ALSO}{newline}"
    if SEE_ALSO not in _COMMENT.sub("", _FENCED.sub("", after)):
        raise FileRefusedError("a code fence or a comment in the file is not closed", "close it")
    return after.encode()


def format_diff(path: Path, before: bytes, after: bytes) -> str:
    """The change as a unified diff."""
    import difflib

    old, new = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after))
    made = difflib.unified_diff(old, new, str(path), str(path))
    return "".join(
        text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in made
    )


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
