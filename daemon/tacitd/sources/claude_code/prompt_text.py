"""The part of a text that a person typed, without the envelopes, markers and boilerplate of Claude Code. Pure.

Functions from strings to strings belong here. Which record contains a text is decided in prompts.py.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily

CONTEXT_TAGS = ("<ide_opened_file>", "<ide_selection>", "<system-reminder>")
"""Rule 9: a block that begins with one of these is context that the client added; the next block is checked."""

MESSAGE_STARTS = (
    "<agent-message",
    "<teammate-message",
    "<cross-session-message",
    "<channel>",
    "<channel ",
    "<channel\n",
    "<channel-message",
    "<slack-",
    "Another Claude session sent a message",
    "A peer session sent a message",
)
"""Rule 7: a text that begins with one of these is a message of another session, an agent, a teammate or a channel."""

_MACHINE_STARTS = (
    "<bash-stdout>",
    "<bash-stderr>",
    "<local-command-",
    "<task-notification",
    "<agent-notification",
    *MESSAGE_STARTS,
    "<user-memory-input>",
    "[Request interrupted by user",
    "[Tool result missing",
    "[SYSTEM NOTIFICATION",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below",
    "Operation stopped by hook:",
    "Base directory for this skill:",
    "Launching skill:",
)
"""Rule 12: a program wrote a text that begins with one of these."""

_PROGRAM_TEXT = compile_lazily(
    # One element, whose name no person gives a whole message; a hook's output; the client's sentence before what it passes on.
    r"<(?!pasted_content)([a-z]+[-_][\w-]+|system|tick)\b[^>]*>(?:(?!</\1>).)*</\1>\s*\Z"
    r"|(?:[A-Z][a-z]+(?:[A-Z][a-z]+)+|Stop|Notification|Setup)(?::\S+)? hook"
    r" (?:feedback|success|additional context|response|(?:blocking )?error)(?: from command)?:"
    r"|(?:The|An?|Another) (?:[\w-]+ ){1,3}sent (?:a|the)(?: new| following)? message\b[^\n]{0,40}:"
    r"|A message arrived from [^\n]{0,80} while you were working:|A background \w+ completed\b[^\n]{0,40}:",
    re.S,
)

PLAN_START = "Implement the following plan:"
"""Rule 13: the model wrote such a plan and the person accepted it."""

_ARGS = compile_lazily(r"<command-args>(.*)</command-args>", re.S)
_NAME = compile_lazily(r"<command-name>([^<>]{1,200})</command-name>")
_PASTE = compile_lazily(r'<pasted_content id="([^"<>]{0,64})">')
_PRIVATE = compile_lazily(
    r"<private>.*?(?:</private>|\Z)"
    r"|<(system-reminder|(?:task|agent)-notification|(?:agent|teammate|cross-session)-message|channel|bash-std\w+|local-command-\w+)\b[^>]*>.*?</\1>",
    re.S | re.I,
)
"""What is in a text that a person keeps private, and what the client put into it."""
_PASTES = 1000

_REJECTED = compile_lazily(
    r"The user doesn't want to proceed with this tool use\.(?: The tool use was rejected \([^()\n]*\)\.)? {0,2}"
    r"(?:To tell you how to proceed, the user said:|The user provided the following reason for the rejection:)"
)
"""Rule 8a: what the client writes before a person's words into a rejected tool's result (the second: editor extensions)."""

_NOTE = "\n\nNote: The user's next message may contain a correction or preference."
"""Appended after the words by clients with auto memory."""

_NOT_SAID = (
    "The user wants to clarify these questions.",
    "The user has indicated they have provided enough answers for the plan interview.",
)
"""The client's own text for "Chat about this" and "Skip interview", written as if the person had said it."""


def is_program_text(text: str, more: tuple[str, ...] = ()) -> bool:
    """Whether a text begins as one that a program wrote, or with one of `more`."""
    text = text.lstrip()
    return text.startswith((*_MACHINE_STARTS, *more)) or _PROGRAM_TEXT.match(text) is not None


def own_words(text: str) -> tuple[str, int]:
    """Given a typed text, return it without marked pastes and `<private>` parts, and the pastes' length in characters.

    A paste without a closing tag is kept, because its end is unknown. A `<private>` without one extends to the end.
    """
    text, pasted = _without_pastes(text)
    return (_PRIVATE.sub("", text) if "<" in text else text).strip(), pasted


def _without_pastes(text: str) -> tuple[str, int]:
    kept: list[str] = []
    pasted = at = 0
    while (opened := _PASTE.search(text, at)) is not None and len(kept) < _PASTES:
        closing = rf'</pasted_content(?: id="{re.escape(opened[1])}")?>'
        closed = re.compile(closing).search(text, opened.end())
        if closed is None:
            break
        kept.append(text[at : opened.start()].strip("\n"))
        pasted += len(text[opened.end() : closed.start()].strip("\n"))
        at = closed.end()
    if not kept:
        return text, 0
    kept.append(text[at:].strip("\n"))
    return "\n".join(part for part in kept if part.strip()), pasted


def command_args(text: str) -> str | None:
    """Given a text, return the arguments if it is the envelope of a slash command, "" if that has none; otherwise None.

    Both orders occur: name, message, args, and message, name, args.
    """
    if not text.startswith(("<command-name>", "<command-message>")) or "<command-name>" not in text:
        return None
    found = _ARGS.search(text)
    return found[1].strip() if found else ""


def command_name(text: str) -> str:
    """Given the envelope of a slash command, return the command's name without its slash; "" if it has none."""
    found = _NAME.search(text)
    return found[1].strip().removeprefix("/") if found else ""


def bash_command(text: str) -> str | None:
    """Given a text, return the shell command if it is the envelope of one, otherwise None."""
    if not text.startswith("<bash-input>"):
        return None
    return text.removeprefix("<bash-input>").partition("</bash-input>")[0].strip()


def said_in_rejection(text: str) -> str:
    """Given the error text of a rejected tool, return the person's words in it; "" if there are none.

    A tool's own error, a file's name in it, or a transcript that it quotes does not begin as the client's text.
    """
    head = _REJECTED.match(text)
    words = text[head.end() :].partition(_NOTE)[0].strip() if head is not None else ""
    return "" if words.startswith(_NOT_SAID) else words
