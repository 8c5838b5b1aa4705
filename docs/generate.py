"""Writes the pages that would rot otherwise: configuration.md from the settings' models, commands.md from the help texts.

    python docs/generate.py

A test compares what this would write with what stands here. Nothing else is written by it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tacitd.cli import COMMANDS, EPILOG, program
from tacitd.config import PREFIX, Config
from tacitd.slices import GROUP, Found, find
from tacitd_handlers.commands import COMMANDS_OF_SLICES

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py. Change the source, not this page. -->\n"

CONFIGURATION = """# Configuration

None is needed. What you want otherwise goes into `config.toml` (`tacitd config path` prints where) or into a variable;
a variable wins. `tacitd config show` prints every setting as it is now, `tacitd config check` says what is wrong.
Spans of time are written `500ms`, `20s`, `30m`, `6h` or `2d`; lists are TOML lists, or `A,B` in a variable.
A wrong value, an unknown key and a misspelt variable are refused with their name, and the exit code is 78.

A running daemon reads its configuration when it starts, and again at `tacitd reload`: the new one whole, or not at all.
SIGHUP does the same for a daemon of the service or of `tacitd start`. A `tacitd run` in a terminal ends on SIGHUP, as it does when the
terminal is closed; under `nohup` it ignores it.
A service has an environment of its own, so what it is to know belongs into `config.toml` (or into a drop-in of its unit).
"""

PLACES = """## Where things are

These are variables only, because they say where the configuration itself is.

| variable | default | what it is |
|---|---|---|
| `CLAUDE_CONFIG_DIR` | `~/.claude` | Claude Code's own directory; transcripts are in `projects` below it |
| `TACITD_CONFIG` | `~/.config/tacitd/config.toml` | the configuration (on macOS in `~/Library/Application Support/tacitd`) |
| `TACITD_STATE_DIR` | `~/.local/state/tacitd` | tacitd's own files, see [files.md](files.md) (on macOS as above) |
| `TACITD_SOCKET` | `$XDG_RUNTIME_DIR/tacitd/tacitd.sock`, else in the state directory | where the daemon answers; at most 100 bytes |

`XDG_STATE_HOME` and `XDG_CONFIG_HOME` are followed where they are set.
"""


NAMES = ["-h", "--help"]
"""As the program has them: click keeps on a command what it was first rendered with."""


def slices() -> Found:
    """The slices that pyproject.toml names now, whatever was named when this was installed."""
    table = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    named = table["project"]["entry-points"][GROUP]
    found = find(EntryPoint(name, value, GROUP) for name, value in named.items())
    assert not found.failed, found.failed
    return found


def configuration() -> str:
    """The whole page."""
    sections: dict[str, type[BaseModel]] = {}
    single: dict[str, FieldInfo] = {}
    for name, field in Config.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            sections[name] = kind
        else:
            single[name] = field
    found = slices()
    tables = [_section(name, model) for name, model in {**sections, **found.sections()}.items()]
    # Not `Config()`: that would read this process's variables.
    top = "## At the top\n\n" + _table("", single, {name: field.default for name, field in single.items()})
    return "\n".join([NOTE + CONFIGURATION, top, *tables, PLACES])


def _section(name: str, model: type[BaseModel]) -> str:
    about = (model.__doc__ or "").strip().partition("\n")[0]
    defaults = model().model_dump(mode="json")
    return f"## [{name}]\n\n{about}\n\n" + _table(f"{name}.", model.model_fields, defaults)


def _table(prefix: str, fields: Mapping[str, FieldInfo], defaults: Mapping[str, Any]) -> str:
    lines = ["| key | default | allowed | what it does |", "|---|---|---|---|"]
    for name, field in fields.items():
        key = prefix + name
        variable = PREFIX + key.upper().replace(".", "__")
        about = (field.description or "").replace("|", "\\|")
        lines.append(
            f"| `{key}`<br>`{variable}` | `{_plain(defaults[name])}` | {_allowed(field)} | {about} |"
        )
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> str:
    """A value as config.toml would hold it."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _allowed(field: FieldInfo) -> str:
    """The choices or the bounds, where there are any."""
    choices = getattr(field.annotation, "__args__", ())
    if choices and all(isinstance(one, str) for one in choices):
        return ", ".join(f"`{one}`" for one in choices)
    bounds = []
    for metadata in field.metadata:
        for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
            if getattr(metadata, name, None) is not None:
                bounds.append(f"{words} {getattr(metadata, name)}")
    return ", ".join(bounds)


COMMANDS_PAGE = """# Commands

Data goes to standard output and talk to standard error, so every command can stand in a pipe; `--json` is a contract.
Commands that only look (`prompts`, `scan --dry-run`, `learned`, `context`, `config`, `doctor`) need neither a daemon
nor `claude`. Every command knows `--help`.
"""


def commands() -> str:
    """The whole page."""
    table = dict(sorted({**COMMANDS, **COMMANDS_OF_SLICES}.items()))
    group = program(table)
    root = click.Context(
        group, info_name="tacitd", terminal_width=100, max_content_width=100, help_option_names=NAMES
    )
    codes = EPILOG.removeprefix("\b\n").replace("\n", " ")
    parts = [NOTE + COMMANDS_PAGE, codes + "\n"]
    for name in table:
        command = group.get_command(root, name)
        assert command is not None
        parts += _command(command, root, name, "##")
    return "\n".join(parts)


def _command(command: click.Command, parent: click.Context, name: str, level: str) -> Iterator[str]:
    context = click.Context(
        command,
        parent=parent,
        info_name=name,
        terminal_width=100,
        max_content_width=100,
        help_option_names=NAMES,
    )
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{level} {context.command_path}\n"
    yield f"    {usage}\n"
    yield _paragraphs(command.help or "") + "\n"
    records = [p.get_help_record(context) for p in command.params if isinstance(p, click.Option)]
    options = [record for record in records if record is not None]
    if options:
        yield "\n".join(f"- `{names}` {about}".rstrip() for names, about in options) + "\n"
    for line in (command.epilog or "").replace("\b", "").strip().splitlines():
        yield f"Example: `{line.removeprefix('Example: ')}`\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _command(found, context, below, level + "#")


def _paragraphs(text: str) -> str:
    """Click's help with its own line breaks: one line a paragraph, as Markdown wants it."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


PAGES = {"configuration.md": configuration, "commands.md": commands}


def main() -> None:
    """Write every page anew."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
