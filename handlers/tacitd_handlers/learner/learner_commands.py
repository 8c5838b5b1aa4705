"""`tacitd learner`: record, due, retests, review, check, forget, alias, archive, context.

Options and output only. The review and the profile are imported inside the commands, because a session start waits for `context`.
"""

from __future__ import annotations

import os
import sys
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.common import (
    ask_plugin,
    connect_or_run,
    echo_json,
    echo_message,
    echo_table,
    get_paths,
    json_option,
)
from tacitd.cli.program import OrderedGroup
from tacitd.clock import SystemClock, local_minutes
from tacitd.errors import FAILED, PARKED, TacitdError, UsageError
from tacitd.mcp.agent_caller import find_own_session
from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter
from tacitd.session_context.plugin_view import open_rows
from tacitd.text.wording import count_noun
from tacitd_handlers.learner import make_plugin
from tacitd_handlers.learner.learner_state import load_paths, read_state
from tacitd_handlers.learner.ledger_file import VERDICTS, LedgerTable, format_command, parse_ledger
from tacitd_handlers.learner.practice_report import date_of, find_due, parse_report
from tacitd_handlers.learner.weakness_rules import in_order
from tacitd_handlers.shared.places import read_plain_bytes

if TYPE_CHECKING:
    from tacitd_handlers.learner.entry_texts import WeaknessEntry

JSON_OPTION = json_option("As JSON.")


@click.group(cls=OrderedGroup, alone="review", epilog="\b\nExample: tacitd learner review")
def learner() -> None:
    """What you practised, what went wrong, and when to repeat it: the two files of the leetcode-teacher skill."""


@learner.command(
    epilog="\b\nExample: tacitd learner record --problem two-sum --pattern hash_map --mode recall --verdict pass"
)
@click.option("--problem", required=True, help="The problem's name, for example two-sum.")
@click.option("--pattern", default="", help="The problem's pattern, for example hash_map.")
@click.option("--mode", default="", help="learning or recall.")
@click.option("--verdict", default="", help="A verdict of the mode; an invalid one lists the valid ones.")
@click.option("--gaps", default="", help='Tags of what went wrong: "edge:empty_input; edge:duplicates".')
@click.option(
    "--tested",
    help="Gaps that were tested. Default: those seen before with the problem, or with two problems of the pattern.",
)
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
def record(ctx: click.Context, /, as_json: bool, describe: tuple[str, ...], **given: Any) -> None:
    """Record one problem of a session: first a ledger row, then the profile.

    The same problem recorded twice in one session counts once.
    """

    report = {name: value for name, value in given.items() if value not in ("", None)}
    report["descriptions"] = dict(_parse_description(text) for text in describe)
    parse_report(report)  # refused before anything is started
    report.setdefault("session", find_own_session(os.environ))
    with connect_or_run() as call:
        (made,) = ask_plugin(call, "learner", do="record", report=report)
        is_again = made["did"] == "again"
        (row,) = parse_ledger(made["item"].encode()).rows
        if as_json:
            echo_json({"row": row._asdict(), "again": is_again})
        else:
            was = "was already recorded" if is_again else "recorded"
            click.echo(f"{made['text']} {was}; review on {row.review}")
        try:
            ask_plugin(call, "learner", do="follow", name=made["item"])
        except TacitdError as error:
            echo_message(f"the profile will be updated later: {error.what}; {error.hint}")
            ctx.exit(PARKED)


def _parse_description(text: str) -> tuple[str, str]:
    tag, sign, what = text.partition("=")
    if not sign:
        raise UsageError(f"{text!r} has no TAG=", "write --describe edge:empty_input='misses …'")
    return tag.strip(), what.strip()


def _change(do: str, name: str = "", tag: str = "") -> list[str]:
    with connect_or_run() as call:
        return [one["text"] for one in ask_plugin(call, "learner", do=do, name=name, tag=tag)]


@learner.command(name="due", epilog="\b\nExample: tacitd learner due --on 2026-03-01")
@click.option("--on", metavar="DATE", help="YYYY-MM-DD. Default: today.")
@JSON_OPTION
def due_(on: str | None, as_json: bool) -> None:
    """Problems whose review date has come, oldest first, with the reason."""
    when = date_of(on) if on else date.fromisoformat(_now()[:10])
    if when is None:
        raise UsageError(f"{on!r} is not a date", "write it as YYYY-MM-DD")
    found = find_due(_read_ledger().rows, when)
    if as_json:
        echo_json(found)
        return
    rows = [(one["review"], one["problem"], one["reason"]) for one in found]
    echo_table(("DUE ON", "PROBLEM", "REASON"), rows, "nothing is due")


@learner.command(name="retests", epilog="\b\nExample: tacitd learner retests")
@JSON_OPTION
def retests_(as_json: bool) -> None:
    """Short-term resolved weaknesses that were not tested for two weeks."""
    from tacitd_handlers.learner.session_start import find_retests

    found = find_retests(_read_entries(), _now())
    if as_json:
        echo_json(found)
        return
    rows = [(one["label"], one["tested"][:10], str(one["days"] // 7)) for one in found]
    echo_table(("WEAKNESS", "LAST TESTED", "WEEKS AGO"), rows, "no retests are due", right=(2,))


@learner.command(name="review", epilog="\b\nExample: tacitd learner review --json | jq .next")
@JSON_OPTION
def review_(as_json: bool) -> None:
    """Your progress: totals, verdicts, patterns, weaknesses, retests, and next steps."""
    from tacitd_handlers.learner.progress_review import build_review, format_review

    with open_rows(make_plugin(), get_paths().state_dir) as rows:
        state = read_state(rows)
    found = in_order(_read_ledger().rows)
    document = build_review(found, _read_entries(), _now(), state.waiting, state.aliases)
    if as_json:
        echo_json(document)
        return
    for line in format_review(document):
        click.echo(line)


@learner.command(epilog="\b\nExample: tacitd learner check --fix")
@click.option("--fix", is_flag=True, help="Complete what one of the files lacks, without waiting.")
@JSON_OPTION
@click.pass_context
def check(ctx: click.Context, fix: bool, as_json: bool) -> None:
    """Report lines that are no rows, vague descriptions and lists that are too long; exits with 1 if there are any."""
    from tacitd_handlers.learner.progress_review import find_problems

    if fix:
        for do in ("heal", "check"):
            _change(do)
    found = list(find_problems(_read_ledger(is_checked=True), _read_entries()))
    if as_json:
        echo_json([{"file": file, "where": where, "what": what} for file, where, what in found])
    else:
        echo_table(("FILE", "WHERE", "PROBLEM"), found, "no problems found")
    ctx.exit(FAILED if found else 0)


@learner.command(epilog="\b\nExample: tacitd learner forget edge:empty_input")
@click.argument("tag")
@click.option("--undo", "back", is_flag=True, help="Restore it from the ledger.")
def forget(tag: str, back: bool) -> None:
    """Remove a weakness from the profile, and never add it again. The ledger keeps it."""
    (name,) = _change("restore" if back else "forget", tag)
    how = format_command("forget --undo", name)
    echo_message(f"{name} is restored" if back else f"{name} is forgotten; `{how}` restores it")


@learner.command(epilog="\b\nExample: tacitd learner archive edge:empty_input")
@click.argument("tag")
def archive(tag: str) -> None:
    """Move an active weakness, named by its tag or label, to `### Resolved`, so that another one gets its room.

    Its status stays. It comes back when it is observed again.
    """
    (label,) = _change("archive", tag)
    echo_message(f"{label} is archived")


@learner.command(epilog="\b\nExample: tacitd learner alias 'Right bound off by one' edge:off_by_one")
@click.argument("label")
@click.argument("tag")
def alias(label: str, tag: str) -> None:
    """Say which gap an entry with a label of your own is. The label and the description stay as they are."""
    label, tag = _change("join", label, tag)
    click.echo(f"{label} is {tag}")


@learner.command(epilog="\b\nExample: tacitd learner context --session-id abc123")
@click.option("--session-id", default="", help="Default: CLAUDE_CODE_SESSION_ID, otherwise `manual`.")
@click.option(
    "--budget", default=9000, show_default=True, type=click.IntRange(1000), help="Characters at most."
)
def context(session_id: str, budget: int) -> None:
    """Print the session-start text: metadata, profile, repairs and retests. For a SessionStart hook.

    What does not fit is left out. Never opens the ledger. Creates both files if the profile does not exist.
    """
    from tacitd_handlers.learner.session_start import build_text, note_start

    asked = session_id or find_own_session(os.environ), _now(), budget
    places = load_paths(os.environ)
    try:
        with open_rows(make_plugin(), get_paths().state_dir) as rows:
            made = build_text(rows, places, *asked)
    except (OSError, TacitdError) as error:
        echo_message(str(error))
        made = build_text(lambda sql, *values: [], places, *asked)
    sys.stdout.buffer.write(made.text.encode("utf-8", "surrogateescape"))
    note_start(made)
    try:
        if not made.is_whole:
            _change("prepare")
    except (OSError, TacitdError) as error:
        echo_message(str(error))


def _now() -> str:
    return local_minutes(SystemClock().now())


def _read_entries() -> list[WeaknessEntry]:
    from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, list_entries

    return list_entries(PROFILE_FORMAT.read_leaves(read_plain_bytes(load_paths(os.environ).profile) or b""))


def _read_ledger(*, is_checked: bool = False) -> LedgerTable:
    """The ledger; a message tells of lines that are no rows, unless `is_checked`."""
    table = parse_ledger(read_plain_bytes(load_paths(os.environ).ledger) or b"")
    if table.bad and not is_checked:
        lines = count_noun(len(table.bad), "line")
        echo_message(f"{lines} of the ledger cannot be read as rows; see `tacitd learner check`")
    return table


# --- what agents that teach can ask and record

LEARNER = AgentInterface(
    tools=(
        AgentTool(
            "record_practice",
            "Record one practised problem at the end of a teaching session: a row of the ledger, then the learner's "
            "profile. Never make up a verdict. The same problem recorded twice in one session counts once.",
            ("learner", "record", "--json"),
            (
                ToolParameter("problem", "The problem's name, such as two-sum.", required=True),
                ToolParameter("pattern", "The problem's pattern, such as hash_map.", required=True),
                ToolParameter("mode", "learning or recall.", required=True),
                ToolParameter(
                    "verdict",
                    "; ".join(f"{mode}: {', '.join(names)}" for mode, names in VERDICTS.items()),
                    required=True,
                ),
                ToolParameter("gaps", 'Tags of what went wrong: "edge:empty_input; edge:duplicates".'),
                ToolParameter("tested", "Tags that were tested, also those without a fault."),
                ToolParameter("observations", "Two to four sentences."),
                ToolParameter(
                    "describe", 'For each new gap "TAG=the input class or code pattern that was missed".'
                ),
                ToolParameter("session", "The session's id, from the session metadata."),
                ToolParameter("timestamp", "YYYY-MM-DDTHH:MM, from the session metadata."),
            ),
            effect="adds",
            is_rare=True,
        ),
        AgentTool(
            "list_due_reviews",
            "Problems whose review date has come, oldest first, with the reason.",
            ("learner", "due", "--json"),
            (ToolParameter("on", "YYYY-MM-DD; leave it out for today."),),
            is_rare=True,
        ),
        AgentTool(
            "list_retests",
            "Weaknesses that look resolved and were not tested for two weeks. Offer them, never force them.",
            ("learner", "retests", "--json"),
            is_rare=True,
        ),
        AgentTool(
            "review_progress",
            "The learner's progress from the ledger: totals, verdicts, patterns, weaknesses, next steps.",
            ("learner", "review", "--json"),
            is_rare=True,
        ),
    )
)
