"""The part of a profile that fits into a session's start (SPEC L-50a). Pure: a document and a number of characters in.

Claude Code replaces a hook's output above 10,000 characters by a preview of 2 KB, so a text that is too long loses what
matters. Room is given in this order: headings, About Me, active weaknesses, the person's other text, sessions from the
newest on, resolved weaknesses. An entry is printed whole or not at all. What is printed keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct

from tacitd_handlers.learner.formats.profile_md import ABOUT, LearnerProfile, Span
from tacitd_handlers.learner.rules.vocabulary import IMPROVING, NEW, RECURRING

STATUS_ORDER = (RECURRING, NEW, IMPROVING)
"""The statuses whose entries are printed first if not even the active ones fit; others follow."""


class Rank(IntEnum):
    """The kinds of text in a profile, the most important first."""

    HEADING = 0
    ABOUT = 1
    ACTIVE = 2
    TEXT = 3
    SESSION = 4
    RESOLVED = 5


class _Piece(Struct, frozen=True):
    """Lines that are printed together."""

    rank: Rank
    span: Span
    order: str = ""
    """Pieces of a rank are given room in the order of this text, then as in the file."""


class ProfileExcerpt(Struct, frozen=True):
    """What is printed, and what is not."""

    text: str
    left_out: tuple[str, ...] = ()
    """For each kind, how much: `14 older sessions`."""


def fit_profile(profile: LearnerProfile, room: int) -> ProfileExcerpt:
    """Return the profile in at most `room` characters."""
    whole = profile.mark + "".join(profile.lines)
    if len(whole) <= room:
        return ProfileExcerpt(whole)
    chosen: set[int] = set()
    left = max(0, room - len(profile.mark))
    counts = dict.fromkeys(Rank, 0)
    pieces = sorted(_split(profile), key=lambda piece: (piece.rank, piece.order, piece.span.start))
    need = sum(_length(profile, piece.span) for piece in pieces if piece.rank is Rank.ACTIVE)
    full: set[Rank] = set()
    for piece in pieces:
        spans = [piece.span]
        if piece.rank is Rank.ABOUT:
            # A long About Me leaves room for the weaknesses, but is never left out for them.
            spans = [Span(at, at + 1) for at in range(piece.span.start, piece.span.end)]
            limit = max(left - need, left // 5)
        else:
            limit = left
        for span in spans:
            size = _length(profile, span)
            if piece.rank not in full and size <= limit:
                chosen.update(range(span.start, span.end))
                left, limit = left - size, limit - size
            else:
                counts[piece.rank] += 1
                if piece.rank in (Rank.ABOUT, Rank.SESSION):
                    full.add(piece.rank)  # what follows a line or a newer session is not printed without it
    text = profile.mark + "".join(line for at, line in enumerate(profile.lines) if at in chosen)
    return ProfileExcerpt(text, tuple(_describe(counts)))


def _split(profile: LearnerProfile) -> Iterator[_Piece]:
    """The pieces of a profile. Each line is in one of them."""
    ranks: list[tuple[Rank, str]] = [(Rank.TEXT, "")] * len(profile.lines)
    starts = [False] * len(profile.lines)

    def mark(span: Span, rank: Rank, order: str = "") -> None:
        ranks[span.start : span.end] = [(rank, order)] * (span.end - span.start)
        starts[span.start] = True

    for name, span in profile.sections:
        if name == ABOUT:
            mark(span, Rank.ABOUT)
        mark(Span(span.start, span.start + 1), Rank.HEADING)
    for placed in profile.weaknesses:
        order = placed.entry.status or ""
        rank = Rank.RESOLVED if placed.resolved else Rank.ACTIVE
        mark(placed.span, rank, str(STATUS_ORDER.index(order)) if order in STATUS_ORDER else "9")
    if profile.resolved_at is not None:
        mark(Span(profile.resolved_at, profile.resolved_at + 1), Rank.HEADING)
    for held in profile.sessions:
        mark(held.span, Rank.SESSION, _newest_first(held.session.stamp))
    begin = 0
    for at in range(1, len(profile.lines) + 1):
        end = at == len(profile.lines)
        # Blank lines belong to what is above them.
        if end or starts[at] or (ranks[at] != ranks[begin] and profile.lines[at].strip()):
            rank, order = ranks[begin]
            yield _Piece(rank, Span(begin, at), order)
            begin = at


def _newest_first(stamp: str) -> str:
    """A text that sorts the newest stamp first."""
    return "".join(chr(0x7F - ord(letter)) for letter in stamp)


def _length(profile: LearnerProfile, span: Span) -> int:
    return sum(len(line) for line in profile.lines[span.start : span.end])


def _describe(counts: dict[Rank, int]) -> Iterator[str]:
    names: Sequence[tuple[Rank, str, str]] = (
        (Rank.ABOUT, "line of About Me", "lines of About Me"),
        (Rank.ACTIVE, "active weakness", "active weaknesses"),
        (Rank.TEXT, "part of your own text", "parts of your own text"),
        (Rank.SESSION, "older session", "older sessions"),
        (Rank.RESOLVED, "resolved weakness", "resolved weaknesses"),
    )
    for rank, one, many in names:
        if counts[rank]:
            yield f"{counts[rank]} {one if counts[rank] == 1 else many}"
