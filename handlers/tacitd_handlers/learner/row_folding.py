"""The fold of new rows into the state, and the caps that follow from it. Pure; changes only the state.

What a row means for a weakness is in `rules/ledger_fold.py`, the caps in `rules/capacity.py`. The profile is only read
to count the entries that take room; `render.py` decides what is written into it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tacitd_handlers.learner.alias_learning import LearnedLabels
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.formats.profile_md import PlacedEntry
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.manual_edits import find_entering, find_tested_ahead
from tacitd_handlers.learner.reconcile_types import ReconcileInput, ReconcileResult
from tacitd_handlers.learner.rules import capacity, ledger_fold
from tacitd_handlers.learner.rules.capacity import Move, WeaknessLists
from tacitd_handlers.learner.rules.description_check import describe_gap
from tacitd_handlers.learner.rules.ledger_fold import FoldedLedger, FoldInputs, Override
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.resolution import prove_resolution
from tacitd_handlers.learner.rules.vocabulary import LONG
from tacitd_handlers.learner.state import LearnerState


def fold_rows(
    labels: LearnedLabels,
    state: LearnerState,
    news: ReconcileInput,
    rows: Sequence[LedgerRow],
    result: ReconcileResult,
    *,
    full: bool,
    adopted: Sequence[Override],
) -> None:
    """Fold the rows into the state, and apply the caps."""
    result.vague += _describe(state, rows, news)
    for tag in labels.released:  # its description was that of the entry that is not its own
        if tag in state.folded.tags:
            _describe(state, news.ledger.find_rows(state.folded.tags[tag].first), news)
    entering = set() if full else find_entering(state, rows)
    _assign_lists(state, labels, entering)
    beside = build_fold_inputs(state, news)
    if full:
        _fold_anew(state, rows, beside, result, labels)
    else:
        _fold_on(state, rows, beside, result, adopted)
        _admit_written(state, labels, entering, result)
    late = find_tested_ahead(state, labels.matched, {row.stamp for row in rows})
    if late:
        for tag, stamp in late.items():
            state.also.setdefault(stamp, []).append(tag)
        beside = build_fold_inputs(state, news)
        _fold_anew(state, ledger_fold.in_order(news.ledger.parse_rows().rows), beside, result, labels)
    released = [tag for tag in labels.released if tag in state.folded.tags]
    result.moves += _move_weaknesses(state, released, beside)
    result.moves += _apply_cap(state, labels, beside)
    if news.archives_surplus:
        result.moves += _archive_surplus(state, labels, beside)
    state.size, state.crc = len(news.ledger), news.ledger.compute_crc()


def _assign_lists(state: LearnerState, labels: LearnedLabels, entering: Collection[str] = ()) -> None:
    """Take the tags that are held back out of the lists, put those with an entry in, and count the other entries.

    `entering` are tags that the fold of the new rows puts in.
    """
    for tag in state.held:
        found_in = state.lists.find_list(tag)
        if found_in is not None:
            found_in.remove(tag)
    for tag, placed in labels.matched.by_tag.items():
        if tag not in state.removed and tag not in entering and state.lists.find_list(tag) is None:
            (state.lists.resolved if placed.resolved else state.lists.active).append(tag)
    _count_others(state, labels, entering)


def _admit_written(
    state: LearnerState, labels: LearnedLabels, entering: Collection[str], result: ReconcileResult
) -> None:
    """Put new tags that found the list full into it as far as the skill or a person filled it: what they wrote stays.

    Trigger: they wrote more than twenty entries. Why: it is their list. Outcome: as many are active as they wrote. If they wrote
    fewer, and a gap returned to the list, the newest one waits; its label and description are kept.
    """
    there = labels.matched.by_tag
    found = state.lists.others_active + sum(not placed.resolved for placed in there.values())
    room = max(capacity.MAX_ACTIVE, found) - len(state.lists.active) - state.lists.others_active
    written = [tag for tag in state.lists.pending if tag in entering and tag in there][: max(0, room)]
    state.lists.pending = [tag for tag in state.lists.pending if tag not in written]
    result.moves = [move for move in result.moves if move.tag not in written]
    _assign_lists(state, labels)


def _apply_cap(state: LearnerState, labels: LearnedLabels, beside: FoldInputs) -> list[Move]:
    """Bring a list that is too long down to the cap, as far as that needs no text of a person (SPEC L-09).

    The newest entries that are tacitd's own to the byte wait for room again, unless another one can be promoted.
    """
    lists = state.lists
    if lists.surplus <= 0:
        return []
    own = [tag for tag in lists.active if tag not in labels.matched.by_tag or labels.is_own(tag)]
    own = own[-lists.surplus :]
    lists.active = [tag for tag in lists.active if tag not in own]
    lists.pending = [*own, *lists.pending]
    return [*(Move(tag, "waits") for tag in own), *_move_weaknesses(state, (), beside)]


def _archive_surplus(state: LearnerState, labels: LearnedLabels, beside: FoldInputs) -> list[Move]:
    """Move what is too much out of the active list, also what a person wrote: a person asked for it."""
    others = [
        (placed.entry.as_weakness(placed.entry.label), placed)
        for placed in _list_others(state, labels)
        if not placed.resolved
    ]
    tags = _with_given(state)
    moves, moved = capacity.archive_surplus(
        state.lists, tags, [course for course, _ in others], set(state.folded.tags), _prove_with(beside)
    )
    _note_promotions(state, tags, moves)
    archived = [
        replace(placed, resolved=True) for course, placed in others if any(course is one for one in moved)
    ]
    spans = {placed.span for placed in archived}
    labels.rewritten = [*(placed for placed in labels.rewritten if placed.span not in spans), *archived]
    return moves


def _count_others(state: LearnerState, labels: LearnedLabels, entering: Collection[str] = ()) -> None:
    others = _list_others(state, labels, entering)
    state.lists.others_active = sum(not placed.resolved for placed in others)
    state.lists.others_resolved = sum(placed.resolved for placed in others)


def _list_others(
    state: LearnerState, labels: LearnedLabels, entering: Collection[str] = ()
) -> list[PlacedEntry]:
    """The entries that take room without being in a list: a person's own, and those whose rows are gone."""
    listed = [
        placed
        for tag, placed in labels.matched.by_tag.items()
        if tag not in state.removed and tag not in entering and state.lists.find_list(tag) is None
    ]
    return [*listed, *(placed for placed in labels.matched.others if placed not in labels.doubles)]


def find_new_rows(state: LearnerState, ledger: Ledger) -> tuple[list[LedgerRow], bool]:
    """The rows to fold, in order, and whether they are the whole ledger.

    They are the whole ledger if it was changed by hand, or if a new row is older than what is folded.
    """
    if state.size and ledger.has_prefix(state.size, state.crc):
        table = ledger.parse_rows(state.size)
        fresh = ledger_fold.in_order(table.rows)
        if all(row.stamp >= state.folded.last for row in fresh[:1]):
            state.bad += len(table.bad)
            return fresh, False
    table = ledger.parse_rows()
    state.bad = len(table.bad)
    return ledger_fold.in_order(table.rows), True


def list_known_tags(state: LearnerState, rows: Iterable[LedgerRow], news: ReconcileInput) -> dict[str, None]:
    """Every tag in the state, in the new rows, or in an intent."""
    tags = dict.fromkeys((*state.folded.tags, *state.wrote, *state.given))
    for gaps in {row.gaps: row.tags for row in rows}.values():
        tags.update(dict.fromkeys(gaps))
    for intent in news.intents.values():
        tags.update(dict.fromkeys(intent.tested or ()))
    return tags


def build_fold_inputs(state: LearnerState, news: ReconcileInput) -> FoldInputs:
    """The fold's input that is not in the ledger."""

    def tested(row: LedgerRow) -> Iterable[str] | None:
        intent = news.intents.get(row.key)
        return intent.tested if intent is not None else None

    def has_row(stamp: str) -> bool:
        return stamp == state.folded.last or bool(news.ledger.find_rows(stamp))

    return FoldInputs(state.given, tested, state.also, has_row)


def _fold_on(
    state: LearnerState,
    rows: Sequence[LedgerRow],
    beside: FoldInputs,
    result: ReconcileResult,
    overrides: Iterable[Override],
) -> None:
    """Fold row by row, and apply the caps after each row."""
    waiting = sorted(overrides)
    for row in rows:
        ledger_fold.replay_overrides(state.folded, waiting, row)
        result.moves += _move_weaknesses(state, ledger_fold.fold_row(state.folded, row, beside), beside)
    ledger_fold.replay_overrides(state.folded, waiting, None)


def _fold_anew(
    state: LearnerState,
    rows: Sequence[LedgerRow],
    beside: FoldInputs,
    result: ReconcileResult,
    labels: LearnedLabels,
) -> None:
    """Fold all rows from the start.

    If no tag is assigned to a list yet, the caps are applied after each row, as in `_fold_on`. Otherwise the lists
    stay, and only tags whose status changed can move.
    """
    before, lists = {tag: weakness.status for tag, weakness in state.folded.tags.items()}, state.lists
    state.folded = FoldedLedger()
    if lists == WeaknessLists(others_active=lists.others_active, others_resolved=lists.others_resolved):
        _fold_on(state, rows, beside, result, state.overrides)
        return
    waiting = sorted(state.overrides)
    for row in rows:
        ledger_fold.replay_overrides(state.folded, waiting, row)
        ledger_fold.fold_row(state.folded, row, beside)
    ledger_fold.replay_overrides(state.folded, waiting, None)
    now = state.folded.tags
    for each in (lists.active, lists.resolved, lists.pending, lists.dropped):
        each[:] = [tag for tag in each if tag in now or tag in state.given]
    _count_others(state, labels)
    changed = [
        tag for tag, w in now.items() if lists.find_list(tag) is None or before.get(tag, w.status) != w.status
    ]
    result.moves += _move_weaknesses(state, changed, beside)


def _move_weaknesses(state: LearnerState, touched: Iterable[str], beside: FoldInputs) -> list[Move]:
    tags = _with_given(state)
    out = {*state.removed, *state.held}
    moves = capacity.move_tags(state.lists, tags, touched, out, _prove_with(beside))
    _note_promotions(state, tags, moves)
    return moves


def _prove_with(beside: FoldInputs) -> Callable[[Weakness], bool]:
    return lambda weakness: prove_resolution(weakness, beside.has_row).proved


def _note_promotions(state: LearnerState, tags: Mapping[str, Weakness], moves: Iterable[Move]) -> None:
    """Remember the promotions that made room: they do not follow from the rows."""
    for move in moves:
        if move.what == "makes room":
            state.overrides.append(Override(*ledger_fold.fold_position(state.folded), move.tag, LONG))
            state.folded.tags[move.tag] = tags[move.tag]


def _with_given(state: LearnerState) -> dict[str, Weakness]:
    """All weaknesses that have a list. Those that only the profile has are as their entries say."""
    if not state.given:
        return state.folded.tags
    return {**state.given, **state.folded.tags}


def _describe(state: LearnerState, rows: Iterable[LedgerRow], news: ReconcileInput) -> list[str]:
    """Set the description of new gaps: as given, otherwise where the gap was observed (SPEC L-10).

    Returns the tags whose description was not specific.
    """
    vague = []
    for row in rows:
        intent = news.intents.get(row.key)
        for tag in row.tags:
            if tag in state.texts:
                continue
            description = intent.descriptions.get(tag, "") if intent is not None else ""
            state.texts[tag], well = describe_gap(tag, description, row.problem, row.pattern, row.stamp)
            if not well:
                vague.append(tag)
    return vague
