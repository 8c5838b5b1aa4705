"""`tacitd rescue retry`: tries rejected prompts again.

It joins the logs with data on a rejected prompt: the dead letters (its place in the transcript), the rescue log (its
text), the handler's own log (whether it was handled) and the budget (how often it was paid for). Their own rules do not
belong here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.events import Due, SessionStarted
from tacitd.plugins import find_job_owners

if TYPE_CHECKING:
    from tacitd.app import App

RETRY = "retry"
"""The job in which a handler tries its own rejected work again."""


def retry_rejected(app: App, ids: Collection[str] | None) -> dict[str, Any]:
    """Try rejected prompts again. `ids` None: all of them, and all parked work. Engine thread.

    Returns `retried` (number of prompts), `parked` (number of parked work items, without those that wait for a known
    time: these are not tried before it) and `gone` (ids of prompts whose transcript was deleted; their text stays in the
    rescue log).

    Raises OSError, LogDamagedError; a second call then does the rest. For each prompt the budget allows further calls
    first, then the prompt is offered, and then its dead letter is removed.
    """
    engine = app.engine
    found, gone = _find_rejected(app, ids)
    app.budget.allow_again(sorted({id for prompts in found.values() for id in prompts}))
    for (handler, path), prompts in found.items():
        engine.consumers[handler].retry_prompts(path, prompts)
        engine.dispatcher.outcomes.dead_letters.remove_prompts(handler, prompts)
    for path in {path: None for _, path in found}:
        engine.reread_transcript(path)
    parked = 0
    if ids is None:
        parked = sum(
            why.not_before is None and not isinstance(turn.event, SessionStarted)  # `status` names no starts
            for turn, why in engine.dispatcher.work_queue.list_parked()
        )
        engine.dispatcher.make_all_due()
        for name in find_job_owners(app.found.plugins, RETRY):
            engine.dispatcher.post_event(Due(RETRY), only=name)
    return {"retried": sum(map(len, found.values())), "parked": parked, "gone": sorted(gone)}


def _find_rejected(
    app: App, ids: Collection[str] | None
) -> tuple[dict[tuple[str, Path], list[str]], set[str]]:
    """The ids of rejected prompts by (handler, transcript), and the ids of those whose transcript was deleted.

    A text in the rescue log without a dead letter is parked or already being tried again. It is among the latter only if
    its transcript was deleted.
    """
    kept = {
        (str(one.get("handler")), str(one.get("id")))
        for one in app.engine.dispatcher.outcomes.rescue.list_entries()
    }
    found: dict[tuple[str, Path], list[str]] = defaultdict(list)
    gone: set[str] = set()
    rejected: set[tuple[str, str]] = set()
    for letter in app.engine.dispatcher.outcomes.dead_letters.read():
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
    """Whether the transcript is followed and still exists. The follower's list is as old as its last poll."""
    return path in app.engine.follower.stamps and not _is_deleted(path)


def _is_deleted(path: Path) -> bool:
    """Whether the file does not exist. One that is only inaccessible now (EACCES, EIO) counts as existing."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _find_without_transcript(app: App, keys: Collection[tuple[str, str]]) -> set[str]:
    """Given (handler, id) of texts without a dead letter, return the ids that are in no existing transcript.

    A session's transcript is named after the session. A fork may contain the same prompt and have it in flight.
    """
    if not keys:
        return set()
    there: dict[str, list[Path]] = defaultdict(list)
    for path in app.engine.follower.stamps:
        there[path.stem].append(path)
    sessions = {
        (str(one.get("handler")), str(one.get("id"))): str(one.get("session"))
        for one in app.engine.dispatcher.outcomes.rescue.list_entries()
    }
    gone: set[str] = set()
    for key in keys:
        owner = app.engine.dispatcher.in_flight.get_owner(*key)
        paths = [*there.get(sessions[key], ()), *([owner] if owner is not None else [])]
        if all(_is_deleted(path) for path in paths):
            gone.add(key[1])
    return gone
