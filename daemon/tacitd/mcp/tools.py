"""The tools of the server: the JSON schema of each, from its click command, and running it in this process.

A tool accepts what its command accepts. Arguments are a stranger's data, because a model wrote them: they reach the command as
`--name=value`, or behind `--`, so no value can be read as another option. Standard streams belong to the whole process, so one
tool runs at a time; a command cannot end the process, and cannot ask: its standard input is empty, or what the tool says. Its output is
bounded: JSON stays JSON when it is shortened, and what was left out is said in a text of its own.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import click
from msgspec import Struct

from tacitd.errors import FAILED, OK, TacitdError, UsageError, describe_os_error
from tacitd.mcp.agent_caller import run_as_agent
from tacitd.mcp.agent_tools import LARGEST_RESULT, AgentTool
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_text

CONFIRM = "confirm"
LONGEST = 20_000
"""Characters of one value."""
MOST = 100
"""Elements of a list."""
SHOW_AT_ONCE = "anthropic/alwaysLoad"
"""What Claude Code reads of a tool's `_meta`, if its server's entry is not marked `alwaysLoad` (the plugin's counts as not
marked): the others are left to its tool search. Older versions, and other clients, ignore it."""
Schema = dict[str, Any]


class ToolOutput(Struct, frozen=True):
    """What a tool answers: what its command printed, and beside it messages, errors and what was left out."""

    texts: tuple[str, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


class BoundTool(Struct, frozen=True):
    """A tool with its command and the schema of its arguments."""

    tool: AgentTool
    command: click.Command
    schema: Schema
    fixed: tuple[str, ...]
    """The options that are always given."""


def bind_tool(tool: AgentTool, find_command: Callable[[str, Sequence[str]], click.Command]) -> BoundTool:
    """Find the command of a tool. Raises ValueError if it or one of its parameters does not exist."""
    names = [one for one in tool.command if not one.startswith("-")]
    command = find_command(names[0], names[1:])
    return BoundTool(tool, command, build_schema(tool, command), tuple(tool.command[len(names) :]))


def describe_tool(bound: BoundTool) -> dict[str, Any]:
    tool = bound.tool
    reads = tool.effect == "reads"
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": bound.schema,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": tool.effect == "removes",
            "idempotentHint": reads,
            "openWorldHint": tool.asks_model,
        },
        "_meta": {SHOW_AT_ONCE: not tool.is_rare},
    }


def build_schema(tool: AgentTool, command: click.Command) -> Schema:
    """Return the JSON schema of a tool's arguments. Raises ValueError if the command has no parameter that it names."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for one in tool.parameters:
        if one.name == tool.typed:
            kind, help_text, is_needed = {"type": "string"}, "", one.required
        else:
            found = next((each for each in command.params if each.name == (one.of or one.name)), None)
            if found is None:
                raise ValueError(f"{command.name} has no parameter {one.of or one.name}")
            kind, help_text = _describe_type(found), str(getattr(found, "help", None) or "")
            is_needed = one.required or found.required
        description = one.description or help_text
        properties[one.name] = kind | ({"description": description} if description else {})
        required += [one.name] if is_needed else []
    if tool.effect == "removes":
        agreed = "true only if the person agreed to exactly this. Without it nothing is done."
        properties[CONFIRM] = {"type": "boolean", "description": agreed}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def _describe_type(found: click.Parameter) -> Schema:
    if isinstance(found, click.Option) and found.is_flag:
        return {"type": "boolean"}
    kind: click.ParamType[Any] = found.type
    single: Schema = {"type": "integer" if kind.name.startswith("integer") else "string"}
    if isinstance(kind, click.Choice):
        single["enum"] = [str(one) for one in kind.choices]
    if isinstance(kind, click.IntRange):
        limits = {"minimum": kind.min, "maximum": kind.max}
        single |= {name: at for name, at in limits.items() if at is not None}
    return {"type": "array", "items": single} if found.multiple or found.nargs == -1 else single


def check_arguments(schema: Schema, arguments: Mapping[str, Any]) -> None:
    """Raises UsageError if arguments do not match a schema of `build_schema`; ranges and choices are the command's to check."""
    properties: Mapping[str, Schema] = schema["properties"]
    given = {name: value for name, value in arguments.items() if value is not None}
    if unknown := [name for name in given if name not in properties]:
        known = ", ".join(properties) or "none"
        raise UsageError(f"there is no argument {unknown[0]!r}", f"the arguments are: {known}")
    if missing := [name for name in schema.get("required", ()) if name not in given]:
        raise UsageError(f"the argument {missing[0]!r} is missing")
    for name, value in given.items():
        kind = properties[name]
        values, kind = (value, kind["items"]) if kind["type"] == "array" else ([value], kind)
        if not isinstance(values, list) or len(values) > MOST:
            raise UsageError(f"{name} must be a list of at most {MOST} texts")
        wanted, words = _TYPES[kind["type"]]
        for one in values:
            if type(one) is not wanted:
                raise UsageError(f"{name} must be {words}")
            if isinstance(one, str) and len(one) > LONGEST:
                raise UsageError(f"{name} has {len(one):,} characters", f"at most {LONGEST:,}")
            if isinstance(one, str) and re.search("[\0\ud800-\udfff]", one):
                raise UsageError(f"{name} has characters that no text has")


_TYPES = {"boolean": (bool, "true or false"), "integer": (int, "a whole number"), "string": (str, "a text")}


def build_command_line(tool: AgentTool, command: click.Command, arguments: Mapping[str, Any]) -> list[str]:
    """Given checked arguments, return what is given to the command besides its name."""
    options: list[str] = []
    by_name = {
        one.of or one.name: arguments.get(one.name) for one in tool.parameters if one.name != tool.typed
    }
    positional: list[str] = []
    for found in command.params:  # positional values in the command's own order
        value = by_name.get(found.name or "")
        if value is None:
            continue
        values: Sequence[object] = value if isinstance(value, list) else [value]
        if isinstance(found, click.Argument):
            positional += map(str, values)
        elif isinstance(found, click.Option) and found.is_flag:
            options += [max(found.opts, key=len)] if value else []
        else:
            options += [f"{max(found.opts, key=len)}={one}" for one in values]
    return [*options, "--", *positional] if positional else options


def run_tool(bound: BoundTool, arguments: Mapping[str, Any]) -> ToolOutput:
    """Run a tool. Everything that goes wrong is an answer for the model: what happened, and what helps."""
    tool = bound.tool
    try:
        check_arguments(bound.schema, arguments)
    except UsageError as error:
        return ToolOutput((_describe_error(error),), is_error=True)
    if tool.effect == "removes" and arguments.get(CONFIRM) is not True:
        asked = "Ask the person whether they want exactly this; then call it again with `confirm`: true."
        return ToolOutput((f"Nothing was done: {tool.name} removes something. {asked}",), is_error=True)
    if tool.effect != "reads":
        # A command may store it.
        arguments = _change_texts(arguments, lambda text: redact_secrets(sanitize_text(text))[0])
    line = [*bound.fixed, *build_command_line(tool, bound.command, arguments)]
    typed = str(arguments.get(tool.typed) or "") if tool.typed else ""
    with run_as_agent(), _captured(typed) as (out, err):
        code, problem = _call_command(bound.command, f"tacitd {' '.join(tool.command)}", line)
    printed, note = bound_output(_read(out))
    messages, _ = bound_output("\n".join(part for part in (_read(err), problem) if part), 2_000)
    texts = tuple(part for part in (printed, note, messages) if part)
    return ToolOutput(texts or ("done" if code == OK else f"it ended with {code}",), is_error=code != OK)


def _change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A document with all its texts changed, those that are names of fields too."""
    match value:
        case str():
            return change(value)
        case list():
            return [_change_texts(one, change) for one in value]
        case dict():
            return {change(name): _change_texts(one, change) for name, one in value.items()}
        case _:
            return value


def _call_command(command: click.Command, name: str, line: Sequence[str]) -> tuple[int, str]:
    """The exit code, and an error in words."""
    try:
        code = command.main(list(line), prog_name=name, standalone_mode=False)
        return (code if isinstance(code, int) else OK), ""
    except TacitdError as error:
        return error.code, _describe_error(error)
    except click.ClickException as error:
        return error.exit_code, error.format_message()
    except click.exceptions.Abort:
        return FAILED, "it asks a person, so a person has to run it in a terminal"
    except OSError as error:
        return FAILED, _describe_error(TacitdError(*describe_os_error(error)))
    except SystemExit as ended:
        return (ended.code if isinstance(ended.code, int) else FAILED), ""
    except Exception as error:  # noqa: BLE001  a plugin's command may raise anything, and the server goes on
        return FAILED, f"{type(error).__name__}: {error}"


def _describe_error(error: TacitdError) -> str:
    return f"{error.what}\nhint: {error.hint}" if error.hint else error.what


@contextmanager
def _captured(typed: str) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(2))
    old, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield out, err
    finally:
        sys.stdin = old


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace").strip()


# --- the answer, bounded

LONGEST_TEXT = 400
"""Characters of a text in a document that is shortened, or fewer if it must have few elements."""
FIELDS = 40
"""Of an object that are shown if there is room for few elements of lists."""


def bound_output(text: str, limit: int = LARGEST_RESULT) -> tuple[str, str]:
    """The text without hidden characters, with at most `limit` of the others (200 at least), and what was left out, in words; "" if
    nothing was."""
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    if text.startswith(("[", "{")):
        try:
            return _bound_document(json.loads(text), limit)
        except (ValueError, RecursionError):
            pass  # it only begins like JSON
    text = sanitize_text(text)
    if len(text) <= limit:
        return text, ""
    return text[: limit - 1] + "…", f"{len(text) - limit + 1:,} characters are left out; ask for less"


def _bound_document(document: Any, limit: int) -> tuple[str, str]:
    document = _change_texts(document, sanitize_text)
    text, count = _write(document), limit // 2  # an element takes a character and a comma
    if len(text) <= limit:
        return text, ""
    while len(text := _write(_shorten(document, count))) > limit and count:
        count = count * 7 // 8
    note = f"of long lists all but the first {count} are left out, and long texts are cut; ask for less"
    return text, note


def _shorten(value: Any, count: int) -> Any:
    """The value with at most `count` elements of each list; with few, also with few fields and short texts."""
    longest = min(LONGEST_TEXT, 10 * count + 10)
    match value:
        case str():
            return value if len(value) <= longest else value[:longest] + "…"
        case list():
            return [_shorten(one, count) for one in value[:count]]
        case dict():
            fields = list(value.items())[: max(count, min(FIELDS, 5 * count + 1))]
            return {name[:longest]: _shorten(one, count) for name, one in fields}
        case _:
            return value


def _write(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
