"""`tacitd config`: show, check and find the configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from tacitd.cli.places import data, paths

if TYPE_CHECKING:
    from tacitd.config import Config


@click.group(epilog="\b\nExample: tacitd config show\nExample: TACITD_SESSION__IDLE=10m tacitd config check")
def config() -> None:
    """Show, check and find the configuration. None is needed."""


@config.command()
def socket() -> None:
    """Print the socket's path."""
    click.echo(paths().socket)


@config.command()
@click.option("--all", "every", is_flag=True, help="Every place that tacitd uses.")
def path(every: bool) -> None:
    """Print the path of config.toml, whether it is there or not."""
    places = paths()
    if not every:
        click.echo(places.config_file)
        return
    for name in ("config_file", "state_dir", "socket", "config_dir"):
        click.echo(f"{name:<12} {getattr(places, name)}")


@config.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(as_json: bool) -> None:
    """Every setting, its value now, and what it does."""
    from tacitd.config import flat

    rows = list(flat(_load()))
    if as_json:
        data({key: _plain(value) for key, value, _ in rows})
        return
    for key, value, about in rows:
        click.echo(f"{key} = {_plain(value)!r}")
        if about:
            click.echo(f"    {about}")


@config.command()
def check() -> None:
    """Read the configuration and say what is wrong with it; ends with 78 where something is."""
    _load()
    click.echo(f"{paths().config_file}: all right")


def _load() -> Config:
    from tacitd.config import load
    from tacitd.slices import find

    return load(paths().config_file, os.environ, find().sections())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
