"""index.json: the lines of the active lessons by scope, made from the log (SPEC E-20).

It is for people and other programs: tacitd reads the log alone. JSON with one lesson a line, so that `grep` works on it:

    {"version":2,
    "counts":{"active":2,"ai":1,"user":1,"deleted":1,"promoted":0,"other":0,"last":3},
    "scopes":{
    "global":[
    ["001","- WHEN … [firm]"]
    ],
    …
"""

from __future__ import annotations

import json

from tacitd_handlers.lessons.lesson_fold import FoldedLessons
from tacitd_handlers.lessons.load_output import Rows, make_row


def build_index(folded: FoldedLessons) -> bytes:
    """The index of these lessons."""
    say = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    scopes: dict[str, Rows] = {}
    for lesson in folded.list_active():
        scopes.setdefault(lesson.scope, []).append(make_row(lesson))
    parts = [
        f"{say(scope)}:[\n" + ",\n".join(map(say, rows)) + "\n]" for scope, rows in sorted(scopes.items())
    ]
    counts = say({**count_lessons(folded), "last": folded.last})
    text = f'{{"version":2,\n"counts":{counts},\n"scopes":{{\n' + ",\n".join(parts) + "\n}}\n"
    return text.encode("utf-8", "replace")


def count_lessons(folded: FoldedLessons) -> dict[str, int]:
    """The number of lessons of each status, and of the active ones those of agents and those of people."""
    counted = {"active": 0, "ai": 0, "user": 0, "deleted": 0, "promoted": 0, "other": 0}
    for lesson in folded.lessons.values():
        counted[lesson.status if lesson.status in ("active", "deleted", "promoted") else "other"] += 1
        if lesson.is_active and lesson.source in ("ai", "user"):
            counted[lesson.source] += 1
    return counted
