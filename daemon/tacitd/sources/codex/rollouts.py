"""Codex CLI as a source of transcripts: its rollouts, which it only appends to.

`<home>/sessions/YYYY/MM/DD/rollout-<local time>-<session>.jsonl`; `codex archive` moves one to `<home>/archived_sessions/`. The name
does not say whether it is a sub-agent's or a program's: its first line does. No rollout says which process writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from tacitd.events import TEXT_LIMIT, Record, ToolUse
from tacitd.sources import lines
from tacitd.sources.assembler import Assembler
from tacitd.sources.lines import read_some
from tacitd.sources.source import OwnCalls, PersonWords, PromptVerdict, Recognition, Source

HEAD_BYTES = 256 << 10
"""Bytes of a rollout's beginning that are read for its first lines, which contain the client's own instructions."""


def find_home(environ: Mapping[str, str]) -> Path | None:
    """Codex's own directory: `CODEX_HOME`, otherwise `~/.codex`; None if the environment names no home."""
    chosen, home = environ.get("CODEX_HOME", ""), environ.get("HOME", "")
    if chosen.startswith("/"):
        return Path(chosen)
    return Path(home) / ".codex" if home.startswith("/") else None


class Codex(Source):
    """The client whose own directory is `~/.codex`."""

    name = "Codex"

    @property
    def roots(self) -> Sequence[Path]:
        """None if Codex was never used here. Both are made when they are needed."""
        return (self.home / "sessions", self.home / "archived_sessions") if self.home.is_dir() else ()

    def why_odd(self, path: str) -> str:
        is_rollout = path.rpartition("/")[2].startswith("rollout-") and path.endswith(".jsonl.zst")
        return "a compressed rollout, which is not read" if is_rollout else ""

    def is_transcript(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.startswith("rollout-") and name.endswith(".jsonl")

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> RolloutReader:
        reader = RolloutReader(path, self.own, start, explain)
        for raw in read_some(path, HEAD_BYTES).split(b"\n", 2)[:2] if start else ():
            with suppress(ValueError, RecursionError):
                reader.take_line(0, 0, reader.decode_line(raw) or {})
        return reader


# --- The lines of a Codex rollout to records.
#
# A rollout has no record of its session's end, and no queue: what is in it was said. A fork of 0.98 copies
# the whole talk of its parent, stamped with the time of the fork, behind the parent's own first line; later
# versions copy nothing.


FORK_SECONDS = 2.0
"""The copies of a fork are stamped within this time of its first line."""


class RolloutReader(Assembler):
    """The assembler of one rollout."""

    def __init__(self, path: Path, own: OwnCalls, start: int, explain: bool) -> None:
        super().__init__(path, own, start, explain)
        self.session = path.stem[-36:]
        self._head = Head()
        self._forked_at: float | None = None
        """The time of the fork that the beginning is a copy of."""
        self._trigger: str | None = None
        self._answers, self._is_recognised, self._is_known_turn, self._refusal = 0, False, False, ""

    @staticmethod
    def decode_line(raw: bytes) -> Line | None:
        value = msgspec.json.decode(lines.replace_surrogates(raw))
        return value if isinstance(value, dict) else None

    @staticmethod
    def is_record(span: bytes) -> bool:
        value = msgspec.json.decode(span)
        return isinstance(value, dict) and {"type", "payload"} <= value.keys()

    def may_have_words(self, head: bytes) -> bool:
        return b'"user_message"' in head or b'"UserMessage"' in head

    @property
    def recognition(self) -> Recognition:
        answers = 0 if self.is_headless or self._head.is_subagent else self._answers
        what = self._refusal or "no record of a prompt"
        return Recognition(self._is_recognised, answers, self._head.version, what)

    def take_line(self, start: int, end: int, line: Any) -> None:
        self.stamp = _text(line.get("timestamp")) or self.stamp
        payload = line.get("payload")
        if not isinstance(payload, dict):
            self._refusal = self._refusal or "lines of an old client"
            self._answers += bool(read_speech(line))
            return
        match line.get("type"):
            case "session_meta":
                self._take_meta(payload)
            case "turn_context":
                self.cwd = _text(payload.get("cwd")) or self.cwd
            case "event_msg":
                self._take_event(start, end, payload)
            case "response_item" if not self._head.is_subagent and not self._is_copied:
                self._take_item(start, end, payload)
            case "compacted":
                self.speech.clear()
            case _:
                pass

    def _take_meta(self, payload: Line) -> None:
        head = read_head(payload)
        if self._head.id and head.id != self._head.id:
            self._forked_at = self.newest_time
            return
        self._head = head
        self.session = head.id or self.session
        self.is_headless = head.is_program if self._trigger is None else self._trigger == "exec"
        self.cwd = _text(payload.get("cwd")) or self.cwd

    @property
    def _is_copied(self) -> bool:
        """Whether the newest line is a copy of the parent's, in a fork."""
        at = self.newest_time if self._forked_at is not None else None
        return self._forked_at is not None and at is not None and at - self._forked_at < FORK_SECONDS

    def _take_event(self, start: int, end: int, event: Line) -> None:
        if event.get("type") == "task_started":
            turn = event.get("turn_attribution")
            trigger = turn.get("turn_trigger") if isinstance(turn, dict) else None
            self._trigger = trigger if isinstance(trigger, str) else None
            self.is_headless = self._head.is_program if self._trigger is None else self._trigger == "exec"
            self._is_known_turn = False
            return
        verdict = judge_message(event, self._head, self._trigger, self.own, self.cwd)
        if verdict is None:
            return
        if self._is_copied:
            verdict = PromptVerdict(COPY, (), "a fork's copy of the talk of its parent")
        self._is_known_turn = verdict.rule != UNKNOWN
        if verdict.rule == UNKNOWN:
            self._is_recognised, self._refusal = False, verdict.reason
            self.count(verdict.reason, start)
        item = event.get("item")
        uuid = _text(item.get("id")) if isinstance(item, dict) else ""
        prompts = self.make_prompts(verdict.words, uuid, self.newest_time, self.speech.get_context())
        if prompts:
            self._is_recognised, self._answers = True, 0
            self._add("user", start, end, prompts=prompts)
        self.explain(start, verdict, prompts)

    def _take_item(self, start: int, end: int, item: Line) -> None:
        match item:
            # Words of a user that no event names may be a prompt of an unknown version. Its event comes at once.
            case {"type": "message", "role": "user", "content": [{"text": str(words)}, *_]}:
                self._is_known_turn = self._is_known_turn and _CLIENT_TEXT.match(words) is not None
            case _:
                pass
        text, tools = read_speech(item), list_patches(item, self.cwd)
        if text:
            self._answers += not self._is_known_turn
            self.speech.add(text, self.cwd, self.stamp)
        if text or tools:
            self._add("assistant", start, end, text=text[:TEXT_LIMIT], tools=tools)

    def _add(self, type: str, start: int, end: int, **what: Any) -> None:
        time = self.newest_time
        self.add_record(Record(start, end, type, "", self.session, time, self.cwd, **what))


# --- Whose words a line of a Codex rollout has. Pure.
#
# A person's prompt is an `event_msg`: `user_message` up to 0.146, `item_completed` with a `UserMessage`
# since 0.147. The `response_item` beside it has the same words, but so have those of AGENTS.md, of the
# environment and of summaries, so it is never read. A `UserMessage` that came through the terminal has a
# `client_id`; one of `codex exec` or of a sub-agent has none. A value that is not known here is refused and
# counted, as it may be a program's.


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
    """The assistant's text in the payload of a `response_item`; "" if it has none."""
    match item:
        case {"type": "message", "role": "assistant", "content": list(blocks)}:
            texts = (block.get("text") for block in blocks if isinstance(block, dict))
            return "\n".join(text for text in texts if isinstance(text, str))
        case _:
            return ""


def list_patches(item: Line, cwd: str) -> tuple[ToolUse, ...]:
    """Given the payload of a `response_item`, return a use for each file that its call patches, with the absolute path as its input."""
    if item.get("type") not in ("function_call", "custom_tool_call"):
        return ()
    called = "\n".join(_text(item.get(key)).replace("\\n", "\n") for key in ("input", "arguments"))
    paths = dict.fromkeys(found["path"].strip() for found in _PATCHED.finditer(called))
    inputs = [msgspec.json.encode({"file_path": str(PurePosixPath(cwd or "/") / path)}) for path in paths]
    return tuple(ToolUse(_text(item.get("call_id")), _text(item.get("name")), given) for given in inputs)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
