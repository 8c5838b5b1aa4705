"""`tacitd config`: show, check and locate the configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tacitd.cli.common import echo_json, echo_text, get_paths
from tacitd.text.wording import format_table

if TYPE_CHECKING:
    from tacitd.config.settings import Config


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
    for line in format_table(("NAME", "PATH"), ((name, str(getattr(places, name))) for name in names)):
        click.echo(line)


@config.command(epilog="\b\nExample: tacitd config check && tacitd reload")
def check() -> None:
    """Check the configuration. Ends with 78 if something is wrong."""
    _load()
    click.echo(f"{get_paths().config_file}: all right")


@config.command(epilog="\b\nExample: tacitd config show --json | jq")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: each setting with its value.")
def show(as_json: bool) -> None:
    """Show every setting, its current value and what it does. Each line is valid in config.toml."""
    from tacitd.config.settings import format_settings, list_settings

    config = _load()
    settings = list(list_settings(config))
    if as_json:
        echo_json({key: value for key, value, _ in settings})
        return
    written = dict(format_settings(config))
    for key, value, about in settings:
        echo_text(f"# {key} is not set" if value is None else f"{key} = {written[key]}")
        if about:
            echo_text(f"    # {about}")


def _load() -> Config:
    """The settings of the person who runs this. Raises ConfigError."""
    from tacitd.config.settings import load_config
    from tacitd.plugins import find_plugins

    return load_config(get_paths().config_file, os.environ, find_plugins().collect_sections())
