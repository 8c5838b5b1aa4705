"""`tacitd config`: show, check and locate the configuration."""

from __future__ import annotations

import click

from tacitd.cli.common import echo_message, get_paths
from tacitd.cli.config_show_command import load_settings, show
from tacitd.text.text_table import format_table


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
    """Check the configuration.

    Ends with 78 if something is wrong. Settings of earlier versions are named; they have no effect.
    """
    for removed in load_settings().removed:
        echo_message(f"warning: {removed}")
    click.echo(f"{get_paths().config_file}: all right")


config.add_command(show)
