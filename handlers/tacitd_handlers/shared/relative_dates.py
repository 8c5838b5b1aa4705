"""Dates in a text, and the dates that "today" or "next Monday" mean at the time of a message. Pure.

A fact may write "2026-11-23" for "from Monday on". The message's time is UTC and the person's zone is not known, so
the days before and after also count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.text_parts import compose_text

_MONTHS = (
    "january jan januar enero ene janvier janv",
    "february feb februar febrero février févr fév",
    "march mar märz marzo mars",
    "april apr abril abr avril avr",
    "may mai mayo",
    "june jun juni junio juin",
    "july jul juli julio juillet juil",
    "august aug agosto ago août",
    "september sep sept septiembre septembre",
    "october oct oktober okt octubre octobre",
    "november nov noviembre novembre",
    "december dec dezember dez diciembre dic décembre déc",
)
_DAYS = (
    "monday montag lunes lundi 月曜",
    "tuesday dienstag martes mardi 火曜",
    "wednesday mittwoch miércoles mercredi 水曜",
    "thursday donnerstag jueves jeudi 木曜",
    "friday freitag viernes vendredi 金曜",
    "saturday samstag sonnabend sábado samedi 土曜",
    "sunday sonntag domingo dimanche 日曜",
)
_OFFSETS = {
    0: "today tonight now currently heute jetzt derzeit hoy ahora aujourd maintenant 今日 現在 今",
    1: "tomorrow morgen mañana demain 明日",
    2: "übermorgen pasado 明後日",
    -1: "yesterday gestern ayer hier 昨日",
    -2: "vorgestern anteayer",
}
_SPANS = (
    (r"week|woche|semana|semaine|来週|先週|今週", 7),
    (r"month|monat|mes\b|mois|来月|先月|今月", 31),
    (r"year|jahr|año|année|an\b|来年|去年|今年|quarter|quartal|sprint", 366),
)
_VAGUE = frozenset(
    [
        "now",
        "currently",
        "jetzt",
        "derzeit",
        "ahora",
        "aujourd",
        "maintenant",
        "hier",
        "pasado",
        "mar",
        "現在",
        "今",
    ]
)
"""Names in the tables above that mean no day, or that are words of another language too."""
_NEXT_SPAN = compile_lazily(
    r"\b(?:next|last|this|coming|nächste\w?|letzte\w?|diese\w?|kommende\w?|próxim[oa]|est[ea]|prochaine?|cette|ce) "
    r"(?:week|month|year|quarter|sprint|release|woche|monat|jahr|quartal|semana|mes|año|semaine|mois|année)\b"
    r"|(?:semana|mes|año|semaine|mois|année) (?:próxim[oa]|pasad[oa]|que viene|prochaine?|dernière?)\b"
    r"|来週|先週|今週|来月|先月|今月|来年|去年|今年",
)
_MONTH_NUMBERS = {
    name: number for number, names in enumerate(_MONTHS, 1) for name in compose_text(names).split()
}
_NAMES = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_FORMS = (
    compile_lazily(r"(?<![\d.])(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?![\dT-])"),
    compile_lazily(r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}))?(?![\d])"),
    compile_lazily(r"(?<![\d/])(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})(?![\d/])"),
    compile_lazily(
        rf"(?<!\w)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?(?P<n>{_NAMES})\.?(?!\w)(?:,?\s+(?:de\s+)?(?P<y>\d{{4}}))?",
        re.IGNORECASE,
    ),
    compile_lazily(
        rf"(?<!\w)(?P<n>{_NAMES})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\w)(?:,?\s+(?P<y>\d{{4}}))?",
        re.IGNORECASE,
    ),
    compile_lazily(r"(?:(?P<y>\d{4})年)?(?P<m>\d{1,2})月(?P<d>\d{1,2})日"),
)


def find_dates(text: str) -> Iterator[tuple[str, int | None, int, int]]:
    """Yield each date of a composed text: as written, year (None if it has none), month and day."""
    taken: list[tuple[int, int]] = []
    for form in _FORMS:
        for match in form.finditer(text):
            # A later form may also match a part of a date that was found already.
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            groups = match.groupdict()
            month = _MONTH_NUMBERS.get((groups.get("n") or "").casefold()) or int(groups.get("m") or 0)
            day = int(groups["d"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                taken.append(match.span())
                yield match[0], int(groups["y"]) if groups["y"] else None, month, day


def dates_meant(text: str, time: float | None) -> set[date]:
    """Return the dates that a message mentions. `time`: when it was typed, seconds since 1970, UTC; None: unknown.

    Without a time, only dates with a year count.
    """
    plain = compose_text(text).casefold()
    typed = datetime.fromtimestamp(time, UTC).date() if time is not None else None
    found: set[date] = set()
    for _, year, month, day in find_dates(plain):
        years = [year] if year else [typed.year - 1, typed.year, typed.year + 1] if typed else []
        found.update(one for one_year in years if (one := _date(one_year, month, day)))
    return found | (_relative(plain, typed) if typed else set())


def has_relative_date(text: str) -> bool:
    """Whether a text has a date that can only be understood with the day on which it was typed.

    Words such as "now" do not count: they are frequent and mean no day.
    """
    plain = compose_text(text).casefold()
    words = set(re.findall(r"[^\W\d_]+", plain)) - _VAGUE
    names = [name for group in (*_OFFSETS.values(), *_DAYS) for name in compose_text(group).split()]
    return any(_is_named(name, words, plain) for name in names if name not in _VAGUE) or bool(
        _NEXT_SPAN.search(plain)
    )


def _relative(plain: str, typed: date) -> set[date]:
    """Every day that a relative word can mean in any time zone."""
    words = set(re.findall(r"[^\W\d_]+", plain))
    found: set[date] = set()
    for offset, names in _OFFSETS.items():
        if any(_is_named(name, words, plain) for name in compose_text(names).split()):
            found |= _around(typed + timedelta(offset))
    for weekday, names in enumerate(_DAYS):
        if any(_is_named(name, words, plain) for name in compose_text(names).split()):
            ahead = timedelta((weekday - typed.weekday()) % 7)
            for day in (typed + ahead - timedelta(7), typed + ahead, typed + ahead + timedelta(7)):
                found |= _around(day)
    for pattern, days in _SPANS:
        if re.search(pattern, plain):
            found |= {typed + timedelta(offset) for offset in range(-days - 7, 2 * days + 7)}
    return found


def _is_named(name: str, words: set[str], plain: str) -> bool:
    return name in words or (not name.isascii() and not name[0].isascii() and name in plain)


def _around(day: date) -> set[date]:
    return {day - timedelta(1), day, day + timedelta(1)}


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
