"""The JSON schema of a tool, and the command line that a call of it runs. Pure.

Both come from the click command, so that a tool accepts what its command accepts. Arguments are a stranger's data: a model
wrote them. They reach the command as `--name=value`, or behind `--`, so no value can be read as another option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from tacitd.errors import UsageError
from tacitd.mcp.agent_tools import AgentTool, ToolParameter

CONFIRM = "confirm"
LONGEST = 20_000
"""Characters of one value."""
MOST = 100
"""Elements of a list."""
Schema = dict[str, Any]


def build_schema(tool: AgentTool, command: click.Command) -> Schema:
    """Return the JSON schema of a tool's arguments. Raises ValueError if the command has no parameter that it names."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for one in tool.parameters:
        if one.name == tool.typed:
            properties[one.name] = {"type": "string", "description": one.description}
            is_needed = one.required
        else:
            found = find_parameter(one, command)
            properties[one.name] = _describe_type(found) | _description(one, found)
            is_needed = one.required or found.required
        required += [one.name] if is_needed else []
    if tool.effect == "removes":
        said = "true only if the person agreed to exactly this. Without it nothing is done."
        properties[CONFIRM] = {"type": "boolean", "description": said}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def find_parameter(one: ToolParameter, command: click.Command) -> click.Parameter:
    """The command's parameter that a tool's fills. Raises ValueError if there is none."""
    name = one.of or one.name
    found = next((each for each in command.params if each.name == name), None)
    if found is None:
        raise ValueError(f"{command.name} has no parameter {name}")
    return found


def _description(one: ToolParameter, found: click.Parameter) -> Schema:
    said = one.description or (getattr(found, "help", None) or "")
    return {"description": said} if said else {}


def _describe_type(found: click.Parameter) -> Schema:
    if isinstance(found, click.Option) and found.is_flag:
        return {"type": "boolean"}
    single = _describe_value(found.type)
    return {"type": "array", "items": single} if _takes_many(found) else single


def _describe_value(kind: click.ParamType[Any]) -> Schema:
    if isinstance(kind, click.Choice):
        return {"type": "string", "enum": [str(one) for one in kind.choices]}
    if isinstance(kind, click.IntRange):
        limits = {"minimum": kind.min, "maximum": kind.max}
        return {"type": "integer"} | {name: at for name, at in limits.items() if at is not None}
    if kind.name == "integer":
        return {"type": "integer"}
    return {"type": "string"}


def _takes_many(found: click.Parameter) -> bool:
    return found.multiple or found.nargs == -1


def check_arguments(schema: Schema, arguments: Mapping[str, Any]) -> None:
    """Raises UsageError if arguments do not match a schema of `build_schema`; it names what would match."""
    properties: Mapping[str, Schema] = schema["properties"]
    unknown = [name for name in arguments if name not in properties]
    if unknown:
        known = ", ".join(properties) or "none"
        raise UsageError(f"there is no argument {unknown[0]!r}", f"the arguments are: {known}")
    missing = [name for name in schema.get("required", ()) if arguments.get(name) is None]
    if missing:
        raise UsageError(f"the argument {missing[0]!r} is missing")
    for name, value in arguments.items():
        if value is not None:
            _check_value(name, properties[name], value)


def _check_value(name: str, kind: Schema, value: object) -> None:
    match kind["type"]:
        case "array":
            if not isinstance(value, list):
                raise UsageError(f"{name} must be a list of texts")
            if len(value) > MOST:
                raise UsageError(f"{name} has {len(value)} elements", f"at most {MOST}")
            for one in value:
                _check_value(name, kind["items"], one)
        case "boolean":
            if not isinstance(value, bool):
                raise UsageError(f"{name} must be true or false")
        case "integer":
            if not isinstance(value, int) or isinstance(value, bool):
                raise UsageError(f"{name} must be a whole number")
        case _:
            _check_text(name, kind, value)


def _check_text(name: str, kind: Schema, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a text")
    if "enum" in kind and value not in kind["enum"]:
        raise UsageError(f"{name} cannot be {value[:40]!r}", f"one of {', '.join(kind['enum'])}")
    if len(value) > LONGEST:
        raise UsageError(f"{name} has {len(value):,} characters", f"at most {LONGEST:,}")
    if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise UsageError(f"{name} has characters that no text has", "leave out NUL and halves of characters")


def build_command_line(tool: AgentTool, command: click.Command, arguments: Mapping[str, Any]) -> list[str]:
    """Given checked arguments, return what is given to the command besides its name."""
    options: list[str] = []
    positional: list[str] = []
    given = {one.name: arguments.get(one.name) for one in tool.parameters if one.name != tool.typed}
    for one in tool.parameters:
        value = given.get(one.name)
        if value is None:
            continue
        found = find_parameter(one, command)
        if isinstance(found, click.Option):
            options += _write_option(found, value)
    # Positional values in the command's own order.
    for found in command.params:
        if isinstance(found, click.Argument):
            name = next((one.name for one in tool.parameters if (one.of or one.name) == found.name), "")
            value = given.get(name)
            positional += [] if value is None else value if isinstance(value, list) else [str(value)]
    return [*options, "--", *positional] if positional else options


def _write_option(found: click.Option, value: object) -> list[str]:
    name = max(found.opts, key=len)
    if found.is_flag:
        return [name] if value else []
    values: Sequence[object] = value if isinstance(value, list) else [value]
    return [f"{name}={one}" for one in values]
