"""`.processed_turns`: how many complete lines of each session's transcript were read (SPEC P-27 to P-31).

One line for each session, `id:count`. It is published for other programs; tacitd makes no decision by it (SPEC X-05).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tacitd.contract import Row
from tacitd.files.atomic import edit_file

NAME = ".processed_turns"


def publish_counts(rows: Callable[..., list[Row]], directory: Path) -> None:
    """Write the counts. The order of the file stays, new sessions come last, and those without a transcript go (P-31). Raises
    OSError, FileRefusedError."""
    found = rows(
        "SELECT s.id, t.path, t.lines FROM session s JOIN transcript t ON t.path = s.transcript "
        "WHERE t.lines > 0 ORDER BY s.started, s.id"
    )
    counts = {id: lines for id, path, lines in found if Path(path).exists()}

    def change(data: bytes | None) -> bytes | None:
        known = parse_counts((data or b"").decode("utf-8", "replace"))
        merged = {id: counts[id] for id in [*(id for id in known if id in counts), *counts]}
        made = format_counts(merged).encode()
        return made if made != data and (made or data is not None) else None

    edit_file(directory / NAME, change, mode=0o600)


def parse_counts(text: str) -> dict[str, int]:
    """Return the counts by session id. Lines are split at the last colon (SPEC P-27); malformed ones are left out."""
    made: dict[str, int] = {}
    for line in text.splitlines():
        id, colon, count = line.rpartition(":")
        if colon and id and count.strip().isdecimal():
            made[id] = int(count)
    return made


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the file's text. Ids with a newline are left out."""
    return "".join(f"{id}:{count}\n" for id, count in counts.items() if id and "\n" not in id)
