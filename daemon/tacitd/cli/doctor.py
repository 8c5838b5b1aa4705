"""`tacitd doctor`: tries what the daemon needs, and names the cure for each thing it finds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tacitd.cli.places import data, paths, talk
from tacitd.errors import FAILED, TacitdError

if TYPE_CHECKING:
    from tacitd.service.doctor import Service
    from tacitd.service.finding import Finding

COST = "this asks the small model one question through your `claude`: about $0.001, at most 1 cent"


@click.command(
    epilog="\b\nExample: tacitd doctor\nExample: tacitd doctor --json | jq '.[] | select(.severity != \"ok\")'"
)
@click.option("--json", "as_json", is_flag=True, help="As JSON: id, severity, what, hint.")
@click.option(
    "--fix", is_flag=True, help="First mend what is safe: modes of its own files, a leftover socket."
)
@click.option("--model", is_flag=True, help="Also ask the model one question. Says first what it costs.")
@click.option("--yes", is_flag=True, help="Do not ask before that.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool, fix: bool, model: bool, yes: bool) -> None:
    """Try what the daemon will need, in the service's own environment where one is installed.

    Asks the model nothing unless told to; ends with 1 where something must be mended.
    """
    from tacitd.service.doctor import examine

    places = paths()
    if model:
        talk(COST)
        if not yes:
            click.confirm("Go on?", abort=True, err=True)
    if fix:
        from tacitd.service.mend import mend

        for text in mend(places):
            talk(text)
    service = _service()
    found = examine(places, os.environ, service)
    if model:
        found.append(_probed(service))
    if as_json:
        data([finding.as_data() for finding in found])
    else:
        _tell(found)
    ctx.exit(FAILED if any(f.severity == "error" for f in found) else 0)


def _tell(found: list[Finding]) -> None:
    for finding in found:
        mark = {"ok": "ok  ", "warning": "warn", "error": "FAIL"}[finding.severity]
        click.echo(f"{mark} {finding.id}: {finding.what}")
        if finding.hint:
            click.echo(f"     hint: {finding.hint}")


def _service() -> Service | None:
    """The manager and what it would be given; None on a system without one that we know."""
    from tacitd.cli.service import of_system
    from tacitd.service.doctor import Service

    try:
        return Service(*of_system(paths()))
    except TacitdError:
        return None


def _probed(service: Service | None) -> Finding:
    from tacitd.service.doctor import configured
    from tacitd.service.mend import probe

    places = paths()
    env = (service.manager.environment() if service is not None else {}) or os.environ
    return probe(places, configured(places, os.environ), env)
