"""The state of a session, folded from its transcript record by record. Pure.

Records may be delivered again (at least once; a rewritten file is read from its first byte), so folding a batch twice
makes no difference. A tool call waits for its answer, which may be in the next batch. What a call changes belongs to
`client_tasks`, what is written of it to `session_file`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tacitd.events import CONTEXT_LIMIT, Prompt, Record, ToolAnswer
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.continuity import client_tasks
from tacitd_handlers.continuity.session_progress import ToolCall, TranscriptProgress
from tacitd_handlers.continuity.text_end import (
    clean_lines,
    clean_prose,
    clean_text,
    split_sentences,
    take_end,
)

END = 600
"""Characters of the end of a text of the assistant, and of a compaction's summary."""
TYPED = 300
"""Characters of a prompt's first line."""
SHORT = 40
"""Characters. A shorter prompt (`yes`, `go on`) says little without the question before it."""
PROMPTS, FILES, IDS, OPEN = 2, 100, 200, 200
"""How many are kept: last prompts, edited files (the most edited ones), ids of prompts, calls without an answer."""
_CLIENT_END = compile_lazily(
    r"</summary>|^[ \t]*(?:If you need specific details from before compaction|The messages after this summary are the most recent"
    r"|(?:Please )?continue the conversation from where (?:it|we) left|Recent messages are preserved verbatim)",
    re.IGNORECASE | re.MULTILINE,
)
"""What the client writes below the model's summary at a compaction; in English, whatever the language of the summary."""
_BARE_COMMAND = compile_lazily(r"/[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*", re.IGNORECASE)
"""A slash command without arguments. A path has a second slash."""
_CONTROLS = frozenset((
    "add-dir", "agents", "allowed-tools", "branch", "bug", "clear", "compact", "config", "context", "continue",
    "copy", "cost", "doctor", "effort", "exit", "export", "extra-usage", "fast", "feedback", "help", "hooks", "ide",
    "install-github-app", "keybindings", "login", "logout", "mcp", "memory", "model", "new", "output-style",
    "permissions", "plugin", "privacy-settings", "quit", "reload-plugins", "remote-control", "rename", "resume",
    "rewind", "sandbox", "settings", "skills", "stats", "status", "statusline", "tasks", "terminal-setup", "theme",
    "todos", "tui", "undo", "upgrade", "usage", "vim",
))  # fmt: skip
"""Commands that only control the client. Those that ask the assistant for something (`/init`, `/review`) are not listed."""


def fold_records(
    before: TranscriptProgress,
    records: Sequence[Record],
    answers: Callable[[Sequence[ToolCall]], Mapping[str, ToolAnswer]],
) -> TranscriptProgress:
    """Return the state after more records.

    `answers` returns the answers to tool calls by call id. It is called once, and only if calls are open.
    """
    now, said = before, ""
    for record in records:
        now, said = _fold_record(now, record), record.text or said
    if said:  # cleaning is slow, so only the last text is cleaned
        now = replace(now, said=end_of_text(said))
    return _apply_answers(now, answers(now.open)) if now.open else now


def _fold_record(now: TranscriptProgress, record: Record) -> TranscriptProgress:
    at = record.time if record.time is not None else now.last
    # One change for what most records have: thousands of them are folded when a long session is caught up.
    known: dict[str, Any] = {"size": now.size + record.end - record.start}
    if at is not None:
        known["started"] = at if now.started is None else min(now.started, at)
        known["last"] = at if now.last is None else max(now.last, at)
    if record.cwd and (record.prompts or record.plan or not now.cwd):
        known["cwd"] = record.cwd
    if record.branch and record.branch != "HEAD":  # a detached head has no name
        known["branch"] = clean_text(record.branch, 100)
    if record.text:
        known |= {"turns": now.turns + 1, "answered": True}
    if record.summary:
        known |= {"summary": end_of_compaction(record.summary), "compacted": True}
    now = replace(now, **known)
    if record.plan:
        now = _add_prompt(now, record.uuid, _name_plan(record.plan))
    for prompt in record.prompts:
        if is_client_command(prompt, record.command):
            continue
        line, is_command = first_line(prompt, record.command), prompt.kind in ("command", "bash")
        is_reply = prompt.kind == "answers" or (len(line) < SHORT and not is_command)
        now = _add_prompt(now, prompt.id, line, _last_question(prompt) if is_reply else "")
    for use in record.tools:
        call = client_tasks.call_of(use.id, use.name, use.input, at or 0.0, record.start)
        if call is not None and all(call.id != other.id for other in now.open):
            items = client_tasks.start_call(now.items, call)
            now = replace(now, items=items, open=(*now.open, call)[-OPEN:])
    return now


def _add_prompt(now: TranscriptProgress, id: str, line: str, replied: str = "") -> TranscriptProgress:
    if id in now.ids:
        return now
    return replace(
        now,
        prompts=now.prompts + 1,
        ids=(*now.ids, id)[-IDS:],
        typed=(*now.typed, line)[-PROMPTS:] if line else now.typed,
        replied=replied,
        answered=False,
    )


def _apply_answers(now: TranscriptProgress, results: Mapping[str, ToolAnswer]) -> TranscriptProgress:
    """Apply the answers in the order of the calls."""
    items, waiting, edits = now.items, list[ToolCall](), dict(now.edits)
    for call in now.open:
        if call.id not in results:
            waiting.append(call)
            continue
        items = client_tasks.finish_call(items, call, results[call.id])
        if edited := client_tasks.edited_file(call, results[call.id]):
            path = clean_text(edited.removeprefix(f"{now.cwd}/") if now.cwd else edited, 200)
            edits[path] = edits.get(path, 0) + 1
    if len(edits) > FILES:
        edits = dict(sorted(edits.items(), key=lambda entry: -entry[1])[:FILES])
    return replace(now, items=items, open=tuple(waiting), edits=edits)


def end_session(now: TranscriptProgress) -> TranscriptProgress:
    """Return the state at the session's end: an unanswered TodoWrite counts, other open calls are dropped."""
    items = now.items
    for call in now.open:
        if call.name == "TodoWrite":
            items = client_tasks.replace_todos(items, call)
    return replace(now, items=items, open=())


def is_client_command(prompt: Prompt, command: str) -> bool:
    """Whether a prompt only controls the client (SPEC P-26). `command`: its slash command without the slash; "" if it is none.

    The client records `/compact keep it short` as a command with arguments, and a queued command as a prompt of its own.
    """
    if prompt.kind == "command":
        return command in _CONTROLS
    return _BARE_COMMAND.fullmatch(prompt.text.strip()) is not None


def first_line(prompt: Prompt, command: str = "") -> str:
    """Return the first line of a prompt. `command`: the slash command it belongs to."""
    text = next((line for line in prompt.text.splitlines() if line.strip()), "")
    mark = {"bash": "!", "command": f"/{command} " if command else ""}.get(prompt.kind, "")
    return clean_text(f"{mark}{text.strip()}", TYPED)


def _name_plan(plan: str) -> str:
    """The line for an accepted plan: its title."""
    lines = (clean_text(line.lstrip("# "), TYPED) for line in plan.splitlines() if line.strip())
    return f"(accepted a plan) {next(lines, '')}".rstrip()


def _last_question(prompt: Prompt) -> str:
    """The last question of the assistant's text before a prompt; "" if there is none that is whole."""
    sentences = split_sentences(clean_lines(prompt.context))
    if len(prompt.context) >= CONTEXT_LIMIT:
        sentences = sentences[1:]
    return next((one for one in reversed(sentences) if one.rstrip("\"'”’»)*_`").endswith(("?", "？"))), "")


def end_of_text(text: str) -> str:
    """Return what a text of the assistant ends with, in whole sentences and lines; code and tables are left out."""
    said = take_end(clean_prose(text), END)
    return said[:-1] + "." if said.endswith((":", "：")) else said  # what it announced is a tool's call


def end_of_compaction(text: str) -> str:
    """Return the end of the summary that the client wrote at a compaction: what is being done and the next step come last."""
    _, heading, below = text.partition("\nSummary:\n")  # the client's own words are above it
    summary = below if heading else text
    end = _CLIENT_END.search(summary)
    return end_of_text(summary[: end.start()] if end else summary)
