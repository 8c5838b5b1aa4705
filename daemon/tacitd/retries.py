"""Rejected prompts that a person has tried again: `tacitd rescue retry`.

Joins the logs that know something of a rejected prompt: the dead letters (where it is in which transcript), the rescue
log (its words), the handler's own log (that it was handled) and the budget (that it was paid for twice). None of their
rules is here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.events import Due, SessionStarted
from tacitd.slices import due_jobs

if TYPE_CHECKING:
    from tacitd.app import App

RETRY = "retry"
"""The job of handlers that put work of their own aside."""


def retry_rejected(app: App, ids: Collection[str] | None) -> dict[str, Any]:
    """Offer rejected prompts again; `ids` None: all of them, with everything that is parked. Engine thread.

    Returns `retried` (how many prompts), `parked` (how many parked pieces of work; without those that wait for a known
    time, which are not tried before it) and `gone` (ids of prompts whose transcript is gone: their words stay in the
    rescue log). Raises OSError, LogDamagedError. What was not done by then is done by asking once more: each prompt is
    allowed to be paid for, then offered, and only then leaves the dead letters.
    """
    engine = app.engine
    found, gone = _find_rejected(app, ids)
    app.budget.allow(sorted({id for prompts in found.values() for id in prompts}))
    for (handler, path), prompts in found.items():
        engine.consumers[handler].retry(path, prompts)
        engine.dispatcher.dead.take_back(handler, prompts)
    for path in {path: None for _, path in found}:
        engine.reread(path)
    parked = 0
    if ids is None:
        parked = sum(
            why.not_before is None and not isinstance(turn.event, SessionStarted)  # `status` names no starts
            for turn, why in engine.dispatcher.agenda.parked()
        )
        engine.dispatcher.hurry()
        for name in due_jobs(app.found.slices, RETRY):
            engine.dispatcher.post(Due(RETRY), only=name)
    return {"retried": sum(map(len, found.values())), "parked": parked, "gone": sorted(gone)}


def _find_rejected(
    app: App, ids: Collection[str] | None
) -> tuple[dict[tuple[str, Path], list[str]], set[str]]:
    """By handler and transcript, the ids of rejected prompts; and those whose transcript is gone.

    A text that is kept without a dead letter was parked, or is tried again already: it waits for its transcript as long
    as that is there, and is gone with it.
    """
    kept = {(str(one.get("handler")), str(one.get("id"))) for one in app.engine.dispatcher.rescue.kept()}
    found: dict[tuple[str, Path], list[str]] = defaultdict(list)
    gone: set[str] = set()
    rejected: set[tuple[str, str]] = set()
    for letter in app.engine.dispatcher.dead.read():
        handler, path, prompts = str(letter.get("handler")), letter.get("transcript"), letter.get("prompts")
        rejected.update((handler, str(id)) for id in (prompts if isinstance(prompts, list) else ()))
        if handler not in app.engine.consumers or not isinstance(path, str) or not isinstance(prompts, list):
            continue
        wanted = [id for id in map(str, prompts) if (handler, id) in kept and (ids is None or id in ids)]
        if wanted and not _can_be_read_again(app, Path(path)):
            gone.update(wanted)
        elif wanted:
            found[handler, Path(path)] += wanted
    without = {key for key in kept - rejected if ids is None or key[1] in ids}
    return found, gone | _find_without_transcript(app, without)


def _can_be_read_again(app: App, path: Path) -> bool:
    """Whether the transcript is followed, and still there: what is followed is as old as the last look at the folders."""
    return path in app.engine.follower.stamps and not _is_deleted(path)


def _is_deleted(path: Path) -> bool:
    """Whether there is no such file. One that cannot be looked at now (EACCES, EIO) may come back."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _find_without_transcript(app: App, keys: Collection[tuple[str, str]]) -> set[str]:
    """Given (handler, id) of texts without a dead letter, return the ids that no transcript hands over any more.

    A session's transcript has the session's name; a fork of it may be about to hand over the same prompt.
    """
    if not keys:
        return set()
    there: dict[str, list[Path]] = defaultdict(list)
    for path in app.engine.follower.stamps:
        there[path.stem].append(path)
    sessions = {
        (str(one.get("handler")), str(one.get("id"))): str(one.get("session"))
        for one in app.engine.dispatcher.rescue.kept()
    }
    gone: set[str] = set()
    for key in keys:
        owner = app.engine.dispatcher.claims.owner(*key)
        paths = [*there.get(sessions[key], ()), *([owner] if owner is not None else [])]
        if all(_is_deleted(path) for path in paths):
            gone.add(key[1])
    return gone
