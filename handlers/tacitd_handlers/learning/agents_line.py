"""The line by which agents that do not load rules find LEARNED.md in AGENTS.md, which `tacitd init` offers. Pure but for `may_add`."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes

SEE_ALSO = "See also: [LEARNED.md](LEARNED.md) for dynamically learned preferences."
LIMIT = 16 << 20
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
    old, new = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after))
    made = difflib.unified_diff(old, new, str(path), str(path))
    return "".join(
        text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in made
    )
