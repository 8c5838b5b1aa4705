"""`tacitd learner`: record, due, retests, review, check, gaps, forget, context. Imports little until it must."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.places import data, talk
from tacitd.errors import FAILED, PARKED, UsageError

if TYPE_CHECKING:
    from tacitd_handlers.learner.ledger_md import Row
    from tacitd_handlers.learner.profile_md import Profile
    from tacitd_handlers.learner.recording import Recorded
    from tacitd_handlers.learner.store import Store

JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group(epilog="\b\nExample: tacitd learner review")
def learner() -> None:
    """What you practised, what went wrong, and when to see it again: the leetcode-teacher skill's two files."""


@learner.command(
    epilog="\b\n"
    "Example: tacitd learner record --problem two-sum --pattern hash_map --mode recall --verdict pass\n"
    "Example: tacitd learner record < session.json"
)
@click.option("--problem", help="Its name: two-sum.")
@click.option("--pattern", default="", help="The pattern it belongs to: hash_map.")
@click.option("--mode", default="", help="learning or recall.")
@click.option("--verdict", default="", help="The mode's verdict; a wrong one names the right ones.")
@click.option("--gaps", default="", help='What went wrong, as tags: "edge:empty_input; edge:duplicates".')
@click.option(
    "--tested", help="Gaps that were tested; else those seen before with the pattern count as tested."
)
@click.option("--observations", default="", help="Two to four sentences.")
@click.option(
    "--describe",
    multiple=True,
    metavar="TAG=TEXT",
    help="What a new gap is: the input class or code pattern.",
)
@click.option("--session", default="", help="The session's id, if not the one that calls.")
@click.option("--timestamp", default="", help="YYYY-MM-DDTHH:MM, local; else the session's own, else now.")
@JSON
@click.pass_context
def record(ctx: click.Context, /, as_json: bool, **given: Any) -> None:
    """Record one problem of a session: a row in the ledger, then the profile.

    Without --problem, JSON with the same names is read from standard input: one object, or a list of them. The same
    problem twice in one session counts once.
    """
    from tacitd_handlers.learner.asked import asked
    from tacitd_handlers.learner.options import objects, opened, sitting_of, standard_input
    from tacitd_handlers.learner.recording import record as write

    if given["problem"] is None:
        text = standard_input()
        if not text.strip():
            raise UsageError("no problem is named", "--problem NAME, or JSON on standard input")
        wanted = [asked(one) for one in objects(text)]
    else:
        wanted = [asked(_given(given))]
    store, plan = opened()
    made: list[Recorded] = []
    try:
        with store.locked():
            for said in wanted:
                made.append(write(store, said, sitting_of(store, said.session, said.stamp), plan))
    finally:  # of several, those before one that is refused were recorded
        if as_json:
            data([_as_data(one) for one in made])
        else:
            for one in made:
                _tell(one)
    ctx.exit(PARKED if any(one.result is None for one in made) else 0)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    descriptions = {}
    for text in options.pop("describe"):
        tag, sign, what = text.partition("=")
        if not sign:
            raise UsageError(f"{text!r} describes no tag", "--describe edge:empty_input='misses …'")
        descriptions[tag.strip()] = what.strip()
    return {**options, "descriptions": descriptions}


def _as_data(one: Recorded) -> dict[str, Any]:
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


def _tell(one: Recorded) -> None:
    row = one.row
    was = "was recorded already" if one.again else "recorded"
    click.echo(f"{row.problem} ({row.mode}, {row.verdict}) {was}; review on {row.review}")
    if one.result is None:
        talk(f"the profile follows later: {one.trouble}")
        if one.hint:
            talk(f"hint: {one.hint}")
        return
    for tag in one.result.vague:
        talk(f"{tag}: say which input class or code pattern; until then its entry names the session")
    for move in one.result.moves:
        if move.what == "waits":
            talk(f"{move.tag} waits for room: Known Weaknesses is full")
        elif move.what == "promoted":
            talk(f"{move.tag} is resolved for good")


@learner.command(name="due", epilog="\b\nExample: tacitd learner due --on 2026-03-01")
@click.option("--on", metavar="DATE", help="YYYY-MM-DD; today where not given.")
@JSON
def due_(on: str | None, as_json: bool) -> None:
    """Problems whose review date has come, oldest first, with the reason."""
    from tacitd_handlers.learner.intervals import date_of
    from tacitd_handlers.learner.review import as_data, due

    when = date_of(on) if on else date.fromisoformat(_now()[:10])
    if when is None:
        raise UsageError(f"{on!r} is no date", "YYYY-MM-DD")
    found = due(_rows(_store()), when)
    if as_json:
        data([as_data(one) for one in found])
        return
    for one in found:
        click.echo(f"{one.review}  {one.problem}: {one.reason}")
    if not found:
        talk("nothing is due")


@learner.command(name="retests", epilog="\b\nExample: tacitd learner retests")
@JSON
def retests_(as_json: bool) -> None:
    """Weaknesses that are resolved for now and were not tested for two weeks: worth another look."""
    from tacitd_handlers.learner.retests import retests
    from tacitd_handlers.learner.review import as_data

    profile = _profile(_store())
    found = retests(profile, _now()) if profile is not None else []
    if as_json:
        data([as_data(one) for one in found])
        return
    for one in found:
        click.echo(one.line)
    if not found:
        talk("no retest is suggested")


@learner.command(name="review", epilog="\b\nExample: tacitd learner review --json | jq .next")
@JSON
def review_(as_json: bool) -> None:
    """How am I doing? Totals, verdicts over time, patterns, weaknesses, retests, and what to do next."""
    import sys

    from tacitd_handlers.learner.review import review
    from tacitd_handlers.learner.review_view import told

    store = _store()
    document = review(_rows(store), _profile(store), _now(), store.notes.known().cap)
    if as_json:
        data(document)
        return
    for line in told(document, bars=sys.stdout.isatty()):
        click.echo(line)


@learner.command(name="gaps", epilog="\b\nExample: tacitd learner gaps")
@JSON
def gaps_(as_json: bool) -> None:
    """Gaps of both kinds: patterns that were left alone for four weeks, and what went wrong, most often first."""
    from tacitd_handlers.learner.review import as_data, gaps, patterns

    store = _store()
    rows = _rows(store)
    left = [one for one in patterns(rows, date.fromisoformat(_now()[:10])) if one.untouched]
    seen = gaps(rows, _profile(store))
    if as_json:
        data({"untouched": [as_data(one) for one in left], "gaps": [as_data(one) for one in seen]})
        return
    for one in left:
        click.echo(f"{one.pattern}: untouched for {one.days // 7} weeks, since {one.last[:10]}")
    for gap in seen:
        click.echo(
            f"{gap.tag}: seen {gap.seen}, last on {gap.last[:10]}{f', {gap.status}' if gap.status else ''}"
        )
    if not rows:
        talk("nothing was recorded yet")


@learner.command(epilog="\b\nExample: tacitd learner check --fix")
@click.option("--fix", is_flag=True, help="Mend what can be mended without inventing anything.")
@JSON
@click.pass_context
def check(ctx: click.Context, fix: bool, as_json: bool) -> None:
    """Say what is wrong with the two files, and between them; ends with 1 where something is left."""
    from tacitd_handlers.learner.findings import findings
    from tacitd_handlers.learner.review import as_data

    store = _store()
    with store.locked():
        if fix:
            store.look(force=True)
        found = findings(store.profile(), store.ledger().data, store.state())
    if as_json:
        data([as_data(one) for one in found])
    else:
        for one in found:
            where = f", {one.where}" if one.where else ""
            click.echo(f"{one.file}{where}: {one.what}{' (--fix mends it)' if one.fixable else ''}")
        if not found:
            talk("the two files are in order")
    ctx.exit(FAILED if found else 0)


@learner.command(epilog="\b\nExample: tacitd learner forget edge:empty_input")
@click.argument("tag")
@click.option("--undo", "back", is_flag=True, help="Bring it back, as the ledger knows it.")
def forget(tag: str, back: bool) -> None:
    """Take a weakness out of the profile, and never write it again. The ledger keeps it."""
    from tacitd_handlers.learner import forgetting

    store = _store()
    with store.locked():
        name = forgetting.undo(store, tag) if back else forgetting.forget(store, tag)
    talk(f"{name} is back" if back else f"{name} is forgotten; --undo brings it back")


@learner.command(epilog="\b\nExample: tacitd learner context --session-id abc123")
@click.option(
    "--session-id", default="", help="Else the hook's input, else CLAUDE_CODE_SESSION_ID, else `manual`."
)
def context(session_id: str) -> None:
    """What a session is told at its start: its metadata, the profile, what was repaired, retests. For a SessionStart hook.

    Never opens the ledger. Makes both files where there is no profile yet.
    """
    import os
    import sys

    from tacitd.clock import SystemClock
    from tacitd_handlers.learner.context import context as text_of
    from tacitd_handlers.learner.context import hook_session
    from tacitd_handlers.learner.places import configured

    session = session_id or hook_session() or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    said = text_of(configured(os.environ), session, SystemClock())
    sys.stdout.buffer.write(said.text.encode("utf-8", "surrogateescape"))
    if said.trouble:
        talk(said.trouble)


def _store() -> Store:
    from tacitd_handlers.learner.options import opened

    return opened()[0]


def _now() -> str:
    from tacitd.clock import SystemClock, local_minutes

    return local_minutes(SystemClock().now())


def _rows(store: Store) -> list[Row]:
    from tacitd_handlers.learner.fold import in_order

    table = store.ledger().rows()
    if table.bad:
        talk(f"{len(table.bad)} lines of the ledger are no rows: `tacitd learner check` names them")
    return in_order(table.rows)


def _profile(store: Store) -> Profile | None:
    from tacitd_handlers.learner.profile_md import parse

    found = store.profile()
    return parse(found) if found is not None else None
