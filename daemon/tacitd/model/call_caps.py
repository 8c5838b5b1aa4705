"""Whether a call of the model may be made: the caps on calls and cost, and the parts that were paid for twice.

A clock that was set back by hours frees no budget: calls of a later day that begin within 24 hours count too (`OF_PERIOD`). Calls
of a clock that was years ahead do not.
"""

from __future__ import annotations

import math
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from tacitd.clock import local_date
from tacitd.model.port import ModelRequest, NoAnswer, Why

if TYPE_CHECKING:
    from tacitd.config.settings import BudgetSettings
    from tacitd.contract import Part, Rows
    from tacitd.state.settings_in_force import CapsInForce

HINT = "raise [budget] in the configuration, or wait; `tacitd status` shows the cost so far"
ASSUMED_USD = {"fast": 0.01, "smart": 0.05, "accurate": 0.25}
"""US dollars for a call without a reported cost, by tier, until a call of that tier has reported one."""
RECENT = 20
"""How many of a tier's newest reported costs make up the assumed mean."""
SCAN_SHARE = 0.75
"""The part of each cap that work of `scan` may use: the rest is kept for what a person types now."""

OF_PERIOD = "day >= ?1 AND (substr(day, 1, length(?1)) = ?1 OR begun <= ?2 + 86400)"
"""Whether a call counts for a period. Parameters: the beginning of its dates ("2026-11-22", "2026-11", ""), and the time now."""


_OF_DAY = OF_PERIOD.replace("?1", "?3")


class MinuteFull(Struct, frozen=True):
    """The cap on calls a minute is reached. Nothing is spent yet; waiting is enough."""

    calls: int
    """The cap: calls a minute."""
    seconds: float
    """Seconds until there is room again."""


def find_refusal(
    rows: Rows, call: ModelRequest, caps: BudgetSettings, now: float
) -> MinuteFull | NoAnswer | None:
    """Return why the call is not made at `now` (seconds since 1970, UTC); None if it is."""
    share = SCAN_SHARE if call.priority == "scan" else 1.0
    return (
        _check_repeated(rows, call)
        or check_caps(rows, caps, now, share)
        or _check_purpose(rows, call, share, now)
        or _check_minute(rows, caps, share, now)
    )


def assume_cost(rows: Rows, tier: str) -> float:
    """US dollars for a call with an unknown cost: the mean of the tier's recent ones, otherwise a constant."""
    ((mean,),) = rows(
        "SELECT avg(usd) FROM (SELECT usd FROM call WHERE tier=? AND outcome='answered' AND assumed=0 ORDER BY number DESC LIMIT ?)",
        tier, RECENT,
    )  # fmt: skip
    return float(mean) if mean is not None else ASSUMED_USD.get(tier, max(ASSUMED_USD.values()))


def _check_repeated(rows: Rows, call: ModelRequest) -> NoAnswer | None:
    # What only completes the request (`work`), such as the lines that it shows, is in calls about other things too.
    counted = [part for part in call.about if part.kind != "work"] or call.about
    repeated = tuple(part.row for part in counted if _was_paid_twice(rows, call, part))
    if not repeated:
        return None
    what = "a call about this was begun twice and its answer was lost; it is not made a third time"
    return NoAnswer(Why.REPEATED, what, repeated=repeated)


def _was_paid_twice(rows: Rows, call: ModelRequest, part: Part) -> bool:
    """Whether two calls about the part were paid for since one was of use, and the answer of at least one was lost.

    An answer whose task was not committed is lost if the part is asked for again; `work` may be asked for as often as wanted.
    """
    lost = returned = 0
    for used, outcome, usd in rows(
        "SELECT c.used, c.outcome, c.usd FROM call_part p JOIN call c ON c.number=p.call"
        " WHERE p.kind=? AND p.row=? AND p.digest=? AND c.plugin=? AND c.purpose=? ORDER BY c.number DESC",
        part.kind, part.row, digest_part(part.text), call.plugin, call.purpose,
    ):  # fmt: skip
        if used == 1:
            break
        waits = outcome == "answered" and used is None
        lost += outcome in (None, "lost") or (waits and part.kind != "work")
        returned += (outcome == "failed" and usd > 0) or used == 0 or (waits and part.kind == "work")
    return lost >= 1 and lost + returned >= 2


def check_caps(
    rows: Rows, caps: BudgetSettings | CapsInForce, now: float, share: float = 1.0
) -> NoAnswer | None:
    """None if this share of the caps of the day and the month has room; otherwise the reason, and when to try again."""
    # The month first: a call that waits for tomorrow would only be refused again.
    today, month = local_date(now), local_date(now)[:7]
    ((usd_month, calls, usd),) = rows(
        f"SELECT total(usd), count(CASE WHEN {_OF_DAY} THEN 1 END), total(CASE WHEN {_OF_DAY} THEN usd END) FROM call "
        f"WHERE {OF_PERIOD}",
        *(month, now, today),
    )
    kept = "" if share == 1.0 else "; the rest is kept for what you type"
    if usd_month >= caps.usd_per_month * share:
        what = f"${usd_month:.2f} of ${caps.usd_per_month * share:.2f} spent this month{kept}"
        return NoAnswer(Why.BUDGET, what, HINT, _find_midnight(now, of_month=True))
    if usd >= caps.usd_per_day * share:
        what = f"${usd:.2f} of ${caps.usd_per_day * share:.2f} spent today{kept}"
    elif calls >= caps.calls_per_day * share:
        what = f"{calls} of {math.ceil(caps.calls_per_day * share)} calls made today{kept}"
    else:
        return None
    return NoAnswer(Why.BUDGET, what, HINT, _find_midnight(now))


def _check_purpose(rows: Rows, call: ModelRequest, share: float, now: float) -> NoAnswer | None:
    if call.usd_per_day is None:
        return None
    cap = share * call.usd_per_day
    sql = f"SELECT total(usd) FROM call WHERE {OF_PERIOD} AND purpose=?3"
    ((usd,),) = rows(sql, local_date(now), now, call.purpose)
    if usd < cap:
        return None
    what = f"${usd:.2f} of ${cap:.2f} a day for `{call.purpose}` spent"
    return NoAnswer(
        Why.BUDGET, what, f"raise {call.purpose}.usd_per_day or [budget], or wait", _find_midnight(now)
    )


def _check_minute(rows: Rows, caps: BudgetSettings, share: float, now: float) -> MinuteFull | NoAnswer | None:
    allowed = math.ceil(caps.calls_per_minute * share)
    if not allowed:
        return NoAnswer(Why.BUDGET, "the configuration allows 0 calls a minute", HINT)
    # A call with a later time was begun before the clock was set back: the minute is over when that is not known.
    newest = [at for (at,) in rows("SELECT begun FROM call ORDER BY number DESC LIMIT ?", allowed)]
    if len(newest) < allowed or not all(now - 60.0 < at <= now for at in newest):
        return None
    return MinuteFull(allowed, min(newest) + 60.0 - now)


def digest_part(text: str) -> bytes:
    """What is stored of a part's text: 8 bytes."""
    from tacitd.text.hashes import blake2b  # not for a status, which asks for the caps only

    return blake2b(text.encode(errors="replace"), digest_size=8).digest()


def _find_midnight(now: float, *, of_month: bool = False) -> float:
    """The local midnight at which the next day or month begins; both in seconds since 1970, UTC."""
    day = datetime.fromtimestamp(now).date()
    begin = (day.replace(day=1) + timedelta(days=32)).replace(day=1) if of_month else day + timedelta(days=1)
    return datetime.combine(begin, time.min).timestamp()
