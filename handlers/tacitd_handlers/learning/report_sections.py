"""Learning's sections of `tacitd report`: what was learned, and whether a rule helps. Reads its log; writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tacitd.clock import local_date
from tacitd.handler import Commit
from tacitd.report.sections import Cell, ReportScope, ReportSection, ReportSeries, ReportTable, make_buckets
from tacitd.work.commit_rows import read_all_commits, read_commits
from tacitd_handlers.learning.person_decisions import LineDecisions, read_line_decisions
from tacitd_handlers.learning.rule_life import PROPOSAL, RuleLife, count_by_month, judge_rule
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.learning.state_snapshot import fold_commits

NEWEST = 1000
"""Lines that are listed."""


class LearnedHistory(Struct):
    """What the report needs of the log, for one scope."""

    state: LearningState = field(default_factory=LearningState)
    written: list[tuple[float, float]] = field(default_factory=list)
    """When lines were written (seconds since 1970, UTC), and how many."""
    corrected: list[tuple[float, float]] = field(default_factory=list)
    """When written lines were corrected again, and how many at once."""
    decisions: LineDecisions = field(default_factory=LineDecisions)
    unread: int = 0
    """Commits that this version cannot read."""
    bad: int = 0
    """Lines of the log that are not records."""


def build_sections(scope: ReportScope) -> Iterator[ReportSection]:
    """Yield what was learned, whether rules help, and which are not heeded. Raises OSError."""
    history = read_history(scope)
    yield build_learned(history, scope)
    yield build_effects(history, scope)


def read_history(scope: ReportScope) -> LearnedHistory:
    """Fold the log once. Raises OSError."""
    home = scope.state_dir / "handlers" / "learning"
    found = LearnedHistory(decisions=read_line_decisions(home))

    def note_unread(commit: Commit, error: Exception) -> None:
        found.unread += 1

    found.state = fold_commits(read_commits(home), note_unread)
    for commit in read_all_commits(home):
        with suppress(TypeError):  # it may be a newer version's, and is counted as unread
            _count_commit(found, commit.at, commit.data, scope)
    return found


def _count_commit(found: LearnedHistory, at: object, data: Mapping[str, Any], scope: ReportScope) -> None:
    if not isinstance(at, int | float) or not scope.covers_time(at):
        return
    if not scope.covers_project(str(data.get("project", ""))):
        return
    if data.get("kind") == "synthesis" and data.get("put"):
        found.written.append((at, len(data["put"])))
    if data.get("corrected_again"):
        found.corrected.append((at, len(data["corrected_again"])))


def build_learned(history: LearnedHistory, scope: ReportScope) -> ReportSection:
    """What was learned, by week, and the newest lines."""
    buckets = make_buckets(scope.since, scope.now)
    lives = [one for one in _list_lives(history, scope) if scope.covers_time(one[2].written)]
    rows = sorted(lives, key=lambda one: -one[2].written)[:NEWEST]
    table = ReportTable(
        "Lines",
        ("line", "file", "since", "said"),
        tuple(_describe_line(history.state, *one) for one in rows),
    )
    note = (
        "The chart counts every line that was written, also what was undone or removed since. "
        "The table has those that stood when tacitd looked last."
    )
    if history.unread:
        note += f" {history.unread} records of learning's log are of another version and are not counted."
    series = ReportSeries(f"Lines written by {buckets.unit}", buckets.count(history.written))
    return ReportSection("What was learned", (series, table), note)


def _describe_line(state: LearningState, root: Path, line: str, life: RuleLife) -> tuple[Cell, ...]:
    known = state.get_confidences(root).get(line)
    where = f"{root.name}/{life.file or 'LEARNED.md'}"
    return line, where, local_date(life.written), known.seen_count if known is not None else None


def build_effects(history: LearnedHistory, scope: ReportScope) -> ReportSection:
    """The corrections before and after each rule, and the rules that are not heeded."""
    lives = _list_lives(history, scope)
    buckets = make_buckets(scope.since, scope.now)
    series = ReportSeries(f"Corrections of written rules by {buckets.unit}", buckets.count(history.corrected))
    unheeded = sorted((one for one in lives if one[2].is_unheeded), key=lambda one: -one[2].after)
    again = ReportTable(
        "Corrected again, still not heeded",
        ("rule", "project", "corrected since", "by month", "proposal"),
        tuple((line, root.name, life.after, _format_months(life), PROPOSAL) for root, line, life in unheeded),
    )
    known = [one for one in lives if one[2].before or one[2].after]
    rows = sorted(known, key=lambda one: (-one[2].after, -one[2].before, one[1]))[:NEWEST]
    effects = ReportTable(
        "Corrections before and after each rule",
        ("rule", "since", "corrections before", "corrections after", "does it help?"),
        tuple(_describe_effect(history.state, *one) for one in rows),
    )
    left = len(lives) - len(known)
    note = "A correction after is one that says what the rule says already."
    if left:
        what = "rule was" if left == 1 else "rules were"
        note += f" {left} {what} said without a correction and never corrected since: whether {'it helps' if left == 1 else 'they help'} is unknown."
    return ReportSection("Does it help?", (series, again, effects), note)


def _describe_effect(state: LearningState, root: Path, line: str, life: RuleLife) -> tuple[Cell, ...]:
    effect, why = judge_rule(life, state.asked_messages[root])
    said = effect if life.is_unheeded else f"{effect}: {why}"
    return line, local_date(life.written), life.before, life.after, said


def _format_months(life: RuleLife) -> str:
    return ", ".join(f"{month}: {number}" for month, number in count_by_month(life.after_at).items())


def _list_lives(history: LearnedHistory, scope: ReportScope) -> list[tuple[Path, str, RuleLife]]:
    return [
        (root, line, life)
        for root, lives in history.state.rule_lives.items()
        if scope.covers_project(root)
        for line, life in lives.items()
        if not history.decisions.is_dropped(root, line)
    ]
