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

COST = "this asks the fast model one question through your `claude`: about $0.001, at most 1 cent"


@click.command(
    epilog="\b\nExample: tacitd doctor\n"
    "Example: tacitd doctor --json | jq '.[] | select(.severity != \"ok\")'",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: id, severity, what, hint.")
@click.option("--model", is_flag=True, help="Also ask the model one question, after naming the cost.")
@click.option("--yes", is_flag=True, help="Do not ask before calling the model.")
def doctor(as_json: bool, model: bool, yes: bool) -> int:
    """Check what the daemon needs, in the service's own environment if a service is installed.

    Changes nothing. Calls the model only with --model. Ends with 1 if something must be fixed.
    """
    from tacitd.service.doctor import examine_machine, load_or_default, probe_model

    places, service = get_paths(), _find_service()
    if model:
        echo_message(COST)
        if not yes:
            click.confirm("Go on?", abort=True, err=True)
    found = examine_machine(places, os.environ, service)
    if model:
        env = (service.manager.read_environment() if service is not None else {}) or os.environ
        found.append(probe_model(places, load_or_default(places, os.environ), env))
    if as_json:
        echo_json([finding.as_data() for finding in found])
    else:
        _echo_findings(found)
    return FAILED if any(f.severity == "error" for f in found) else 0


def _echo_findings(found: list[DoctorFinding]) -> None:
    for finding in found:
        mark = {"ok": "ok  ", "warning": "warn", "error": "FAIL"}[finding.severity]
        echo_text(escape_lines(f"{mark} {finding.id}: {finding.what}"))
        if finding.hint:
            echo_text(escape_lines(f"     hint: {finding.hint}"))


def _find_service() -> Service | None:
    """The service manager and its facts; None on a system without a supported manager."""
    from tacitd.cli.service_commands import find_manager_and_facts
    from tacitd.service.doctor import Service

    try:
        return Service(*find_manager_and_facts(get_paths()))
    except TacitdError:
        return None
