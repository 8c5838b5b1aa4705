"""`tacitd config show`: every setting, its value and what it does."""

from __future__ import annotations

import os

import click

from tacitd.cli.common import echo_json, echo_text, get_paths
from tacitd.cli.stored_settings import load_settings_table
from tacitd.config.settings_table import SettingsTable


@click.command(epilog="\b\nExample: tacitd config show --json | jq")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: each setting with its value.")
def show(as_json: bool) -> None:
    """Show every setting, its current value and what it does. Each line is valid in config.toml."""
    table = load_settings()
    if as_json:
        echo_json({row.key: row.value for row in table.rows})
        return
    for row in table.rows:
        echo_text(f"{row.key} = {row.written}" if row.written != "null" else f"# {row.key} is not set")
        if row.about:
            echo_text(f"    # {row.about}")


def load_settings() -> SettingsTable:
    """The settings of the person who runs this. Raises ConfigError."""
    return load_settings_table(get_paths().config_file, os.environ)
