"""Generates configuration.md from the settings' models, commands.md from the help texts, and the Claude Code plugin's commands
from the texts in the handlers' folders.

    python docs/generate.py

A test compares the generated text with the files. This script writes nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tacitd.cli.program import COMMANDS, EPILOG, CommandRow, Program, make_plugin_table
from tacitd.config.settings import Config
from tacitd.plugins import GROUP, EntryPoint, FoundPlugins, find_plugins

HERE = Path(__file__).parent
SLASH_COMMANDS = HERE.parent / "plugin" / "commands"
NOTE = "<!-- Written by docs/generate.py. Change the source, not this page. -->\n"

CONFIGURATION = """# Configuration

No configuration is needed. To change a setting, write it to `config.toml` (`tacitd config path` prints its path), or set a variable, which
overrides the file: `TACITD_BUDGET__USD_PER_DAY=0.5` is `usd_per_day = 0.5` in `[budget]`. `tacitd config show` prints every setting in force,
`tacitd config check` reports errors. Durations are written `500ms`, `20s`, `30m`, `6h` or `2d`. Lists are TOML lists, or `A,B` in a variable.

A daemon reads its configuration at start and at `tacitd reload`, which takes effect completely or not at all. A wrong value or an unknown key is refused
by name, with exit code 78. A service has its own environment: put its settings into `config.toml` or a drop-in of its unit.
"""

PLACES = """## Where things are

These can only be set as variables, because the configuration itself is found through them. If the name begins with `TACITD_`, it is an absolute path, or one below `~/`.

| variable | default | what it is |
|---|---|---|
| `CLAUDE_CONFIG_DIR` | `~/.claude` | Claude Code's own directory; transcripts are in `projects` below it |
| `TACITD_CONFIG` | `~/.config/tacitd/config.toml` | the configuration (on macOS in `~/Library/Application Support/tacitd`) |
| `TACITD_STATE_DIR` | `~/.local/state/tacitd` | tacitd's own files, see [files.md](files.md) (on macOS as above) |
| `TACITD_SOCKET` | `tacitd.sock` in the state directory | the daemon's socket; at most 100 bytes |

`XDG_STATE_HOME` and `XDG_CONFIG_HOME` are used if set.
"""


NAMES = ["-h", "--help"]
"""The same as in the program: click keeps the names with which it first rendered a command."""


def slices() -> FoundPlugins:
    """The slices in the current pyproject.toml, which may differ from those of the installed package."""
    table = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    named = table["project"]["entry-points"][GROUP]
    found = find_plugins(EntryPoint(name, where) for name, where in named.items())
    assert not found.failed, found.failed
    return found


def list_all_commands() -> dict[str, CommandRow]:
    """The commands of the engine and of the plugins in the current pyproject.toml."""
    return {**COMMANDS, **make_plugin_table(slices()).commands}


def configuration() -> str:
    """The text of configuration.md."""
    sections: dict[str, type[BaseModel]] = {}
    single: dict[str, FieldInfo] = {}
    for name, field in Config.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            sections[name] = kind
        else:
            single[name] = field
    found = slices()
    tables = [_section(name, model) for name, model in {**sections, **found.collect_sections()}.items()]
    # Not `Config()`, which would read this process's variables.
    top = "## At the top\n\n" + _table("", single, {name: field.default for name, field in single.items()})
    return "\n".join([NOTE + CONFIGURATION, top, *tables, PLACES])


def _section(name: str, model: type[BaseModel]) -> str:
    about = (model.__doc__ or "").strip().partition("\n")[0]
    defaults = model().model_dump(mode="json")
    return f"## [{name}]\n\n{about}\n\n" + _table(f"{name}.", model.model_fields, defaults)


def _table(prefix: str, fields: Mapping[str, FieldInfo], defaults: Mapping[str, Any]) -> str:
    lines = ["| key | default | allowed | what it does |", "|---|---|---|---|"]
    for name, field in fields.items():
        about = (field.description or "").replace("|", "\\|")
        lines.append(f"| `{prefix}{name}` | `{_plain(defaults[name])}` | {_allowed(field)} | {about} |")
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> str:
    """A value in the syntax of config.toml."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _allowed(field: FieldInfo) -> str:
    """The choices or bounds of a field, or an empty string."""
    choices = getattr(field.annotation, "__args__", ())
    if choices and all(isinstance(one, str) for one in choices):
        return ", ".join(f"`{one}`" if one else '`""`' for one in choices)
    bounds = []
    for metadata in field.metadata:
        for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
            if getattr(metadata, name, None) is not None:
                bounds.append(f"{words} {getattr(metadata, name)}")
    return ", ".join(bounds)


COMMANDS_PAGE = """# Commands

Data goes to standard output, messages to standard error. The `--json` output is a contract. A command that only reads needs
neither a daemon nor `claude`. `tacitd COMMAND --help` prints more about each, with examples.
"""


def commands() -> str:
    """The text of commands.md: of each command its usage, the first paragraph of its help, and its options."""
    table = dict(sorted(list_all_commands().items()))
    group = Program(table)
    root = _context(group, "tacitd")
    codes = EPILOG.removeprefix("\b\n").replace("\n", " ")
    parts = [NOTE + COMMANDS_PAGE, codes + "\n"]
    for name in table:
        command = group.get_command(root, name)
        assert command is not None
        parts += _command(command, root, name, "##")
    return "\n".join(parts)


def _command(command: click.Command, parent: click.Context, name: str, level: str) -> Iterator[str]:
    context = _context(command, name, parent)
    yield f"{level} {context.command_path}\n"
    usage = [
        piece for piece in command.collect_usage_pieces(context) if piece not in ("[OPTIONS]", "[ARGS]...")
    ]
    yield " ".join([*(f"`{piece}`" for piece in usage), _first_paragraph(command.help or "")]) + "\n"
    records = [p.get_help_record(context) for p in command.params if isinstance(p, click.Option)]
    options = [record for record in records if record is not None]
    if options:
        yield "\n".join(f"- `{names}` {about}".rstrip() for names, about in options) + "\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _command(found, context, below, level + "#")


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return click.Context(
        command,
        parent=parent,
        info_name=name,
        terminal_width=100,
        max_content_width=100,
        help_option_names=NAMES,
    )


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())


def slash_commands() -> dict[str, str]:
    """The commands of the Claude Code plugin by file name: the files of the handlers' folders `slash_commands`.

    They are copied because the client installs the plugin's folder alone. Raises ValueError if two have one name.
    """
    made: dict[str, str] = {}
    for path in sorted((HERE.parent / "handlers").glob("*/*/slash_commands/*.md")):
        if path.name in made:
            raise ValueError(f"two handlers have a command {path.name}")
        made[path.name] = path.read_text(encoding="utf-8")
    return made


PAGES = {"configuration.md": configuration, "commands.md": commands}


def main() -> None:
    """Write every page and command. A plugin's command that is gone is removed."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
    _write_folder(SLASH_COMMANDS, slash_commands())


def _write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder have exactly these files."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
