"""Whose words a line of a Codex rollout has. Pure.

A person's prompt is an `event_msg`: `user_message` up to 0.146, `item_completed` with a `UserMessage` since 0.147. The
`response_item` beside it has the same words, but so have those of AGENTS.md, of the environment and of summaries, so it is never
read. A `UserMessage` that came through the terminal has a `client_id`; one of `codex exec` or of a sub-agent has none. A value
that is not known here is refused and counted, as it may be a program's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from tacitd.sources.base import OwnCalls, PersonWords, PromptVerdict

Line = Mapping[str, Any]

TYPED, SUBAGENT, PROGRAM, CLIENT, COPY, UNKNOWN = 1, 2, 3, 4, 5, 6
"""The numbers of the rules."""
_INIT = "Generate a file named AGENTS.md that serves as a contributor guide"
"""How `/init` begins, which the client writes into the person's mouth."""
_CLIENT_TEXT = re.compile(
    r"\s*(?:<(?:user_instructions|environment_context|turn_aborted|user_shell_command|subagent_notification|skill|user_action"
    r"|model_switch|recommended_plugins|heartbeat|permissions instructions)\b|# AGENTS\.md instructions for "
    r"|Another language model started|These AGENTS\.md instructions replace)"
)
_REQUEST = "## My request for Codex:"
"""What an editor's extension puts before the words, behind what it adds of its own."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (?P<path>[^\n]+)$", re.MULTILINE)


class Head(Struct, frozen=True):
    """What the first line of a rollout says of its session."""

    id: str = ""
    version: str = ""
    is_subagent: bool = False
    is_program: bool = False
    """Whether `codex exec` began it; a person may go on with it."""


def read_head(meta: Line) -> Head:
    """Given the payload of a `session_meta`, return what it says."""
    source, thread = meta.get("source"), meta.get("thread_source")
    is_subagent = isinstance(source, dict) or thread == "subagent" or bool(meta.get("parent_thread_id"))
    return Head(_text(meta.get("id")), _text(meta.get("cli_version")), is_subagent, source == "exec")


def judge_message(
    event: Line, head: Head, trigger: str | None, own: OwnCalls, cwd: str
) -> PromptVerdict | None:
    """Given the payload of an `event_msg`, return whose words it has; None if it is no message of a user.

    `trigger`: what began the turn, as far as the client says it; `exec` for a program.
    """
    found = _find_text(event)
    if found is None:
        return None
    text, unknown = found
    if head.is_subagent:
        return PromptVerdict(SUBAGENT, (), "of a sub-agent")
    if own.is_own_record(head.id, cwd) or (own.sentinel and text.startswith(own.sentinel)):
        return PromptVerdict(PROGRAM, (), "tacitd's own call")
    if unknown:
        return PromptVerdict(UNKNOWN, (), unknown)
    if trigger == "exec" or (head.is_program and trigger is None):
        return PromptVerdict(PROGRAM, (), "a program's turn (codex exec)")
    if trigger not in (None, "user"):
        return PromptVerdict(UNKNOWN, (), f"unknown turn_trigger: {trigger[:60]}")
    if text.lstrip().startswith(_INIT):
        return PromptVerdict(CLIENT, (), "the text of /init")
    if _CLIENT_TEXT.match(text):
        return PromptVerdict(CLIENT, (), "the client's own text")
    if event.get("type") == "item_completed" and not event["item"].get("client_id"):
        return PromptVerdict(PROGRAM, (), "not typed at the terminal: it has no client_id")
    words = text.rpartition(_REQUEST)[2].strip()
    if not words:
        return PromptVerdict(CLIENT, (), "no words")
    return PromptVerdict(TYPED, (PersonWords("typed", words),), "typed")


def _find_text(event: Line) -> tuple[str, str] | None:
    """The text of a user's message, and what in it is not known; None for any other event."""
    match event:
        case {"type": "user_message", "message": str(text)}:
            kind = event.get("kind", "plain")
            return text, "" if kind == "plain" else f"unknown kind of user_message: {str(kind)[:60]}"
        case {"type": "item_completed", "item": {"type": "UserMessage", "content": list(blocks)}}:
            texts = [block.get("text") for block in blocks if isinstance(block, dict)]
            said = [text for text in texts if isinstance(text, str)]
            odd = "" if said or not blocks else "unknown content of a UserMessage"
            return "\n".join(said), odd
        case {"type": "user_message"} | {"type": "item_completed", "item": {"type": "UserMessage"}}:
            return "", "unknown form of a user's message"
        case _:
            return None


def read_speech(item: Line) -> str:
    """Given the payload of a `response_item`, return the assistant's text; "" for anything else."""
    match item:
        case {"type": "message", "role": "assistant", "content": list(blocks)}:
            texts = (block.get("text") for block in blocks if isinstance(block, dict))
            return "\n".join(text for text in texts if isinstance(text, str))
        case _:
            return ""


def is_plain_message(item: Line) -> bool:
    """Whether a `response_item` looks like words of a user that no event names: in an unknown version it may be a prompt."""
    match item:
        case {"type": "message", "role": "user", "content": [{"text": str(text)}, *_]}:
            return not _CLIENT_TEXT.match(text)
        case _:
            return False


def list_patched(item: Line, cwd: str) -> tuple[str, ...]:
    """Given the payload of a `response_item`, return the absolute paths of the files that its call patches."""
    if item.get("type") not in ("function_call", "custom_tool_call"):
        return ()
    called = "\n".join(_text(item.get(key)).replace("\\n", "\n") for key in ("input", "arguments"))
    paths = dict.fromkeys(found["path"].strip() for found in _PATCHED.finditer(called))
    return tuple(str(PurePosixPath(cwd or "/") / path) for path in paths)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
