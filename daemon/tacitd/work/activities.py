"""What happened, one line each: rows of `activity`, for the terminal of `run`, `tacitd log`, `status` and callers of `sync`. A
row is stored in the transaction of what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from tacitd.clock import local_date, local_minutes, utc_seconds
from tacitd.handler import Notice

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx

STORED = "learned"
NO_LINE = "no line"
SHOWN = 3
LONGEST_DAY = 25 * 3600.0
"""Seconds: a day on which the clock is set back."""
LONGEST = 400
"""Maximum characters of an activity's text."""
KEPT = 90 * 86_400.0
AGAIN = 3600.0
"""Seconds until the same reason of work that waits is told again."""
LATEST = 253_402_300_800.0
"""The year 10000, in seconds since 1970: a clock may show a time that cannot be written."""
_COLUMNS = "at, did, text, place, about, plugin, item, root"


class Activity(Struct, frozen=True):
    """One thing that happened. Before it is learned, it has none of the person's words."""

    at: float
    """Seconds since 1970, UTC."""
    did: str
    """`read`, `asked` (a model call), `extracted`, `learned`, `no line`, `changed` (files), `refused`, `parked`, or a plugin's
    own word."""
    text: str
    where: str = ""
    about: str = ""
    handler: str = ""
    """The plugin's name; "": the engine."""
    item: str = ""
    root: str = ""
    number: int = 0

    def describe(self) -> dict[str, Any]:
        """As JSON, with the time as ISO 8601, UTC, and `line`, which combines the fields."""
        fields = asdict(self) | {"at": utc_seconds(self.at), "line": activity_line(self)}
        del fields["item"], fields["root"], fields["number"]
        return fields


def activity_line(one: Activity) -> str:
    """Without time and control characters."""
    about = ", ".join(part for part in (one.where, one.about) if part)
    whole = f"{one.did}: {one.text[:LONGEST]}" + (f"  ({about})" if about else "")
    return whole if whole.isprintable() else "".join(char if char.isprintable() else " " for char in whole)


def insert_activities(tx: Tx, at: float, plugin: str, notices: Sequence[Notice], root: str = "") -> None:
    """`at`: seconds since 1970, UTC. `root`: of the project, where a notice names none."""
    rows = [
        (at, one.did, one.text, one.where, one.about, plugin, one.item, one.root or root) for one in notices
    ]
    tx.executemany(f"INSERT INTO activity({_COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?)", rows)


def insert_parked(tx: Tx, at: float, plugin: str, reason: str, not_before: float | None) -> None:
    """Store that work waits: each reason once an hour, however many tasks wait for it."""
    until = ""
    with suppress(ValueError, OverflowError, OSError):  # third-party plugins name times that cannot be shown
        until = f", until {local_minutes(not_before).replace('T', ' ')}" if not_before is not None else ""
    told = "SELECT 1 FROM activity WHERE did = 'parked' AND plugin = ? AND substr(text, 1, ?) = ? AND at BETWEEN ? AND ?"
    if not tx.rows(told, plugin, len(reason), reason, at - AGAIN, at):
        insert_activities(tx, at, plugin, [Notice("parked", f"{reason}{until}", plugin)])


def follow_decision(tx: Tx, plugin: str, item: str, *, is_gone: bool) -> None:
    """A person forgot this item of a plugin, or restored it (`is_gone` is False): whether it counts as learned."""
    sql = "UPDATE activity SET gone = ? WHERE did = ? AND plugin = ? AND item = ?"
    tx.execute(sql, is_gone, STORED, plugin, item)


def forget_old_activities(tx: Tx, now: float) -> None:
    """Remove what happened 90 days ago. Changes, lines and calls have rows of their own."""
    tx.execute("DELETE FROM activity WHERE at < ?", now - KEPT)


def find_newest(rows: Rows) -> int:
    return int(rows("SELECT coalesce(max(number), 0) FROM activity")[0][0])


def list_since(rows: Rows, mark: int) -> list[Activity]:
    """The activities with a higher number than `mark`, oldest first. A mark that no row has is of another store: all."""
    sql = f"SELECT {_COLUMNS}, number FROM activity WHERE number > ? ORDER BY number"
    found = rows(sql, mark if mark <= find_newest(rows) else 0)
    return [Activity(*row) for row in found]


def list_newest(rows: Rows, since: float, limit: int) -> list[Activity]:
    """The newest `limit` activities at `since` (seconds since 1970) or later, oldest first."""
    sql = f"SELECT {_COLUMNS}, number FROM activity WHERE at >= ? AND at < ? ORDER BY number DESC LIMIT ?"
    return [Activity(*row) for row in rows(sql, max(since, 0.0), LATEST, limit)[::-1]]


def summarise_learned(rows: Rows, now: float) -> dict[str, Any]:
    """What was learned and not taken back: `today` (local), how many, and `last`, the newest three of a day, newest first. A
    line that was learned again counts once."""
    found = rows(
        f"SELECT {_COLUMNS}, max(number) FROM activity WHERE did = ? AND gone = 0 AND at >= ? "
        "GROUP BY CASE root WHEN '' THEN place ELSE root END, text ORDER BY max(number) DESC",
        STORED,
        now - LONGEST_DAY,
    )
    today = sum(local_date(row[0]) == local_date(now) for row in found)
    return {"today": today, "last": [Activity(*row).describe() for row in found[:SHOWN]]}
