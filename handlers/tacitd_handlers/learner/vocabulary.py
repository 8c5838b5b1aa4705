"""The vocabulary of seed 000: modes, verdicts, statuses, stamps, tags, and the normalisation of names for both files.

Pure: strings in, strings out. The meaning of a status is in `weakness_rules.py`, the format of lines in the `*_text.py`
modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from shlex import quote
from typing import Final

from tacitd.text.sanitize import sanitize_line

LEARNING, RECALL = "learning", "recall"
VERDICTS: Final = {
    LEARNING: (
        "solved_independently",
        "solved_with_minor_hints",
        "solved_with_significant_scaffolding",
        "did_not_reach_solution",
    ),
    RECALL: ("strong_pass", "pass", "borderline", "needs_work"),
}
"""By mode, best first (SPEC L-35)."""

NEW, RECURRING, IMPROVING = "new", "recurring", "improving"
SHORT, LONG = "resolved (short-term)", "resolved (long-term)"
STATUSES: Final = (NEW, RECURRING, IMPROVING, SHORT, LONG)
"""The only valid statuses (SPEC L-08)."""

MANUAL, HEALED, UNKNOWN = "manual", "sync-heal", "unknown"
"""Session ids that identify no session, and the pattern of a row without one."""
NO_GAPS, NO_DATE = "none", "—"

STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}"
_STAMP = re.compile(STAMP, re.ASCII)
_TAG = re.compile(r"[a-z0-9_.:-]+", re.ASCII)
_UNWRITTEN = frozenset({"", "—", "–", "-", "none", "n/a"})
"""Ways to write an empty field (SPEC L-12)."""


@lru_cache(maxsize=4096)
def time_of(stamp: str) -> datetime | None:
    """Given `YYYY-MM-DDTHH:MM`, return that local time without a zone; None for anything else (SPEC L-47)."""
    if not _STAMP.fullmatch(stamp):
        return None
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None


def name_of(text: str) -> str:
    """A problem, pattern or session id normalised for both files: one line without pipes (SPEC L-33)."""
    return sanitize_line(text.replace("\\|", "/").replace("|", "/"))


def tag_of(text: str) -> str:
    """A gap tag normalised for comparison: lower case, `_` for white space, only `[a-z0-9_.:-]`.

    "" if nothing remains.
    """
    folded = "_".join(re.sub(r"\s*([:.])\s*", r"\1", text.strip().strip("`").lower()).split())
    return "".join(_TAG.findall(folded))


@lru_cache(maxsize=4096)
def tags_of(gaps: str) -> tuple[str, ...]:
    """Given `Gaps`, return its tags in order, without duplicates; () for `none` and other empty values."""
    if gaps.strip().lower() in _UNWRITTEN:
        return ()
    found = (tag_of(part) for part in re.split(r"[;,]", gaps))
    return tuple(dict.fromkeys(tag for tag in found if tag and tag not in _UNWRITTEN))


def gaps_text(tags: Iterable[str]) -> str:
    """The tags as written in both files; `none` without tags."""
    return "; ".join(tags) or NO_GAPS


def strip_placeholder(text: str) -> str:
    """A field's value; "" for `—`, `none` and other empty values (SPEC L-12)."""
    bare = text.strip()
    return "" if bare.lower() in _UNWRITTEN else bare


def names_a_session(session: str) -> bool:
    """Whether this id identifies one session."""
    return session not in ("", MANUAL, HEALED, UNKNOWN)


def format_command(verb: str, *arguments: str) -> str:
    """A command of `tacitd learner`, quoted for a shell."""
    dashes = ["--"] if any(argument.startswith("-") for argument in arguments) else []
    return " ".join(["tacitd learner", verb, *dashes, *(quote(argument) for argument in arguments)])


def make_slug(label: str) -> str:
    """A label normalised for matching: `Edge: empty input` and `edge:empty_input` are equal (SPEC L-11)."""
    return "_".join(re.findall(r"[a-z0-9]+", label.lower()))
