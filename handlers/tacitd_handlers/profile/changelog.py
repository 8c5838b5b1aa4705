"""Reading, pruning and purging changelog.jsonl (SPEC P-18 to P-21). Writers only append; the prune rewrites the whole file.

A line that is not a JSON object is moved to a quarantine file. Entries are made by `changes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.clock import parse_utc
from tacitd_handlers.profile.fields import get_value

MAX_ENTRIES = 1000
MAX_AGE_DAYS = 90
QUARANTINE = "changelog.quarantine.jsonl"
COMMAND, AGENT, FINDING, SYSTEM = "mcp/tool", "mcp/hook", "minimal/hook", "system"
"""The sources of entries (SPEC P-19): a person's command, an agent, a finding, decay."""


def read_entries(path: Path, last: int = MAX_ENTRIES) -> list[dict[str, Any]]:
    """Return at most `last` of the newest entries, oldest first. Raises OSError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return [entry for line in data.split(b"\n") if (entry := _parse(line)) is not None][-last:]


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def prune_changelog(path: Path, now: float) -> None:
    """Bring the file within its limits: drop entries older than 90 days (exactly 90 stays), then keep the last 1,000 (P-20).

    Ages are compared as times, not as text (P-21). An entry without a readable timestamp counts as new. Raises OSError,
    FileRefusedError, FileBusyError.
    """
    from tacitd.files.append_file import append_missing  # not for a command that only reads, as below
    from tacitd.files.atomic import edit_file

    def change(data: bytes | None) -> bytes | None:
        lines = [line for line in (data or b"").split(b"\n") if line.strip()]
        bad = [line for line in lines if _parse(line) is None]
        kept = [line for line in lines if (entry := _parse(line)) is not None and _is_young(entry, now)]
        if len(kept) == len(lines) and len(lines) <= MAX_ENTRIES:
            return None
        append_missing(path.with_name(QUARANTINE), [line.decode("utf-8", "backslashreplace") for line in bad])
        return b"".join(line + b"\n" for line in kept[-MAX_ENTRIES:])

    if path.exists():
        edit_file(path, change)


def _is_young(entry: Mapping[str, Any], now: float) -> bool:
    return (parse_utc(entry.get("timestamp")) or now) >= now - MAX_AGE_DAYS * 86_400.0


def purge_words(directory: Path, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank these texts, and the values of the path `id`, in the changelog; return the files that changed.

    The values that profile.json has now stay: they are other values, or the person's. Raises OSError, FileRefusedError.
    """
    from tacitd.files.atomic import edit_file

    changed = list[Path]()
    for name in ("changelog.jsonl", QUARANTINE):
        path = directory / name

        def change(data: bytes | None) -> bytes | None:
            lines = (data or b"").split(b"\n")
            made = [_blank_line(line, id, texts) for line in lines]
            return b"\n".join(made) if made != lines else None

        if path.exists() and edit_file(path, change):
            changed.append(path)
    return changed


def _blank_line(line: bytes, id: str, texts: Sequence[str]) -> bytes:
    from tacitd.files.purge import BLANK, blank_value

    entry = _parse(line)
    if entry is None:
        return str(blank_value(line.decode("utf-8", "surrogateescape"), texts)).encode(
            "utf-8", "surrogateescape"
        )
    blanked: dict[str, Any] = blank_value(entry, texts)
    if (value := get_value(blanked.get("changes"), id)) is not None:
        above, _, key = id.rpartition(".")
        holder = get_value(blanked["changes"], above) if above else blanked["changes"]
        holder[key] = [BLANK] if isinstance(value, list) else BLANK
    return (
        line if blanked == entry else json.dumps(blanked, ensure_ascii=False, separators=(",", ":")).encode()
    )
