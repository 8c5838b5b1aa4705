"""One line of JSON to the fields of it that are used. No rules about persons, no files.

The decoder skips all other fields without building them. Rarely needed fields are `Raw`, which refers to the line's
bytes, so a `TranscriptLine` must not be kept longer than its line.

The format is internal to Claude Code and changes (S-05). A field with an unexpected shape never raises; it is left out
(`decode_line` falls back to decoding each field separately).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from tacitd.events import ToolUse
from tacitd.text.lazy_pattern import compile_lazily

UNREAD_TYPES = ("api-request", "file-history")
"""What the types of records begin with from which nothing is taken, not even a time."""
SKIPPED = tuple(b'{"type":"' + kind.encode() for kind in UNREAD_TYPES)
"""Lines with one of these beginnings are never decoded. If the client changes its spacing, that only costs time."""

NOBODYS = compile_lazily(
    rb'"tool_use_id":|"(?:isSidechain|isMeta)": ?true|"role": ?"assistant"|"type": ?"(?:tool_result|assistant|system|progress)"'
    rb'|"attachment": ?\{"type": ?"(?!queued_command)'
)
"""What the beginning of a record contains in which nobody typed anything."""

_ENDS = (b"}}", b'"isSnapshotUpdate":false}')
_DIGEST = b'"requestDigest":"'
_DIGEST_AT = len(_DIGEST) + 64 + len(b'"}')

INPUT_LIMIT = 256 << 10
"""How many bytes of a tool call's input are kept."""

SKILL_TOOL = "Skill"
"""The tool that starts a skill."""
_SKILL_FIELDS = ("skill", "command", "name")
"""The fields of its input that may contain the skill's name, in different versions."""

_KNOWN = (
    "user assistant system attachment progress queue-operation last-prompt summary ai-title custom-title "
    "agent-name agent-color agent-setting tag mode permission-mode file-history-snapshot "
    "file-history-delta attribution-snapshot pr-link cost-state tools-used atis-latch api-request "
    "api-request-shape api-request-blob api-request-resumed content-replacement continued-in "
    "derived-from relocated fork-context-ref frame-link observer-ref resume-head-vouch bridge-session "
    "worktree-state session-owner isolation-latch dev-mods memory-mode history-suppression "
    "ended-by-model data-flow-records data-flow-incomplete artifact-comment-monitor "
    "artifact-autoreact-ledger"
)
KNOWN_TYPES = frozenset(_KNOWN.split())
"""Record types known up to Claude Code 2.1.328. Other types are counted and skipped."""

_WHO = (
    "is_sidechain agent_id is_meta is_compact_summary is_visible_in_transcript_only is_virtual user_type entrypoint "
    "prompt_source turn_origin origin command_mode"
)
_TELLING = frozenset(_WHO.split())
"""The fields that tell who wrote a text. Nobody's words are taken from a record in which one of them has another type."""

UNREAD = frozenset(kind for kind in KNOWN_TYPES if kind.startswith(UNREAD_TYPES))

NONE = Raw()
"""What a raw field is if the line does not have it."""


def never_matters(raw: bytes) -> bool:
    """Whether this line, which begins as one of SKIPPED, ends as one that needs no decoding.

    The end is checked because another record may follow a truncated one on the same line. A person's record ends with
    `"}`; lines of these types end otherwise, or with a digest. Any other spelling is decoded, so only time can be lost.
    """
    end = len(raw) - raw.endswith(b"\n")
    return raw.endswith(_ENDS, 0, end) or raw.startswith(_DIGEST, max(0, end - _DIGEST_AT))


class Block(Struct, gc=False):
    """Text, tool_use, tool_result, image or thinking."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    tool_use_id: str = ""
    is_error: bool | None = None
    input: Raw = NONE
    content: Raw = NONE


class LineMessage(Struct, gc=False):
    """A message of any role, with its content."""

    content: str | list[Block] | None = None
    model: str | None = None
    role: Raw = NONE


class Origin(Struct, gc=False):
    """The cause of a turn: `human`, or one of many programs."""

    kind: str | None = None


class ToolResult(Struct, gc=False):
    """The fields that contain the answers to AskUserQuestion, and those of the task tools."""

    answers: Raw = NONE
    annotations: Raw = NONE
    task: Raw = NONE
    tasks: Raw = NONE
    success: Raw = NONE


class Attachment(Struct, gc=False, rename={"command_mode": "commandMode", "is_meta": "isMeta"}):
    """The content of an `attachment` record; only `queued_command` is used."""

    type: str | None = None
    prompt: Raw = NONE
    source_uuid: str | None = None
    command_mode: str | None = None
    origin: Origin | str | None = None
    is_meta: bool | None = None
    unfit: str = ""
    """As in a `TranscriptLine`."""


class TranscriptLine(Struct, gc=False, rename="camel"):
    """A record of a transcript: the fields that are used, with Claude Code's names in snake case."""

    # In the order in which the client writes them: a key is compared first with the field after the one that was found last.
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    type: str | None = None
    message: LineMessage | str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    tool_use_result: ToolResult | str | list[Raw] | None = None
    user_type: str | None = None
    entrypoint: str | None = None
    prompt_source: str | None = None
    turn_origin: str | None = None
    agent_id: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_virtual: bool | None = None
    text_not_typed: Raw = NONE
    handed_off: Raw = NONE
    wakeup_source: Raw = NONE
    scheduled_task_id: Raw = NONE
    queue_skip_attachments: Raw = NONE
    source_tool_use_id: Raw = msgspec.field(default=NONE, name="sourceToolUseID")
    plan_content: Raw = NONE
    origin: Origin | str | None = None
    attachment: Attachment | None = None
    is_api_error_message: bool | None = None
    operation: str | None = None
    content: Raw = NONE
    reason: Raw = NONE
    command_uuid: str | None = None
    unfit: str = ""
    """The client's name of a field of `_TELLING` whose value has another type than it writes; "" if all fit."""


_DECODER = msgspec.json.Decoder(TranscriptLine)
_TEXT = msgspec.json.Decoder(str | list[Block])


def decode_line(raw: bytes | memoryview) -> TranscriptLine | None:
    """Given one line, return its record; None if it is JSON but not an object.

    Raises ValueError (msgspec's, or UnicodeDecodeError) or RecursionError if it is not complete JSON; then
    `lines.salvage_records` finds the records in it.
    """
    try:
        return _DECODER.decode(raw)
    except msgspec.ValidationError:
        return _struct(raw, TranscriptLine)


class _RecordHead(Struct, gc=False, rename="camel"):
    """The fields that distinguish a record from a nested object. They are Raw, so their content never fails to decode."""

    type: Raw = NONE
    session_id: Raw = NONE


_HEAD = msgspec.json.Decoder(_RecordHead)
_NO_SESSION = frozenset({"summary", "file-history-snapshot", "file-history-delta", "attribution-snapshot"})
"""Record types that Claude Code writes without a `sessionId`."""


def is_record(span: bytes) -> bool:
    """Whether an object in a damaged line has a `type` and a `sessionId`, or a type that is written without one."""
    head = _HEAD.decode(span)
    kind, session = decode_raw(head.type, str), decode_raw(head.session_id, str)
    return bool(kind) and (bool(session) or kind in _NO_SESSION)


def read_blocks(message: LineMessage) -> tuple[str, tuple[ToolUse, ...]]:
    """Given an assistant's message, return its text, without thinking, and its tool calls, with inputs that no longer refer to the
    line."""
    if isinstance(message.content, str):
        return message.content, ()
    text, called = "", list[ToolUse]()
    for block in message.content or ():
        if block.type == "tool_use":
            given = bytes(block.input)
            given = given if 0 < len(given) <= INPUT_LIMIT else b"{}"
            skills: tuple[str, ...] = ()
            if block.name == SKILL_TOOL:
                found = object_of(Raw(given))
                skills = tuple(name for key in _SKILL_FIELDS if isinstance(name := found.get(key), str))
            called.append(ToolUse(block.id, block.name, given, skills))
        elif block.type == "text" and block.text:
            text = f"{text}\n{block.text}" if text else block.text
    return text, tuple(called)


def is_present(raw: Raw) -> bool:
    """Whether a rarely used field is present and neither null nor false nor empty."""
    return raw is not NONE and bytes(raw) not in (b"", b"null", b"false", b'""')


def text_of(raw: Raw) -> str:
    """Given a field that is a string or a list of blocks, return its text; "" for anything else."""
    if raw is NONE:
        return ""
    try:
        found = _TEXT.decode(raw)
    except (ValueError, RecursionError):
        found = _blocks(raw)
    if isinstance(found, str):
        return found
    return "\n".join(block.text for block in found or () if block.type == "text" and block.text)


@lru_cache(maxsize=64)
def parse_version(version: str | None) -> tuple[int, ...]:
    """The first three numbers of a client's version; () if there is none, or it has other characters."""
    parts = (version or "").split(".")[:3]
    # int() refuses more than 4300 digits, and a version can be any text.
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 9 for part in parts) else ()


def object_of(raw: Raw) -> dict[str, Any]:
    """Given a field, return it if it is an object; otherwise {}."""
    found = decode_raw(raw, dict[str, Any])
    return found if isinstance(found, dict) else {}


# --- the tolerant way: each field separately ---------------------------------------------------------------


Decoded = TypeVar("Decoded", bound=Struct)


def _struct(raw: bytes | memoryview | Raw, kind: type[Decoded]) -> Decoded | None:
    """Given an object, return it as this struct with the fields that fit; None if it is not an object."""
    try:
        loose = msgspec.json.decode(raw, type=dict[str, Raw])
    except msgspec.ValidationError:
        return None
    values: dict[str, Any] = {}
    for info in msgspec.structs.fields(kind):
        part = loose.get(info.encode_name)
        if part is None:
            continue
        value, nested = part if info.type is Raw else decode_raw(part, info.type), _NESTED.get(info.name)
        if value is None and nested is not None:
            value = _struct(part, nested)
        elif value is None and info.name == "content":
            value = _blocks(part)
        if value is not None:
            values[info.name] = value
        elif info.name in _TELLING and bytes(part) not in (b"", b"null"):
            values["unfit"] = info.encode_name
    return kind(**values)


_NESTED: dict[str, type[Struct]] = {
    "message": LineMessage,
    "attachment": Attachment,
    "tool_use_result": ToolResult,
}


def _blocks(raw: Raw) -> list[Block] | None:
    """Given a list, return those elements that are blocks; a bare string counts as text."""
    parts = decode_raw(raw, list[Raw])
    if parts is None:
        return None
    blocks: list[Block] = []
    for part in parts:
        text = decode_raw(part, str)
        block = Block(type="text", text=text) if text is not None else _struct(part, Block)
        if block is not None:
            blocks.append(block)
    return blocks


def decode_raw(raw: Raw, expected: Any) -> Any:
    """A value as this type; None if it is of another one, or no UTF-8."""
    try:
        return msgspec.json.decode(raw, type=expected)
    except (ValueError, RecursionError):
        return None
