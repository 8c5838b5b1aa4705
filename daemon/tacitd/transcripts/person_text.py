"""What inside a text a person typed: the envelopes, markers and boilerplate of Claude Code taken off.

Pure functions from strings to strings. Which record a text stands in is `person`'s business.
"""

from __future__ import annotations

import re

CONTEXT_TAGS = ("<ide_opened_file>", "<ide_selection>", "<system-reminder>")
"""Rule 9: a block that begins so is context that the client added; the next block is looked at."""

MACHINE_STARTS = (
    "<bash-stdout>",
    "<bash-stderr>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<task-notification>",
    "<agent-notification>",
    "<teammate-message",
    "<user-memory-input>",
    "[Request interrupted by user",
    "[Tool result missing",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below",
    "Stop hook feedback:",
    "Operation stopped by hook:",
    "Base directory for this skill:",
)
"""Rule 12: a text that begins so was written by a program."""

NOTIFICATIONS = ("<task-notification", "<agent-notification")
"""Rules 4 and 5: not a message that a person queued."""

PLAN_START = "Implement the following plan:"
"""Rule 13: the model wrote it, the person accepted it."""

_ARGS = re.compile(r"<command-args>(.*)</command-args>", re.S)
_NAME = re.compile(r"<command-name>([^<>]{1,200})</command-name>")
_PASTE = re.compile(r'<pasted_content id="([^"<>]{0,64})">')
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.S | re.I)
_PASTES = 1000

_REJECTIONS = (
    "To tell you how to proceed, the user said:",
    "The user provided the following reason for the rejection:",
)
"""Rule 8a: what stands before a person's words in a rejected tool's result (the second: editor extensions)."""

_NOTE = "\n\nNote: The user's next message may contain a correction or preference."
"""Appended after the words by clients with auto memory."""

_NOT_SAID = (
    "The user wants to clarify these questions.",
    "The user has indicated they have provided enough answers for the plan interview.",
)
"""What the client says in a person's name when "Chat about this" or "Skip interview" was chosen."""


def own_words(text: str) -> tuple[str, int]:
    """Given a typed text, return it without marked pastes and `<private>` parts, and the pastes' length.

    A paste that is not closed stays: it cannot be told where it ends. A `<private>` that is not closed
    goes to the end of the text.
    """
    text, pasted = _without_pastes(text)
    return (_PRIVATE.sub("", text) if "<" in text else text).strip(), pasted


def _without_pastes(text: str) -> tuple[str, int]:
    if "<pasted_content" not in text:
        return text, 0
    kept: list[str] = []
    pasted = at = 0
    for _ in range(_PASTES):
        opened = _PASTE.search(text, at)
        if opened is None:
            break
        end, after = _close(text, opened)
        if end < 0:
            break
        kept.append(text[at : opened.start()].strip("\n"))
        pasted += len(text[opened.end() : end].strip("\n"))
        at = after
    if not kept:
        return text, 0
    kept.append(text[at:].strip("\n"))
    return "\n".join(part for part in kept if part.strip()), pasted


def _close(text: str, opened: re.Match[str]) -> tuple[int, int]:
    """Where the paste ends, and where the text goes on after its closing tag; (-1, -1) if it is not closed."""
    ends = (
        (text.find(tag, opened.end()), len(tag))
        for tag in (f'</pasted_content id="{opened[1]}">', "</pasted_content>")
    )
    end, length = min(((at, size) for at, size in ends if at >= 0), default=(-1, 0))
    return end, end + length


def command_args(text: str) -> str | None:
    """Given a text, return the arguments if it is the envelope of a slash command, None if it is none.

    Both orders occur: name, message, args, and message, name, args. "" where it has no arguments.
    """
    if not text.startswith(("<command-name>", "<command-message>")) or "<command-name>" not in text:
        return None
    found = _ARGS.search(text)
    return found[1].strip() if found else ""


def command_name(text: str) -> str:
    """Given the envelope of a slash command, return the command's name without its slash; "" where it has none."""
    found = _NAME.search(text)
    return found[1].strip().removeprefix("/") if found else ""


def bash_command(text: str) -> str | None:
    """Given a text, return the shell command if it is the envelope of one, None if it is none."""
    if not text.startswith("<bash-input>"):
        return None
    return text.removeprefix("<bash-input>").partition("</bash-input>")[0].strip()


def said_in_rejection(text: str) -> str:
    """Given the error text of a rejected tool, return what the person said with it; "" if nothing.

    The marker stands on the first line, after one fixed sentence: a tool's own error that quotes a transcript
    is no rejection.
    """
    for marker in _REJECTIONS:
        head, found, words = text.partition(marker)
        if found and "\n" not in head and len(head) < 1000:
            words = words.partition(_NOTE)[0].strip()
            return "" if words.startswith(_NOT_SAID) else words
    return ""
