"""What happened, one line each: for the log, the terminal of `run`, `tacitd log`, `status` and callers of `sync`.

Plugins contribute what they made, which is stored with what they did; the engine contributes what was read, asked, changed and
parked. The newest are in memory too, and `stored_activities.py` finds older ones in the store and in the logs. Their texts are
made here, live and from the logs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from tacitd.clock import local_date, utc_seconds
from tacitd.contract import Row
from tacitd.errors import StoreLostError, UnwritableError
from tacitd.handler import Notice
from tacitd.model.budget import EndedCall
from tacitd.store import Store
from tacitd.text.wording import format_dollars

if TYPE_CHECKING:
    pass

STORED = "learned"
"""`did` of what was stored."""
NO_LINE = "no line"
"""`did` of work that had no result, with the reason."""
KEPT = 500
"""Activities that are kept: more than one `sync` usually brings."""
SHOWN = 3
"""Learned texts that the status names."""
LONGEST_DAY = 25 * 3600.0
"""Seconds: a day on which the clock is set back."""
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


class Activities:
    """The newest activities, numbered from 1, and what was learned, in the store. Thread-safe."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._lock = threading.Lock()
        self._newest: deque[tuple[int, Activity]] = deque(maxlen=KEPT)
        self._last_number = 0
        self.load_mark = 0
        """The number of the newest activity from before the end of `load`."""
        self.load_time = now()
        """When `load` ended, in seconds since 1970: everything that happened later is numbered, if not all is kept."""

    def announce(self, handler: str, notice: Notice) -> None:
        """A plugin made something, which its commit has stored: log it at INFO and keep it."""
        self._add(_make_activity(self._now(), handler, notice))

    def add(self, did: str, text: str, where: str = "", about: str = "", handler: str = "") -> None:
        """Log what happened at INFO, and keep it."""
        self._add(Activity(self._now(), did, text, where, about, handler))

    def _add(self, one: Activity) -> None:
        with self._lock:
            self._keep(one)
        from loguru import logger  # not for a command that only reads what happened

        logger.info("{}", activity_line(one))

    def load(self, earlier: Iterable[Activity]) -> None:
        """Keep what happened before the start. It is not logged again, and no caller of `sync` gets it."""
        ordered = sorted(earlier, key=lambda one: one.at)
        with self._lock:
            for one in ordered:
                self._keep(one)
            self.load_mark, self.load_time = self._last_number, self._now()

    def _keep(self, one: Activity) -> None:
        self._last_number += 1
        self._newest.append((self._last_number, one))

    def follow_change(self, change: Mapping[str, Any]) -> None:
        """A plugin changed files: add that, and follow what was removed and put. `change`: as `row_history` describes it."""
        taken = [line["removed"] for line in change["lines"] if line["removed"]]
        put = [line["added"] for line in change["lines"] if line["added"]]
        self._follow_lines(str(change["root"]), taken, put)
        self.add("changed", *describe_change(change))

    def _follow_lines(self, root: str, taken: Collection[str], put: Collection[str]) -> None:
        """A line that was moved is removed and put in one change, in any order."""
        lines = dict.fromkeys(taken, 1) | dict.fromkeys(put, 0)
        wanted = "SELECT number FROM activity WHERE did = ? AND text = ? AND gone <> ? AND root = ?"
        found = [
            (gone, number)
            for text, gone in lines.items()
            for (number,) in self._store.rows(wanted, STORED, text, gone, root)
        ]
        self._mark(found)

    def follow_decision(self, handler: str, item: str, *, is_gone: bool) -> None:
        """A person forgot this item of a plugin, or restored it (`is_gone` is False)."""
        if item:
            wanted = "SELECT number FROM activity WHERE did = ? AND plugin = ? AND item = ?"
            found = self._store.rows(wanted, STORED, handler, item)
            self._mark([(int(is_gone), number) for (number,) in found])

    def _mark(self, rows: Sequence[tuple[int, int]]) -> None:
        if rows:
            with suppress(UnwritableError, StoreLostError), self._store.write() as tx:
                tx.executemany("UPDATE activity SET gone = ? WHERE number = ?", rows)

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

    def blank_texts(self, texts: Sequence[str]) -> None:
        """Blank these texts in what is kept."""
        with self._lock:
            for numbered, (number, one) in enumerate(self._newest):
                self._newest[numbered] = number, _blank_activity(one, texts)


def summarise_learned(rows: Callable[..., list[Row]], now: float) -> dict[str, Any]:
    """What was learned and not taken back since, as JSON: `today` (local), how many, and `last`, the newest three of a day, newest
    first. A line that was learned again counts once."""
    found = rows(
        "SELECT max(number), at, text, place, about, plugin, item, root FROM activity WHERE did = ? AND gone = 0 AND at >= ? "
        "GROUP BY CASE root WHEN '' THEN place ELSE root END, text ORDER BY max(number) DESC",
        STORED,
        now - LONGEST_DAY,
    )
    last = [
        Activity(at, STORED, text, place, about, plugin, item, root).describe()
        for _, at, text, place, about, plugin, item, root in found[:SHOWN]
    ]
    return {"today": sum(local_date(at) == local_date(now) for _, at, *_ in found), "last": last}


def _make_activity(at: float, handler: str, one: Notice) -> Activity:
    return Activity(at, one.did, one.text, one.where, one.about, handler, one.item, one.root)


def _blank_activity(one: Activity, texts: Sequence[str]) -> Activity:
    from tacitd.files.purge import blank_value  # not for `status`

    return replace(one, text=str(blank_value(one.text, texts)))


def describe_call(call: EndedCall) -> tuple[str, str, str]:
    """Given a call that ended, return what it was for, the project's name, and its cost and model or why it failed."""
    cost = f"{'~' if call.assumed else ''}{format_dollars(call.usd)}"
    about = ", ".join(
        part for part in (cost, call.model, f"no answer: {call.why}" if call.why else "") if part
    )
    return call.purpose, PurePath(call.project).name, about


def read_activities(rows: Callable[..., list[Row]], since: float) -> Iterator[Activity]:
    """What plugins made at `since` (seconds since 1970, UTC) or later, the oldest first."""
    for at, plugin, did, text, place, about, item, root in rows(
        "SELECT at, plugin, did, text, place, about, item, root FROM activity WHERE at >= ? ORDER BY number",
        since,
    ):
        yield Activity(at, did, text, place, about, plugin, item, root)


def describe_change(change: Mapping[str, Any]) -> tuple[str, str, str]:
    """Given a change of files as `row_history` describes it, return what it changed, the project's name, and its id."""
    from tacitd.files.row_history import summarise_row  # not for `status`

    return summarise_row(change), PurePath(change["root"]).name, f"tacitd show {change['id']}"
