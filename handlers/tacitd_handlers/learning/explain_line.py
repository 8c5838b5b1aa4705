"""From which words a learned line came: what `tacitd why` says of it. No daemon, no model, nothing written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.cli.common import get_paths
from tacitd.files.log import Log
from tacitd_handlers.learning.inventory import LearnedLine, list_learned

SHORTEST = 3
"""Characters of a question: less would mean half of all lines."""


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """Given a part of a line, return each learned line of the project that holds it, with its origin."""
    wanted, state_dir = asked.strip().removeprefix("- ").casefold(), get_paths().state_dir
    if len(wanted) < SHORTEST:
        return []
    found = [entry for entry in list_learned(cwd, state_dir) if wanted in entry.line.casefold()]
    said = _prompt_beginnings(state_dir / "handlers" / "learning" / "log.jsonl") if found else {}
    return [_reason(entry, said) for entry in found]


def _reason(entry: LearnedLine, said: Mapping[str, str]) -> dict[str, Any]:
    words = [said[prompt] for prompt in entry.prompts if said.get(prompt)]
    where = f"{entry.file} · {entry.heading}" if entry.heading else entry.file
    return {
        "what": entry.line,
        "where": where,
        "at": entry.at,
        "sessions": list(entry.sessions),
        "words": words,
    }


def _prompt_beginnings(log: Path) -> dict[str, str]:
    """The beginning of each prompt that was put to the model, by its id; secrets were blanked when it was kept."""
    words: dict[str, str] = {}
    for record in Log(log).read():
        data = record.get("d")
        if isinstance(data, dict) and data.get("kind") == "batch":
            words.update(
                zip(map(str, data.get("prompts", ())), map(str, data.get("words", ())), strict=False)
            )
    return words
