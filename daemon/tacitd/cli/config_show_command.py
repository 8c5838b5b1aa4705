"""`tacitd config show`: every setting, its value and what it does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tacitd.cli.answered_command import answered_command, option
from tacitd.cli.caller import echo_text
from tacitd.cli.common import echo_json, get_paths

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tacitd.config.settings import Config


@answered_command(epilog="\b\nExample: tacitd config show --json | jq")
@option("--json", "as_json", is_flag=True, help="Print JSON: each setting with its value.")
def show(as_json: bool) -> None:
    """Show every setting, its current value and what it does. Each line is valid in config.toml."""
    from tacitd.config.settings import list_settings

    loaded = load_settings()
    rows = list(list_settings(loaded))
    if as_json:
        echo_json({key: list(value) if isinstance(value, tuple) else value for key, value, _ in rows})
        return
    written = dict(_toml_values(loaded))
    for key, _, about in rows:
        echo_text(f"{key} = {written[key]}" if written[key] != "null" else f"# {key} is not set")
        if about:
            echo_text(f"    # {about}")


def load_settings() -> Config:
    """The configuration, with the settings of all plugins. Raises ConfigError."""
    from tacitd.config.settings import load_config
    from tacitd.plugins import find_plugins

    return load_config(get_paths().config_file, os.environ, find_plugins().collect_sections())


def _toml_values(config: BaseModel, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every setting with its value as TOML; durations as `30m`. JSON serves as TOML here, except for null."""
    from pydantic import BaseModel

    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from _toml_values(value, f"{prefix}{name}.")
        else:
            plain = config.model_dump(mode="json", include={name})[name]
            yield f"{prefix}{name}", json.dumps(plain, ensure_ascii=False)
