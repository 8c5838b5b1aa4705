"""The origin of learned lines, for `tacitd why`. Reads the state directory only: no daemon, no model, no writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tacitd.cli.common import get_paths
from tacitd.clock import utc_seconds
from tacitd.files.git import find_project_root
from tacitd.model.spend_report import find_calls, is_call_of
from tacitd.store import open_readonly
from tacitd.work.commit_rows import read_all_commits
from tacitd_handlers.learning.inventory import Inventory, LearnedLine
from tacitd_handlers.learning.person_decisions import ID_LENGTH
from tacitd_handlers.learning.waiting_facts import describe_writing, read_waiting_rows

SHORTEST_ID = 4
"""Minimum length of the beginning of an id."""


class SaidPrompts(Struct):
    """The prompts that were put to the model, and the calls that they were part of."""

    words: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By id: the prompt's beginning with secrets blanked, and when it was typed (UTC, "" if unknown)."""
    calls: dict[str, str] = field(default_factory=dict)
    """By id: the key of the call."""


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """Return each learned line of the project that contains `asked`, or the line with that id in any project, as JSON.

    `asked` is compared without case. The keys are `id`, `root`, `what` (the line), `where` (file and heading), `at` (when it
    was written: UTC, `2025-12-17T01:50:00Z`), `restored` (when an undo brought it back, "" if none did), `sessions` (ids), `words` (beginnings of the prompts), `said` (the same, each `{"words", "at"}`;
    `at` is when the prompt was typed, "" if that is not known) and `calls` (as `find_calls` has them, with `at` as
    text). Facts that wait, and texts that were refused, are found too; `where` says so.
    """
    inventory, root = Inventory(get_paths().state_dir), find_project_root(cwd)
    wanted = asked.strip().removeprefix("- ").casefold()
    if found := _find_ids(asked.strip(), inventory, root):
        return found
    if not wanted:
        return []
    lines = [one for one in inventory.list_lines(root) if wanted in one.line.casefold()]
    return [*explain_lines(lines, inventory), *_explain_waiting(wanted, inventory, root)]


def explain_lines(lines: list[LearnedLine], inventory: Inventory) -> list[dict[str, Any]]:
    """The reason of each line, in the form of `find_reasons`."""
    if not lines:
        return []
    prompts = _read_prompts(inventory.state_dir / "handlers" / "learning")
    wanted = [_list_keys(one, prompts, inventory) for one in lines]
    with open_readonly(inventory.state_dir) or nullcontext() as store:
        calls = find_calls(store, set[str]().union(*wanted)) if store is not None else []
    return [
        _reason(one, prompts, [call for key, call in calls if is_call_of(key, keys)])
        for one, keys in zip(lines, wanted, strict=True)
    ]


def _find_ids(asked: str, inventory: Inventory, root: Path) -> list[dict[str, Any]]:
    """The line or the refused text whose id begins with `asked`: in this project, otherwise in any."""
    if not SHORTEST_ID <= len(asked) <= ID_LENGTH or set(asked) - set("0123456789abcdef"):
        return []
    for each in dict.fromkeys((root, *inventory.list_roots())):
        lines = [one for one in inventory.list_lines(each) if one.id.startswith(asked)]
        if found := [*explain_lines(lines, inventory), *_explain_proposed(asked, inventory, each)]:
            return found
    return []


def _reason(entry: LearnedLine, prompts: SaidPrompts, calls: list[dict[str, Any]]) -> dict[str, Any]:
    said = [prompts.words[id] for id in entry.prompts if id in prompts.words and prompts.words[id][0]]
    where = f"{entry.file} · {entry.heading}" if entry.heading else entry.file
    return {
        "id": entry.id,
        "root": str(entry.root),
        "what": entry.line,
        "where": where,
        "at": entry.at,
        "restored": entry.restored_at,
        "sessions": list(entry.sessions),
        "words": [words for words, _ in said],
        "said": [{"words": words, "at": at} for words, at in said],
        "calls": [{**one, "at": utc_seconds(one["at"])} for one in calls],
    }


def _list_keys(entry: LearnedLine, prompts: SaidPrompts, inventory: Inventory) -> set[str]:
    """The keys of the calls that its prompts were part of, and of the one that wrote the line, which is that of its transaction."""
    return {prompts.calls[id] for id in entry.prompts if id in prompts.calls} | {
        each.key
        for each in inventory.history.list_transactions(entry.root)
        if each.key.startswith("synthesis:") and utc_seconds(each.at) == entry.at
    }


def _explain_waiting(wanted: str, inventory: Inventory, root: Path) -> Iterator[dict[str, Any]]:
    waiting = inventory.state.waiting.get(root, {})
    rows = read_waiting_rows(inventory.state_dir, inventory.clock.now()) if waiting else {}
    for batch in waiting.values():
        for fact in batch.facts:
            if wanted in fact.casefold():
                when = describe_writing(rows.get(str(root), {}), inventory.clock.now())
                yield _unwritten(root, fact, f"waits, {when}", batch.at, batch.session, batch.words)


def _explain_proposed(asked: str, inventory: Inventory, root: Path) -> Iterator[dict[str, Any]]:
    from tacitd_handlers.learning.line_items import find_refusals, list_project

    for item in list_project(inventory, root):
        if item.state == "proposed" and item.id.startswith(asked):
            at = max((float(one["at"]) for one in find_refusals(inventory, root, item.id)), default=0.0)
            found = _unwritten(root, item.text, f"{item.kind}: {item.review}", at, "", item.words)
            yield found | {"id": item.id}


def _unwritten(
    root: Path, text: str, where: str, at: float, session: str, words: tuple[str, ...]
) -> dict[str, Any]:
    """The reason of a text that is in no file. `at`: seconds since 1970, UTC; 0: unknown."""
    return {
        "id": "",
        "root": str(root),
        "what": text,
        "where": where,
        "at": utc_seconds(at) if at else "",
        "restored": "",
        "sessions": [session] if session else [],
        "words": list(words),
        "said": [{"words": each, "at": ""} for each in words],
        "calls": [],
    }


def _read_prompts(home: Path) -> SaidPrompts:
    found = SaidPrompts()
    for commit in read_all_commits(home):
        data = commit.data
        if data.get("kind") == "batch":
            with suppress(TypeError, ValueError, KeyError, IndexError, OverflowError):  # damaged or foreign
                _add_batch(found, data)
    return found


def _add_batch(found: SaidPrompts, data: Mapping[str, Any]) -> None:
    ids, words = data.get("prompts", ()), data.get("words", ())
    times = [*data.get("times", ()), *[None] * len(ids)]  # batches of older versions have no times
    for id, text, at in zip(ids, words, times, strict=False):
        found.words[str(id)] = (str(text), utc_seconds(at) if isinstance(at, int | float) else "")
        found.calls[str(id)] = f"extraction:{ids[0]}"
