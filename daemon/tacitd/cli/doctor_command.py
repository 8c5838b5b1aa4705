"""`tacitd doctor`: checks what the daemon needs and prints the fix for each finding. The checks are in `service/`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, get_paths
from tacitd.errors import FAILED, TacitdError
from tacitd.text.sanitize import escape_lines

if TYPE_CHECKING:
    from tacitd.service.doctor import Service
    from tacitd.service.finding import DoctorFinding

LEFT_OUT = "the service, whether the client runs, is logged in and has the plugin, and the plugins' checks"
"""What --quick does not check."""
COST = "this asks the fast model one question through your `claude`: about $0.001, at most 1 cent"


@click.command(
    epilog="\b\nExample: tacitd doctor\nExample: tacitd doctor --quick\n"
    "Example: tacitd doctor --json | jq '.[] | select(.severity != \"ok\")'",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Only what needs no other program: nothing of the service, a login or plugins.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: id, severity, what, hint.")
@click.option(
    "--fix", is_flag=True, help="First make safe repairs: modes of tacitd's own files, a leftover socket."
)
@click.option("--model", is_flag=True, help="Also ask the model one question, after naming the cost.")
@click.option("--yes", is_flag=True, help="Do not ask before calling the model.")
def doctor(quick: bool, as_json: bool, fix: bool, model: bool, yes: bool) -> int:
    """Check what the daemon needs, in the service's own environment if a service is installed.

    Calls the model only with --model. Ends with 1 if something must be fixed.
    """
    if quick and (fix or model):
        raise click.UsageError("--quick excludes --fix and --model")
    if quick:
        from tacitd.service.doctor import examine_quickly

        found = examine_quickly(get_paths(), os.environ)
    else:
        found = _examine_whole(fix=fix, model=model, yes=yes)
    if as_json:
        echo_json([finding.as_data() for finding in found])
    else:
        _echo_findings(found)
    if quick:
        echo_message(f"left out: {LEFT_OUT}; `tacitd doctor` checks that too")
    return FAILED if any(f.severity == "error" for f in found) else 0


def _examine_whole(*, fix: bool, model: bool, yes: bool) -> list[DoctorFinding]:
    """All findings. It starts other programs, and may ask the person."""
    from tacitd.service.doctor import examine_machine

    places = get_paths()
    if model:
        echo_message(COST)
        if not yes:
            click.confirm("Go on?", abort=True, err=True)
    if fix:
        from tacitd.service.fixes import apply_fixes

        for text in apply_fixes(places):
            echo_message(text)
    service = _service()
    found = examine_machine(places, os.environ, service)
    return [*found, _probe_model(service)] if model else found


def _echo_findings(found: list[DoctorFinding]) -> None:
    for finding in found:
        mark = {"ok": "ok  ", "warning": "warn", "error": "FAIL"}[finding.severity]
        echo_text(escape_lines(f"{mark} {finding.id}: {finding.what}"))
        if finding.hint:
            echo_text(escape_lines(f"     hint: {finding.hint}"))


def _service() -> Service | None:
    """The service manager and its facts; None on a system without a supported manager."""
    from tacitd.cli.service_commands import find_manager_and_facts
    from tacitd.service.doctor import Service

    try:
        return Service(*find_manager_and_facts(get_paths()))
    except TacitdError:
        return None


def _probe_model(service: Service | None) -> DoctorFinding:
    from tacitd.service.doctor import load_or_default
    from tacitd.service.fixes import probe_model

    places = get_paths()
    env = (service.manager.read_environment() if service is not None else {}) or os.environ
    return probe_model(places, load_or_default(places, os.environ), env)
