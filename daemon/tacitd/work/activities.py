"""What happened, one line each: for the log, the terminal of `run`, `tacitd log`, `status` and callers of `sync`.

Handlers contribute what they made through `Tools.announce`; the engine contributes what was read, asked, changed and
parked. Nothing is stored here: the newest are in memory, and `stored_activities.py` finds older ones in the logs. Their texts
are made here, live and from the logs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from loguru import logger
from msgspec import Struct
from msgspec.structs import asdict, replace

from tacitd.clock import local_date, parse_utc, utc_seconds
from tacitd.contract import Row
from tacitd.files.change_view import summarise_transaction
from tacitd.files.log import BLANK
from tacitd.files.purge import blank_value
from tacitd.files.row_history import summarise_row
from tacitd.files.transaction_records import Transaction
from tacitd.handler import Commit, Notice, Plugin, load_hook
from tacitd.model.budget import EndedCall
from tacitd.text.dollars import format_dollars

STORED = "learned"
"""`did` of what was stored."""
NO_LINE = "no line"
"""`did` of work that had no result, with the reason."""
KEPT = 500
"""Activities that are kept: more than one `sync` usually brings."""
SHOWN = 3
"""Learned texts that the status names."""
COUNTED = 2_000
"""Learned texts that are counted: more than a day brings."""
LONGEST = 400
"""Maximum characters of an activity's text."""


class Activity(Struct, frozen=True):
    """One thing that happened. It contains nothing confidential and, before it is learned, none of the person's words."""

    at: float
    """Seconds since 1970, UTC."""
    did: str
    """What happened: `read`, `asked` (a model call), `extracted`, `learned`, `no line`, `changed` (files), `refused`,
    `parked`, or a plugin's own word."""
    text: str
    """The stored text, or what it is about."""
    where: str = ""
    """A short name of the file or project: `shop/STORED.md`."""
    about: str = ""
    """Its origin and cost: `from 2 prompts, $0.01`."""
    handler: str = ""
    """The plugin's name; "": the engine."""
    item: str = ""
    """`Notice.item`."""
    root: str = ""
    """`Notice.root`."""

    def describe(self) -> dict[str, Any]:
        """Return it as JSON: the fields for people with the time as ISO 8601, UTC, and `line`, which combines them."""
        fields = asdict(self) | {"at": utc_seconds(self.at), "line": activity_line(self)}
        del fields["item"], fields["root"]
        return fields


def activity_line(one: Activity) -> str:
    """Given an activity, return it as one line without time and control characters."""
    about = ", ".join(part for part in (one.where, one.about) if part)
    whole = f"{one.did}: {one.text[:LONGEST]}" + (f"  ({about})" if about else "")
    return "".join(char if char.isprintable() else " " for char in whole)


class _LearnedText(Struct):
    activity: Activity
    day: str
    """Its local date."""
    is_gone: bool = False
    """Whether it was forgotten, undone, or replaced since."""


class Activities:
    """The newest activities, numbered from 1. Thread-safe."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._newest: deque[tuple[int, Activity]] = deque(maxlen=KEPT)
        self._learned: dict[tuple[str, str], _LearnedText] = {}
        """By place and text, oldest first; see `_identify_text`."""
        self._last_number = 0
        self.load_mark = 0
        """The number of the newest activity from before the end of `load`."""
        self.load_time = now()
        """When `load` ended, in seconds since 1970: everything that happened later is numbered, if not all is kept."""
        self._wakers: list[Callable[[], None]] = []

    def announce(self, handler: str, notice: Notice) -> None:
        """A handler made something: log it at INFO and keep it."""
        self._add(_make_activity(self._now(), handler, notice))

    def add(self, did: str, text: str, where: str = "", about: str = "", handler: str = "") -> None:
        """Log what happened at INFO, keep it, and wake the subscribers."""
        self._add(Activity(self._now(), did, text, where, about, handler))

    def _add(self, one: Activity) -> None:
        with self._lock:
            self._keep(one)
            wakers = list(self._wakers)
        logger.info("{}", activity_line(one))
        # Without the lock, because a subscriber may ask for what was added.
        for wake in wakers:
            wake()

    def load(
        self,
        earlier: Iterable[Activity],
        changes: Iterable[Transaction] = (),
        row_changes: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Keep what happened before the start. It is not logged again, and no caller of `sync` gets it.

        `changes`: the finished transactions of the same time; `row_changes`: those of the store, as `row_history` describes them.
        """
        # A transaction comes before the commit that announces its lines, also in the same millisecond.
        both: list[tuple[float, Activity | Transaction | Mapping[str, Any]]] = [
            *((one.at, one) for one in changes),
            *((parse_utc(one["at"]) or 0.0, one) for one in row_changes),
            *((one.at, one) for one in earlier),
        ]
        with self._lock:
            for _, one in sorted(both, key=lambda pair: pair[0]):
                if isinstance(one, Activity):
                    self._keep(one)
                elif isinstance(one, Mapping):
                    self._follow_row(one)
                else:
                    self._follow_lines(one)
            self.load_mark, self.load_time = self._last_number, self._now()

    def _keep(self, one: Activity) -> None:
        self._last_number += 1
        self._newest.append((self._last_number, one))
        if one.did == STORED:
            key = _identify_text(one)
            self._learned.pop(key, None)
            self._learned[key] = _LearnedText(one, local_date(one.at))
            if len(self._learned) > COUNTED:
                del self._learned[next(iter(self._learned))]

    def follow_transaction(self, done: Transaction) -> None:
        """Files were changed: what was removed from them is not among what was learned any more, unless it is put back."""
        with self._lock:
            self._follow_lines(done)

    def _follow_lines(self, done: Transaction) -> None:
        changed = [
            each.find_changed_lines(effect)
            for each, effect in zip(done.operations, done.effects, strict=True)
        ]
        # A line that was moved is removed and put in one transaction, in any order.
        for texts, is_gone in ([one.taken for one in changed], True), ([one.put for one in changed], False):
            for text in texts:
                found = self._learned.get((str(done.root), text)) if text is not None else None
                if found is not None:
                    found.is_gone = is_gone

    def follow_change(self, change: Mapping[str, Any]) -> None:
        """A plugin changed files: add that, and follow what was removed and put. `change`: as `row_history` describes it."""
        with self._lock:
            self._follow_row(change)
        self.add("changed", *describe_row(change))

    def _follow_row(self, change: Mapping[str, Any]) -> None:
        root = str(change["root"])
        for name, is_gone in (("removed", True), ("added", False)):
            for line in change["lines"]:
                found = self._learned.get((root, line[name]))
                if found is not None:
                    found.is_gone = is_gone

    def follow_decision(self, handler: str, item: str, *, is_gone: bool) -> None:
        """A person forgot this item of a plugin, or restored it (`is_gone` is False)."""
        with self._lock:
            for one in self._learned.values():
                if item and (one.activity.handler, one.activity.item) == (handler, item):
                    one.is_gone = is_gone

    def get_mark(self) -> int:
        """The number of the newest activity, for `list_since`."""
        with self._lock:
            return self._last_number

    def list_since(self, mark: int) -> list[Activity]:
        """The activities after `mark` that are still kept, oldest first."""
        return [one for _, one in self.list_numbered(mark)]

    def list_numbered(self, mark: int) -> list[tuple[int, Activity]]:
        """The same with their numbers. If the first one's number is not `mark + 1`, those between are not kept any more."""
        with self._lock:
            if mark >= self._last_number:
                return []
            return [(number, one) for number, one in self._newest if number > mark]

    def summarise_learned(self) -> dict[str, Any]:
        """What was learned and not taken back since, as JSON: `today` (local), how many, and `last`, the newest three, newest
        first."""
        with self._lock:
            today = local_date(self._now())
            there = [one for one in self._learned.values() if not one.is_gone]
            last = [one.activity.describe() for one in there[: -SHOWN - 1 : -1]]
            return {"today": sum(one.day == today for one in there), "last": last}

    def blank_texts(self, texts: Sequence[str]) -> None:
        """Blank these texts in what is kept, so that the next status document does not contain purged words."""
        with self._lock:
            for numbered, (number, one) in enumerate(self._newest):
                self._newest[numbered] = number, _blank_activity(one, texts)
            for learned in self._learned.values():
                learned.activity = _blank_activity(learned.activity, texts)
            self._learned = {
                _identify_text(learned.activity): learned
                for learned in self._learned.values()
                if learned.activity.text != BLANK
            }

    def add_waker(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after each activity, in any thread; it must not block. Returns a function that ends that."""
        with self._lock:
            self._wakers.append(wake)

        def remove() -> None:
            with self._lock:
                self._wakers.remove(wake)

        return remove


def _make_activity(at: float, handler: str, one: Notice) -> Activity:
    return Activity(at, one.did, one.text, one.where, one.about, handler, one.item, one.root)


def _identify_text(one: Activity) -> tuple[str, str]:
    """What a line keeps when it is moved to another file of its project."""
    return one.root or one.where, one.text


def _blank_activity(one: Activity, texts: Sequence[str]) -> Activity:
    return replace(one, text=str(blank_value(one.text, texts)))


def list_kept(numbered: Sequence[tuple[int, Activity]], mark: int) -> tuple[int, list[dict[str, Any]]]:
    """Given `list_numbered(mark)`, return how many after `mark` are lost, and the others as JSON with their `number`."""
    missed = numbered[0][0] - mark - 1 if numbered else 0
    return missed, [{"number": number, **one.describe()} for number, one in numbered]


def describe_call(call: EndedCall) -> tuple[str, str, str]:
    """Given a call that ended, return what it was for, the project's name, and its cost and model or why it failed."""
    cost = f"{'~' if call.assumed else ''}{format_dollars(call.usd)}"
    about = ", ".join(
        part for part in (cost, call.model, f"no answer: {call.why}" if call.why else "") if part
    )
    return call.purpose, PurePath(call.project).name, about


def describe_change(done: Transaction) -> tuple[str, str, str]:
    """Given a transaction that changed files, return what it changed, the project's name, and its id."""
    return summarise_transaction(done), done.root.name, f"tacitd show {done.id}"


def read_activities(rows: Callable[..., list[Row]], since: float) -> Iterator[Activity]:
    """What plugins made at `since` (seconds since 1970, UTC) or later, the oldest first."""
    for at, plugin, did, text, place, about, item, root in rows(
        "SELECT a.at, a.plugin, a.did, a.text, a.place, a.about, a.item, r.root FROM activity a "
        "LEFT JOIN project r ON r.number = a.project WHERE a.at >= ? ORDER BY a.number",
        since,
    ):
        yield Activity(at, did, text, place, about, plugin, item, root or "")


def describe_row(change: Mapping[str, Any]) -> tuple[str, str, str]:
    """The same of a change in the store, as `row_history` describes it."""
    return summarise_row(change), PurePath(change["root"]).name, f"tacitd show {change['id']}"


def describe_commit(plugin: Plugin, commit: Commit) -> Iterator[Activity]:
    """Given a commit of this plugin, yield what its hook `activity` makes of it. A hook that fails is logged."""
    if not plugin.activity:
        return
    try:
        notices: list[Notice] = list(load_hook(plugin.activity)(commit))
    except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
        logger.warning("what {} did cannot be described: {}", plugin.name, type(error).__name__)
        return
    for one in notices:
        yield _make_activity(commit.at, plugin.name, one)
