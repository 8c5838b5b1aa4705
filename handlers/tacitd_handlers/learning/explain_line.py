"""The origin of learned lines, for `tacitd why`. Reads the state directory only: no daemon, no model, no writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.cli.common import get_paths
from tacitd.clock import utc_seconds
from tacitd.files.log import Log
from tacitd_handlers.learning.inventory import LearnedLine, list_learned

SHORTEST = 3
"""Minimum length of a query in characters. A shorter one would match too many lines."""


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """Return each learned line of the project that contains `asked`, with its origin, as JSON.

    `asked` is compared without case. The keys are `what` (the line), `where` (file and heading), `at` (UTC,
    `2025-12-17T01:50:00Z`), `sessions` (ids) and `words` (beginnings of the prompts) and `said` (the same, each `{"words", "at"}`; `at` is
    when the prompt was typed, "" if that is not known).
    """
    wanted, state_dir = asked.strip().removeprefix("- ").casefold(), get_paths().state_dir
    if len(wanted) < SHORTEST:
        return []
    found = [entry for entry in list_learned(cwd, state_dir) if wanted in entry.line.casefold()]
    prompts = _read_prompts(state_dir / "handlers" / "learning" / "log.jsonl") if found else {}
    return [_reason(entry, prompts) for entry in found]


def _reason(entry: LearnedLine, prompts: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    said = [prompts[id] for id in entry.prompts if id in prompts and prompts[id][0]]
    where = f"{entry.file} · {entry.heading}" if entry.heading else entry.file
    return {
        "what": entry.line,
        "where": where,
        "at": entry.at,
        "sessions": list(entry.sessions),
        "words": [words for words, _ in said],
        "said": [{"words": words, "at": at} for words, at in said],
    }


def _read_prompts(log: Path) -> dict[str, tuple[str, str]]:
    """The prompts that were put to the model, by id: their beginnings with secrets blanked, and when they were typed."""
    found: dict[str, tuple[str, str]] = {}
    for record in Log(log).read():
        data = record.get("d")
        if not isinstance(data, dict) or data.get("kind") != "batch":
            continue
        ids, words = data.get("prompts", ()), data.get("words", ())
        times = [*data.get("times", ()), *[None] * len(ids)]  # batches of older versions have no times
        for id, text, at in zip(ids, words, times, strict=False):
            found[str(id)] = (str(text), utc_seconds(at) if isinstance(at, int | float) else "")
    return found
