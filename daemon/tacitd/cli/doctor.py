"""`tacitd doctor`: checks what the daemon needs and prints the fix for each finding. The checks are in `service/`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tacitd.cli.places import data, paths, talk
from tacitd.errors import FAILED, TacitdError

if TYPE_CHECKING:
    from tacitd.service.doctor import Service
    from tacitd.service.finding import Finding

COST = "this asks the fast model one question through your `claude`: about $0.001, at most 1 cent"


@click.command(
    epilog="\b\nExample: tacitd doctor\nExample: tacitd doctor --json | jq '.[] | select(.severity != \"ok\")'"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: id, severity, what, hint.")
@click.option(
    "--fix", is_flag=True, help="First make safe repairs: modes of tacitd's own files, a leftover socket."
)
@click.option("--model", is_flag=True, help="Also ask the model one question, after naming the cost.")
@click.option("--yes", is_flag=True, help="Do not ask before calling the model.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool, fix: bool, model: bool, yes: bool) -> None:
    """Check what the daemon needs, in the service's own environment if a service is installed.

    Calls the model only with --model. Ends with 1 if something must be fixed.
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
    """The service manager and its facts; None on a system without a supported manager."""
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
