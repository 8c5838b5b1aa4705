"""`tacitd learner`: record, due, retests, review, check, forget, alias, archive, context.

Options and output only; most imports are inside the commands, because a session start waits for `context`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.common import echo_json, echo_message
from tacitd.errors import FAILED, PARKED, UsageError

if TYPE_CHECKING:
    from tacitd_handlers.learner.formats.ledger_md import LedgerRow
    from tacitd_handlers.learner.formats.profile_md import LearnerProfile
    from tacitd_handlers.learner.recording import RecordedProblem
    from tacitd_handlers.learner.store import LearnerStore

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group(epilog="\b\nExample: tacitd learner review")
def learner() -> None:
    """What you practised, what went wrong, and when to repeat it: the two files of the leetcode-teacher skill."""


@learner.command(
    epilog="\b\n"
    "Example: tacitd learner record --problem two-sum --pattern hash_map --mode recall --verdict pass\n"
    "Example: tacitd learner record < session.json"
)
@click.option("--problem", help="The problem's name, for example two-sum.")
@click.option("--pattern", default="", help="The problem's pattern, for example hash_map.")
@click.option("--mode", default="", help="learning or recall.")
@click.option("--verdict", default="", help="A verdict of the mode; an invalid one lists the valid ones.")
@click.option("--gaps", default="", help='Tags of what went wrong: "edge:empty_input; edge:duplicates".')
@click.option("--tested", help="Gaps that were tested. Default: all gaps seen before with the pattern.")
@click.option("--observations", default="", help="Two to four sentences.")
@click.option(
    "--describe",
    multiple=True,
    metavar="TAG=TEXT",
    help="Description of a new gap: the input class or code pattern.",
)
@click.option("--session", default="", help="The session's id. Default: the calling session's.")
@click.option(
    "--timestamp",
    default="",
    help="YYYY-MM-DDTHH:MM, local time. Default: the session's timestamp, otherwise now.",
)
@JSON_OPTION
@click.pass_context
def record(ctx: click.Context, /, as_json: bool, **given: Any) -> None:
    """Record one problem of a session: first a ledger row, then the profile.

    Without --problem, JSON with the same field names is read from standard input: one object or a list of objects.
    The same problem recorded twice in one session counts once.
    """
    from tacitd_handlers.learner.command_options import (
        open_store,
        parse_objects,
        stamp_session,
        standard_input,
    )
    from tacitd_handlers.learner.recording import record_problem as write
    from tacitd_handlers.learner.report_input import parse_report

    if given["problem"] is None:
        text = standard_input()
        if not text.strip():
            raise UsageError("no problem is given", "pass --problem NAME, or JSON on standard input")
        wanted = [parse_report(one) for one in parse_objects(text)]
    else:
        wanted = [parse_report(_parse_options(given))]
    store, plan = open_store()
    made: list[RecordedProblem] = []
    try:
        with store.locked():
            for report in wanted:
                made.append(write(store, report, stamp_session(store, report.session, report.stamp), plan))
    finally:  # the records before a refused one are written, so report them
        if as_json:
            echo_json([_as_data(one) for one in made])
        else:
            for one in made:
                _echo_recorded(one)
    ctx.exit(PARKED if any(one.result is None for one in made) else 0)


def _parse_options(options: dict[str, Any]) -> dict[str, Any]:
    descriptions = {}
    for text in options.pop("describe"):
        tag, sign, what = text.partition("=")
        if not sign:
            raise UsageError(f"{text!r} has no TAG=", "write --describe edge:empty_input='misses …'")
        descriptions[tag.strip()] = what.strip()
    return {**options, "descriptions": descriptions}


def _as_data(one: RecordedProblem) -> dict[str, Any]:
    moves = (
        [{"tag": move.tag, "what": move.what} for move in one.result.moves] if one.result is not None else []
    )
    return {
        "row": one.row._asdict(),
        "again": one.again,
        "in_profile": one.result is not None,
        "moves": moves,
        "vague": list(one.result.vague) if one.result is not None else [],
        "trouble": one.trouble,
    }


def _echo_recorded(one: RecordedProblem) -> None:
    row = one.row
    was = "was already recorded" if one.again else "recorded"
    click.echo(f"{row.problem} ({row.mode}, {row.verdict}) {was}; review on {row.review}")
    if one.result is None:
        echo_message(f"the profile will be updated later: {one.trouble}")
        if one.hint:
            echo_message(f"hint: {one.hint}")
        return
    for tag in one.result.vague:
        echo_message(
            f"{tag}: its description names no input class or code pattern, so the entry refers to the session"
        )
    for move in one.result.moves:
        if move.what == "waits":
            echo_message(f"{move.tag} waits for room: Known Weaknesses is full")
        elif move.what == "promoted":
            echo_message(f"{move.tag} is resolved (long-term)")


@learner.command(name="due", epilog="\b\nExample: tacitd learner due --on 2026-03-01")
@click.option("--on", metavar="DATE", help="YYYY-MM-DD. Default: today.")
@JSON_OPTION
def due_(on: str | None, as_json: bool) -> None:
    """Problems whose review date has come, oldest first, with the reason."""
    from tacitd_handlers.learner.review import as_data, find_due
    from tacitd_handlers.learner.rules.intervals import date_of

    when = date_of(on) if on else date.fromisoformat(_now()[:10])
    if when is None:
        raise UsageError(f"{on!r} is not a date", "write it as YYYY-MM-DD")
    found = find_due(_rows(_store()), when)
    if as_json:
        echo_json([as_data(one) for one in found])
        return
    _echo_table(("DUE ON", "PROBLEM", "REASON"), ((one.review, one.problem, one.reason) for one in found))
    if not found:
        echo_message("nothing is due")


@learner.command(name="retests", epilog="\b\nExample: tacitd learner retests")
@JSON_OPTION
def retests_(as_json: bool) -> None:
    """Short-term resolved weaknesses that were not tested for two weeks."""
    from tacitd_handlers.learner.review import as_data
    from tacitd_handlers.learner.rules.retests import find_retests

    profile = _profile(_store())
    found = find_retests(profile, _now()) if profile is not None else []
    if as_json:
        echo_json([as_data(one) for one in found])
        return
    _echo_table(
        ("WEAKNESS", "LAST TESTED", "WEEKS AGO"),
        ((one.label, one.tested[:10], str(one.days // 7)) for one in found),
        right=(2,),
    )
    if not found:
        echo_message("no retests are due")


@learner.command(name="review", epilog="\b\nExample: tacitd learner review --json | jq .next")
@JSON_OPTION
def review_(as_json: bool) -> None:
    """Your progress: totals, verdicts over time, patterns, weaknesses, retests, and next steps."""
    import sys

    from tacitd_handlers.learner.review import build_review
    from tacitd_handlers.learner.review_view import format_review

    store = _store()
    aliases = store.load_state().aliases
    document = build_review(
        _rows(store), _profile(store), _now(), store.notes.read_state().waiting_tags, aliases
    )
    if as_json:
        echo_json(document)
        return
    for line in format_review(document, bars=sys.stdout.isatty()):
        click.echo(line)


@learner.command(epilog="\b\nExample: tacitd learner check --fix")
@click.option(
    "--fix",
    is_flag=True,
    help="Repair what can be repaired without guessing. If more than 20 are active, archive the most resolved ones.",
)
@JSON_OPTION
@click.pass_context
def check(ctx: click.Context, fix: bool, as_json: bool) -> None:
    """Report problems in the two files and differences between them; exits with 1 if any remain."""
    from tacitd_handlers.learner.findings import check_files
    from tacitd_handlers.learner.review import as_data

    store = _store()
    with store.locked():
        moves = []
        if fix:
            done = store.sync_files(force=True, archives_surplus=True)
            moves = done.result.moves if done.result is not None else []
        planned = store.plan_comparison()
        found = check_files(store.read_profile(), store.read_ledger().data, store.load_state(), planned)
    for move in moves:
        if move.what == "archived":
            echo_message(f"{move.tag} is archived: more than twenty were active")
        elif move.what == "waits":
            echo_message(f"{move.tag} waits for room: Known Weaknesses is full")
    if as_json:
        echo_json([as_data(one) for one in found])
    else:
        rows = [
            (one.file, one.where, f"{one.what}{' (--fix repairs it)' if one.fixable else ''}")
            for one in found
        ]
        _echo_table(("FILE", "WHERE", "PROBLEM"), rows)
        if not found:
            echo_message("no problems found")
    ctx.exit(FAILED if found else 0)


@learner.command(epilog="\b\nExample: tacitd learner forget edge:empty_input")
@click.argument("tag")
@click.option("--undo", "back", is_flag=True, help="Restore it from the ledger.")
def forget(tag: str, back: bool) -> None:
    """Remove a weakness from the profile, and never add it again. The ledger keeps it."""
    from tacitd_handlers.learner import forgetting
    from tacitd_handlers.learner.start_lines import format_command

    store = _store()
    with store.locked():
        name = forgetting.restore_weakness(store, tag) if back else forgetting.forget_weakness(store, tag)
    how = format_command("forget --undo", name)
    echo_message(f"{name} is restored" if back else f"{name} is forgotten; `{how}` restores it")


@learner.command(epilog="\b\nExample: tacitd learner archive edge:empty_input")
@click.argument("tag")
def archive(tag: str) -> None:
    """Move an active weakness, named by its tag or label, to `### Resolved`, so that another one gets its room.

    Its status stays. It comes back when it is observed again.
    """
    from tacitd_handlers.learner.archiving import archive_weakness

    store = _store()
    with store.locked():
        label = archive_weakness(store, tag)
        waiting = store.load_state().lists.pending
    echo_message(
        f"{label} is archived" + (f"; still waiting for room: {', '.join(waiting)}" if waiting else "")
    )


@learner.command(
    epilog="\b\nExample: tacitd learner alias 'Right bound off by one' edge:off_by_one\n"
    "Example: tacitd learner alias --remove 'Right bound off by one'"
)
@click.argument("label", default="")
@click.argument("tag", default="")
@click.option("--remove", is_flag=True, help="The entry is not this gap's; the gap gets an entry of its own.")
@JSON_OPTION
def alias(label: str, tag: str, remove: bool, as_json: bool) -> None:
    """Say which gap an entry with a label of your own is. Without arguments, list what is known and what is unclear.

    The label and the description stay as they are.
    """
    from tacitd_handlers.learner import label_decisions
    from tacitd_handlers.learner.review import as_data

    if label and not tag and not remove:
        raise UsageError("the gap is missing", "`tacitd learner review` lists the gaps")
    if remove and not label:
        raise UsageError("the label is missing", "`tacitd learner alias` lists the labels")
    store = _store()
    with store.locked():
        if remove:
            found = label_decisions.separate_label(store, label, tag)
        elif label:
            found = [label_decisions.join_label(store, label, tag)]
        else:
            found = label_decisions.list_aliases(store)
    if as_json:
        echo_json([as_data(one) for one in found])
        return
    if label:
        for one in found:
            click.echo(f"{one.label} {'is not' if remove else 'is'} {one.tag}")
    else:
        sure = ("no" if not one.sure else "probably" if one.guessed else "yes" for one in found)
        _echo_table(
            ("LABEL", "GAP", "SURE"),
            ((one.label, one.tag, word) for one, word in zip(found, sure, strict=True)),
        )
    if not found:
        echo_message("every label is its tag")


@learner.command(epilog="\b\nExample: tacitd learner context --session-id abc123")
@click.option(
    "--session-id",
    default="",
    help="Default: the hook's input, otherwise CLAUDE_CODE_SESSION_ID, otherwise `manual`.",
)
@click.option(
    "--budget", default=9000, show_default=True, type=click.IntRange(1000), help="Characters at most."
)
def context(session_id: str, budget: int) -> None:
    """Print the session-start text: metadata, profile, repairs and retests. For a SessionStart hook.

    What does not fit is left out and named: resolved weaknesses first, then the oldest sessions. Never opens the ledger.
    Creates both files if the profile does not exist.
    """
    import os
    import sys

    from tacitd.clock import SystemClock
    from tacitd_handlers.learner.context import build_context as text_of
    from tacitd_handlers.learner.context import hook_session
    from tacitd_handlers.learner.learner_paths import load_paths

    session = session_id or hook_session() or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    made = text_of(load_paths(os.environ), session, SystemClock(), budget)
    sys.stdout.buffer.write(made.text.encode("utf-8", "surrogateescape"))
    if made.trouble:
        echo_message(made.trouble)


def _echo_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], right: tuple[int, ...] = ()) -> None:
    from tacitd.text.text_table import format_table

    for line in format_table(head, rows, right=right):
        click.echo(line)


def _store() -> LearnerStore:
    from tacitd_handlers.learner.command_options import open_store

    return open_store()[0]


def _now() -> str:
    from tacitd.clock import SystemClock, local_minutes

    return local_minutes(SystemClock().now())


def _rows(store: LearnerStore) -> list[LedgerRow]:
    from tacitd_handlers.learner.rules.ledger_fold import in_order

    table = store.read_ledger().parse_rows()
    if table.bad:
        rows = (
            "1 line of the ledger is not a row"
            if len(table.bad) == 1
            else f"{len(table.bad)} lines of the ledger are not rows"
        )
        echo_message(f"{rows}; `tacitd learner check` lists {'it' if len(table.bad) == 1 else 'them'}")
    return in_order(table.rows)


def _profile(store: LearnerStore) -> LearnerProfile | None:
    from tacitd_handlers.learner.formats.profile_md import parse_profile

    found = store.read_profile()
    return parse_profile(found) if found is not None else None
