"""`tacitd doctor` and `config`: what the daemon needs, with a fix for each finding, and its settings."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import (
    confirm,
    echo_findings,
    echo_json,
    echo_message,
    echo_text,
    get_paths,
    json_option,
)
from tacitd.errors import FAILED, TacitdError
from tacitd.text.wording import format_table

if TYPE_CHECKING:
    from tacitd.config.settings import Config

COST = "this asks the fast model one question through your `claude`: about $0.001, at most 1 cent"


@click.command(
    epilog="\b\nExample: tacitd doctor\n"
    "Example: tacitd doctor --json | jq '.[] | select(.severity != \"ok\")'",
)
@json_option("Print JSON: id, severity, what, hint.")
@click.option("--model", is_flag=True, help="Also ask the model one question, after naming the cost.")
@click.option("--yes", is_flag=True, help="Do not ask before calling the model.")
def doctor(as_json: bool, model: bool, yes: bool) -> int:
    """Check what the daemon needs, in the service's own environment if a service is installed.

    Changes nothing. Calls the model only with --model. Ends with 1 if something must be fixed.
    """
    from tacitd.cli.service_commands import find_manager_and_facts
    from tacitd.service.doctor import Service, examine_machine, load_or_default, probe_model

    places, service = get_paths(), None
    with suppress(TacitdError):  # a system without a supported manager
        service = Service(*find_manager_and_facts(places))
    if model:
        echo_message(COST)
        if not yes:
            confirm("Go on?")
    found = examine_machine(places, os.environ, service)
    if model:
        env = (service.manager.read_environment() if service is not None else {}) or os.environ
        found.append(probe_model(places, load_or_default(places, os.environ), env))
    echo_findings(found, as_json=as_json)
    return FAILED if any(f.severity == "error" for f in found) else 0


@click.group(epilog="\b\nExample: tacitd config show\nExample: TACITD_SESSION__IDLE=10m tacitd config check")
def config() -> None:
    """Show, check and locate the configuration. tacitd runs without one."""


@config.command(epilog="\b\nExample: nc -U $(tacitd config socket)")
def socket() -> None:
    """Print the path of the daemon's socket."""
    click.echo(get_paths().socket)


@config.command(epilog="\b\nExample: tacitd config path --all")
@click.option("--all", "every", is_flag=True, help="Print every path that tacitd uses.")
def path(every: bool) -> None:
    """Print the path of config.toml, whether it exists or not."""
    places = get_paths()
    if not every:
        click.echo(places.config_file)
        return
    names = ("config_file", "state_dir", "socket", "config_dir")
    rows = ((name, str(getattr(places, name))) for name in names)
    click.echo("\n".join(format_table(("NAME", "PATH"), rows)))


@config.command(epilog="\b\nExample: tacitd config check && tacitd reload")
def check() -> None:
    """Check the configuration. Ends with 78 if something is wrong."""
    _load()
    click.echo(f"{get_paths().config_file}: all right")


@config.command(epilog="\b\nExample: tacitd config show --json | jq")
@json_option("Print JSON: each setting with its value.")
def show(as_json: bool) -> None:
    """Show every setting, its current value and what it does. Each line is valid in config.toml."""
    from tacitd.config.settings import format_setting, list_settings

    config = _load()
    settings = list(list_settings(config))
    if as_json:
        echo_json({key: value for key, value, _ in settings})
        return
    for key, value, about in settings:
        echo_text(f"# {key} is not set" if value is None else f"{key} = {format_setting(config, key)}")
        if about:
            echo_text(f"    # {about}")


def _load() -> Config:
    """The settings of the person who runs this. Raises ConfigError."""
    from tacitd.config.settings import load_config
    from tacitd.plugins import find_plugins

    return load_config(get_paths().config_file, os.environ, find_plugins().collect_sections())
