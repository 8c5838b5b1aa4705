"""What is done to the learner's files: record a problem, forget, restore, archive or name a weakness.

Every function here needs the store's lock, and raises OSError and FileRefusedError. Only `record_problem` writes to the
ledger. The others edit the profile as a person would, and bring both files in step before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd_handlers.learner.learner_state import LearnerState, ReportRecord
from tacitd_handlers.learner.learner_store import LearnerStore
from tacitd_handlers.learner.ledger_file import LedgerRow, parse_ledger
from tacitd_handlers.learner.ledger_replay import replay
from tacitd_handlers.learner.notices import format_command
from tacitd_handlers.learner.practice_report import PracticeReport
from tacitd_handlers.learner.practice_sync import SyncResult
from tacitd_handlers.learner.profile_text import (
    LearnerProfile,
    PlacedEntry,
    Splice,
    apply_splices,
    insert_weaknesses,
    parse_profile,
)
from tacitd_handlers.learner.review_dates import ReviewPlan, describe_trajectory, find_review
from tacitd_handlers.learner.session_stamps import SessionStamp
from tacitd_handlers.learner.vocabulary import RECALL, gaps_text, make_slug, tag_of
from tacitd_handlers.learner.weakness_entries import match_entries
from tacitd_handlers.learner.weakness_text import update_entry


class RecordedProblem(Struct, frozen=True):
    """The result of `record_problem`."""

    row: LedgerRow
    again: bool
    """The row was in the ledger already; nothing was added."""
    result: SyncResult | None
    """None: the row is in the ledger, but the profile could not be written."""
    trouble: str = ""
    """Why the profile could not be written."""
    hint: str = ""


def record_problem(
    store: LearnerStore, report: PracticeReport, at: SessionStamp, plan: ReviewPlan
) -> RecordedProblem:
    """Write one problem to the ledger, then to the profile. The same twice has one effect (SPEC L-23).

    Raises TacitdError if the ledger has the same key with another verdict or other gaps, because it is never edited. After
    any error nothing was recorded.
    """
    store.finish_reports()
    ledger = store.read_ledger()
    rows = parse_ledger(ledger).rows
    gaps = gaps_text(report.gaps)
    row = LedgerRow(
        at.stamp, at.session, report.problem, report.pattern, report.mode, report.verdict, gaps, ""
    )
    same = next((one for one in rows if one.key == row.key), None)
    if same is not None:
        if (same.verdict, same.tags) != (row.verdict, row.tags):
            raise TacitdError(
                f"the ledger has {row.problem} on {row.stamp} with {same.verdict} and gaps {same.gaps}",
                "the ledger is never edited; record another session, or correct the line by hand",
            )
        return _write_to_profile(store, same, again=True)
    past = [one for one in rows if one.problem == row.problem and one.stamp <= row.stamp]
    row = row._replace(review=find_review(row, past, plan))
    trend = describe_trajectory(past) if report.mode == RECALL else ""
    observed = "\n".join(part for part in (report.observations, trend) if part)
    store.check_editable()
    planned = ReportRecord(row, report.tested, observed, dict(report.descriptions))
    store.change_state(lambda state: state.reports.append(planned))
    try:
        store.append_rows([row], ledger)
    except (OSError, FileRefusedError):
        _give_up(store, row)
        raise
    return _write_to_profile(store, row, again=False)


def _give_up(store: LearnerStore, row: LedgerRow) -> None:
    """Forget a report whose caller gets an error, unless its row is in the ledger: it must not be written later."""
    if all(one.key != row.key for one in store.list_rows()):
        state = store.load_state()
        state.reports = [report for report in state.reports if report.row.key != row.key]
        store.save_state(state)


def _write_to_profile(store: LearnerStore, row: LedgerRow, *, again: bool) -> RecordedProblem:
    try:
        return RecordedProblem(row, again, store.update_profile(fresh=None if again else row))
    except FileRefusedError as error:
        return RecordedProblem(row, again, None, error.what, error.hint)
    except OSError as error:
        return RecordedProblem(row, again, None, f"{error.filename or 'the profile'}: {error.strerror}")


# weaknesses (SPEC L-11, L-27, L-30)


def forget_weakness(store: LearnerStore, name: str) -> str:
    """Remove the entry of a gap, never write it again, and return its tag. Raises UsageError if there is no such gap."""
    store.sync_files(force=True)
    tag = _find_tag(store, name)
    _edit(store, lambda _, entries: [Splice(entries[tag].span)] if tag in entries else [])

    def remove(state: LearnerState) -> None:
        state.set_waiting(tag, "")
        state.find_tag(tag).removed = True

    store.change_state(remove)
    return tag


def restore_weakness(store: LearnerStore, name: str) -> str:
    """Restore a removed weakness from the ledger, if there is room, and return its tag. Raises UsageError."""
    store.sync_files(force=True)
    tag, state = _find_tag(store, name), store.load_state()
    if not state.find_tag(tag).removed:
        removed = ", ".join(sorted(state.removed)) or "none"
        raise UsageError(f"{tag} was not removed", f"removed: {removed}")
    state.find_tag(tag).removed = False
    weakness = replay(store.list_rows(), state.tested).tags.get(tag)
    if weakness is not None:
        state.set_waiting(tag, weakness.tested)
    store.save_state(state)
    store.update_profile(is_settled=True)
    return tag


def archive_weakness(store: LearnerStore, name: str) -> str:
    """Move the active entry with this tag or label to `### Resolved`, and return its label.

    Rule 6 of seed 000 forbids a promotion without proof, so the status stays. Entries that wait get its room. Raises
    UsageError if there is no such active entry.
    """
    store.sync_files(force=True)
    label = ""

    def archive(profile: LearnerProfile, entries: dict[str, PlacedEntry]) -> list[Splice]:
        nonlocal label
        active = [placed for placed in profile.weaknesses if not placed.resolved]
        found = [entries[tag] for tag in (name, tag_of(name)) if tag in entries and not entries[tag].resolved]
        chosen = found[0] if found else _find_entry(active, name, "is not an active weakness")
        label = chosen.entry.label
        return [
            Splice(chosen.span),
            insert_weaknesses(profile, [profile.bare_lines(chosen.span)], resolved=True),
        ]

    _edit(store, archive)
    return label


def join_label(store: LearnerStore, name: str, gap: str) -> tuple[str, str]:
    """Make the entry with this label the entry of a gap, and return both.

    An entry of the gap's own is removed, and its stamps and counts go into the other one, which keeps its text. Raises
    UsageError if there is no such entry or gap, or if the gap has another label already.
    """
    store.sync_files(force=True)
    profile, state, tag = store.read_profile(), store.load_state(), _find_tag(store, gap)
    chosen = _find_entry(profile.weaknesses if profile is not None else (), name).entry
    holder = _match(store, profile).get(tag) if profile is not None else None
    if holder is not None and holder.entry.label not in (chosen.label, tag):
        raise UsageError(
            f"{tag} has an entry already: {holder.entry.label}",
            f"`{format_command('alias --remove', holder.entry.label)}` makes it an entry of its own",
        )
    for record in state.tags.values():
        record.label = "" if record.label == chosen.label else record.label
    record = state.find_tag(tag)
    record.label, record.removed, record.description = chosen.label, False, chosen.description
    state.set_waiting(tag, "")
    store.save_state(state)

    def join(profile: LearnerProfile, entries: dict[str, PlacedEntry]) -> list[Splice]:
        own = next(
            (placed for placed in profile.weaknesses if placed.entry.label == tag != chosen.label), None
        )
        if own is None or tag not in entries:
            return []
        lines = update_entry(profile.bare_lines(entries[tag].span), own.entry.as_weakness(tag))
        return [Splice(own.span), Splice(entries[tag].span, tuple(lines))]

    _edit(store, join)
    return chosen.label, tag


def separate_label(store: LearnerStore, name: str) -> tuple[str, str]:
    """Make the entry with this label one of its own, and return the label and the gap that it was.

    Raises UsageError if it is not the entry of a gap by an alias.
    """
    store.sync_files(force=True)
    profile = store.read_profile()
    label = _find_entry(profile.weaknesses if profile is not None else (), name).entry.label
    tag = next((tag for tag, given in store.load_state().aliases.items() if given == label), "")
    if not tag or make_slug(label) == make_slug(tag):
        raise UsageError(
            f"{label!r} is no alias of a gap", "`tacitd learner review` names the gap of each label"
        )

    def separate(state: LearnerState) -> None:
        state.find_tag(tag).label = state.find_tag(tag).description = ""

    store.change_state(separate)
    store.sync_files(force=True)
    return label, tag


def _edit(
    store: LearnerStore, change: Callable[[LearnerProfile, dict[str, PlacedEntry]], list[Splice]]
) -> None:
    """Edit the profile, given it and its entries by tag, and bring the files in step with it."""

    def edit(data: bytes | None) -> bytes | None:
        profile = parse_profile(data or b"")
        splices = change(profile, _match(store, profile))
        return apply_splices(profile, splices) if splices else data

    store.write_profile(edit)
    store.sync_files(force=True)


def _match(store: LearnerStore, profile: LearnerProfile) -> dict[str, PlacedEntry]:
    return match_entries(profile, _list_tags(store), store.load_state().aliases)


def _list_tags(store: LearnerStore) -> dict[str, None]:
    return dict.fromkeys([*(tag for row in store.list_rows() for tag in row.tags), *store.load_state().tags])


def _find_tag(store: LearnerStore, name: str) -> str:
    """The gap with this tag or label. Raises UsageError."""
    tags = _list_tags(store)
    by_label = {label: tag for tag, label in store.load_state().aliases.items()}
    for tag in (name, by_label.get(name, ""), tag_of(name)):
        if tag in tags:
            return tag
    same = [tag for tag in tags if make_slug(name) in _list_slugs(tag)]
    if len(same) == 1:
        return same[0]
    raise UsageError(
        f"{name!r} is not a known gap", f"known gaps: {', '.join(sorted(tags)[:8]) or 'none yet'}"
    )


def _find_entry(
    entries: Sequence[PlacedEntry], name: str, what: str = "is no label in Known Weaknesses"
) -> PlacedEntry:
    """The entry with this label, otherwise the only one that is spelled so. Raises UsageError."""
    same = [placed for placed in entries if placed.entry.label == name]
    alike = [placed for placed in entries if make_slug(name) in _list_slugs(placed.entry.label)]
    if same or len(alike) == 1:
        return (same or alike)[0]
    known = "; ".join(placed.entry.label for placed in entries[:8]) or "none yet"
    raise UsageError(f"{name!r} {what}", f"the labels are: {known}")


def _list_slugs(label: str) -> Iterable[str]:
    """The spellings of a label that a person may type: all of it, or what follows the kind of gap."""
    return {make_slug(label), make_slug(label.rpartition(":")[2])} - {""}
