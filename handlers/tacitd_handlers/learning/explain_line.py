"""The origin of learned lines, for `tacitd why`. Reads the state directory only: no daemon, no model, no writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.cli.common import get_paths
from tacitd.files.log import Log
from tacitd_handlers.learning.inventory import LearnedLine, list_learned

SHORTEST = 3
"""Minimum length of a query in characters. A shorter one would match too many lines."""


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """Return each learned line of the project that contains `asked`, with its origin, as JSON.

    `asked` is compared without case. The keys are `what` (the line), `where` (file and heading), `at` (UTC,
    `2025-12-17T01:50:00Z`), `sessions` (ids) and `words` (beginnings of the prompts).
    """
    wanted, state_dir = asked.strip().removeprefix("- ").casefold(), get_paths().state_dir
    if len(wanted) < SHORTEST:
        return []
    found = [entry for entry in list_learned(cwd, state_dir) if wanted in entry.line.casefold()]
    beginnings = _prompt_beginnings(state_dir / "handlers" / "learning" / "log.jsonl") if found else {}
    return [_reason(entry, beginnings) for entry in found]


def _reason(entry: LearnedLine, beginnings: Mapping[str, str]) -> dict[str, Any]:
    words = [beginnings[prompt] for prompt in entry.prompts if beginnings.get(prompt)]
    where = f"{entry.file} · {entry.heading}" if entry.heading else entry.file
    return {
        "what": entry.line,
        "where": where,
        "at": entry.at,
        "sessions": list(entry.sessions),
        "words": words,
    }


def _prompt_beginnings(log: Path) -> dict[str, str]:
    """The beginnings of the prompts that were put to the model, by prompt id. Their secrets are blanked."""
    words: dict[str, str] = {}
    for record in Log(log).read():
        data = record.get("d")
        if isinstance(data, dict) and data.get("kind") == "batch":
            words.update(
                zip(map(str, data.get("prompts", ())), map(str, data.get("words", ())), strict=False)
            )
    return words
