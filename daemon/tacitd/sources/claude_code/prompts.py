"""What a person said in one record: the fourteen rules of CLAUDE_CODE section 6, and a fifteenth: a record with an unknown value
in a field that tells who wrote it is not a person's. The first match decides (S-05).

`judge_line` reads one record and nothing else: no file, no clock, no other records. What depends on later records (was a
queued message taken back?) is below; what depends on earlier ones (was it said before?) is in assembler.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw, Struct

from tacitd.events import PromptKind
from tacitd.sources.assembler import SpokenContext
from tacitd.sources.claude_code.prompt_text import (
    CONTEXT_TAGS,
    MESSAGE_STARTS,
    PLAN_START,
    bash_command,
    command_args,
    is_program_text,
    own_words,
    said_in_rejection,
)
from tacitd.sources.claude_code.records import (
    NONE,
    Attachment,
    Block,
    LineMessage,
    Origin,
    ToolResult,
    TranscriptLine,
    is_present,
    object_of,
    parse_version,
    text_of,
)
from tacitd.sources.source import OwnCalls, PersonWords, PromptVerdict


def _no_words(rule: int, reason: str) -> PromptVerdict:
    return PromptVerdict(rule, (), reason)


_SIDECHAIN = _no_words(1, "a sub-agent's record: its prompts are the main model's")
_OTHER_TYPE = _no_words(2, "a record type without a person's words, or with copies of them")
_OWN_CALL = _no_words(3, "tacitd's own call")
_TOOL_RESULT = _no_words(8, "a tool's result")
_NO_TEXT = _no_words(14, "no text in it")

UNKNOWN_VALUE = 15
"""The number of the rule that refuses a record for a value that the client is not known to write."""

_QUESTION_TOOL = "AskUserQuestion"
_FOREIGN_TOOL = "mcp__"
"""What the names of other programs' tools begin with."""
_NO_CALLS: Mapping[str, str] = {}

ENTRYPOINTS = frozenset({"cli", "claude-vscode", "claude-desktop"})
"""The clients that people use; those of programs begin with `sdk`."""
_PROGRAMS = (
    "task-notification channel peer coordinator observer observer-activity auto-continuation unclassified plugin slack-ping "
    "voice-call system scheduled task_notification auto_continuation host_synthetic suggestion_accepted"
)
_NOT_A_PERSON = frozenset(_PROGRAMS.split())
"""The origins, prompt sources and turn origins that are known not to be a person."""
_USER_TYPES = frozenset({"external", "human"})
# `sdk`: with the entrypoint of an editor it is only its transport.
_SOURCES = _NOT_A_PERSON | {"typed", "queued", "human", "sdk"}
_ORIGINS = _NOT_A_PERSON | {"human"}
_ROLES = frozenset({"user"})
_TELLING = (
    ("userType", _USER_TYPES),
    ("entrypoint", ENTRYPOINTS),
    ("promptSource", _SOURCES),
    ("turnOrigin", _SOURCES),
    ("origin", _ORIGINS),
    ("role", _ROLES),
    ("origin", _ORIGINS),
)
"""The values of the fields that tell who wrote a record, which the client is known to write."""
_seen_known = set[tuple[str | None, ...]]()
"""Known values that stood together: those of a line are mostly those of the one before."""
_USER_ROLE = Raw(b'"user"')
_FLAGS = (
    "isMeta",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "isVirtual",
    "text_not_typed",
    "handed_off",
    "wakeup_source",
    "scheduled_task_id",
    "queue_skip_attachments",
    "source_tool_use_id",
)
"""The fields that no text of a person has; those from the fifth on are of any type."""

_NO_FLAGS = (None,) * 4 + (NONE,) * 6

_PERSON_TYPES = frozenset({"user", "attachment", "queue-operation"})
_TYPED_BLOCKS = frozenset({"text", "image", "document"})
"""The blocks that a person's own message consists of. Any other is a tool's."""

ATTACHING = (2, 1, 110)
"""The first client that writes a queued message again when it is delivered, and says there who wrote it. Up to 2.1.42 the
words of a person may be nowhere but in the queue, or beside a tool's result."""
_NAMING = (2, 1, 328)
"""The first client that is known to name the origin of each message that a person queues in a terminal."""


def judge_line(line: TranscriptLine, own: OwnCalls, calls: Mapping[str, str] = _NO_CALLS) -> PromptVerdict:
    """Given a record, what identifies the daemon's own calls, and the names of the tools that were called before it, by the
    ids of the calls, return what the person said in it."""
    if line.is_sidechain or line.agent_id:
        return _SIDECHAIN
    if line.type not in _PERSON_TYPES:
        return _OTHER_TYPE
    if own.is_own_record(line.session_id or "", line.cwd or ""):
        return _OWN_CALL
    if is_headless(line):
        program = line.entrypoint or line.prompt_source or line.turn_origin
        return _no_words(3, f"a program's prompt ({program})")
    unknown = _unknown_value(line)
    if unknown:
        return _no_words(UNKNOWN_VALUE, unknown)
    if line.type == "attachment":
        return _attached(line, own)
    if line.type == "user":
        return _flagged(line) or _user(line, own, calls)
    if line.operation != "enqueue":
        return _no_words(4, f"the queue's bookkeeping: {line.operation}")
    return _flagged(line) or _mid_turn(4, text_of(line.content), own)


def is_headless(line: TranscriptLine) -> bool | None:
    """Whether a program wrote this session's prompts (rule 3); None if the record does not tell."""
    if line.entrypoint:
        return line.entrypoint.startswith("sdk")
    if line.prompt_source or line.turn_origin:
        return "sdk" in (line.prompt_source, line.turn_origin)
    return None


def _unknown_value(line: TranscriptLine) -> str:
    attachment = line.attachment
    unfit = line.unfit or (attachment.unfit if attachment is not None else "")
    if unfit:
        return f"unknown kind of value: {unfit}"
    told = (
        line.user_type,
        line.entrypoint,
        line.prompt_source,
        line.turn_origin,
        _origin(line),
        _role(line.message),
        _origin(attachment) if attachment is not None else None,
    )
    if told not in _seen_known:
        for value, (name, known) in zip(told, _TELLING, strict=True):
            if value is not None and value not in known:
                return f"unknown {name}: {value[:60]}"
        _seen_known.add(told)
    return ""


def _attached(line: TranscriptLine, own: OwnCalls) -> PromptVerdict:
    attachment = line.attachment
    if attachment is None or attachment.type != "queued_command":
        return _no_words(5, "an attachment that the client made")
    if (attachment.command_mode or "prompt") != "prompt":
        return _no_words(5, f"queued by the client: {attachment.command_mode}")
    if attachment.is_meta:
        return _no_words(5, "queued by the client: isMeta")
    if (kind := _origin(attachment)) in _NOT_A_PERSON:
        return _no_words(5, f"not from a person: {kind}")
    if kind is None and line.entrypoint == "cli" and parse_version(line.version) >= _NAMING:
        return _no_words(UNKNOWN_VALUE, "no origin")
    return _flagged(line) or _mid_turn(5, text_of(attachment.prompt), own)


def _mid_turn(rule: int, text: str, own: OwnCalls) -> PromptVerdict:
    if own.sentinel and text.startswith(own.sentinel):
        return _OWN_CALL
    if is_program_text(text, CONTEXT_TAGS):
        return _no_words(rule, "written by a program: a notification, or a message of another session")
    return _words(rule, "queued", text, "typed while the model worked")


def _flagged(line: TranscriptLine) -> PromptVerdict | None:
    flags = (
        line.is_meta,
        line.is_compact_summary,
        line.is_visible_in_transcript_only,
        line.is_virtual,
        line.text_not_typed,
        line.handed_off,
        line.wakeup_source,
        line.scheduled_task_id,
        line.queue_skip_attachments,
        line.source_tool_use_id,
    )
    for name, flag in zip(_FLAGS, flags, strict=True) if flags != _NO_FLAGS else ():
        if is_present(flag) if isinstance(flag, Raw) else flag:
            return _no_words(6, f"not typed: {name}")
    for kind in (_origin(line), line.prompt_source, line.turn_origin):
        if kind in _NOT_A_PERSON:
            return _no_words(7, f"not from a person: {kind}")
    return None


def _origin(holder: TranscriptLine | Attachment) -> str | None:
    """ "" for one without a name."""
    origin = holder.origin
    return (origin.kind or "") if isinstance(origin, Origin) else origin


def _role(message: LineMessage | str | None) -> str | None:
    """ "" for one that is not a text."""
    if not isinstance(message, LineMessage) or message.role is NONE:
        return None
    if message.role == _USER_ROLE:
        return "user"
    return text_of(message.role) if bytes(message.role).startswith(b'"') else ""


def _user(line: TranscriptLine, own: OwnCalls, calls: Mapping[str, str]) -> PromptVerdict:
    content = line.message.content if isinstance(line.message, LineMessage) else None
    blocks = [Block("text", content)] if isinstance(content, str) else content or []
    texts = [block.text for block in blocks if block.type == "text" and block.text]
    if [block for block in blocks if block.type not in _TYPED_BLOCKS]:
        return _beside_tools(blocks, texts, line, calls)
    return _typed(texts, line, own)


def _beside_tools(
    blocks: list[Block], texts: list[str], line: TranscriptLine, calls: Mapping[str, str]
) -> PromptVerdict:
    """Rule 8. One record may contain words of all three kinds. The result of another program's tool is that program's text."""
    words: list[PersonWords] = []
    tools: list[str] = []
    for block in blocks:
        if block.type == "tool_result":
            tool = calls.get(block.tool_use_id, "")
            tools.append(tool)
            if block.is_error and tool and not tool.casefold().startswith(_FOREIGN_TOOL):
                words += _words(8, "reject-words", said_in_rejection(text_of(block.content)), "").words
    if tools and tools.count(_QUESTION_TOOL) == len(tools):
        words += _answers(line)
    for text in texts if texts and tools and parse_version(line.version) < ATTACHING else ():
        if not is_program_text(text, CONTEXT_TAGS):
            words += _words(8, "steer", text, "").words
    return (
        PromptVerdict(8, tuple(words), "a person's words beside a tool's result") if words else _TOOL_RESULT
    )


def _answers(line: TranscriptLine) -> list[PersonWords]:
    result = line.tool_use_result
    if not isinstance(result, ToolResult) or not is_present(result.answers):
        return []
    notes = object_of(result.annotations)
    words: list[PersonWords] = []
    for question, answer in object_of(result.answers).items():
        chosen = answer if isinstance(answer, list) else [answer]
        noted = notes.get(question)
        note = noted.get("notes") if isinstance(noted, dict) else None
        said = ", ".join(part for part in chosen if isinstance(part, str)), note
        text, pasted = own_words("\n".join(part for part in said if isinstance(part, str) and part))
        if text:
            words.append(PersonWords("answers", text, pasted, question))
    return words


def _typed(texts: list[str], line: TranscriptLine, own: OwnCalls) -> PromptVerdict:
    """Rules 9 to 14: the first block that is not context decides."""
    texts = [text for text in texts if text and not text.isspace()]
    if own.sentinel and [text for text in texts if text.startswith(own.sentinel)]:
        return _OWN_CALL
    said = [text for text in texts if not text.lstrip().startswith(CONTEXT_TAGS)]
    if not said:
        return _no_words(9, "context that the client added") if texts else _NO_TEXT
    first = said[0].lstrip()
    if first.startswith(("<", "[")):
        args, shell = command_args(first), bash_command(first)
        if args is not None:
            return _words(10, "command", args, "the arguments of a command", "a command without arguments")
        if shell is not None:
            return _words(11, "bash", shell, "a shell command")
    if first.startswith(MESSAGE_STARTS):
        return _no_words(7, "not from a person: a message of another session")
    if is_program_text(first):
        return _no_words(12, f"written by the client: {first[:40].splitlines()[0]}")
    if first.startswith(PLAN_START) or is_present(line.plan_content):
        return _no_words(13, "a plan that the model wrote and the person accepted")
    if len(said) > 1:
        said = [text for text in said if not is_program_text(text)]
    return _words(14, "typed", "\n".join(said), "typed at the prompt")


def _words(
    rule: int, kind: PromptKind, text: str, reason: str, without: str = "no text in it"
) -> PromptVerdict:
    """The verdict on a person's text, after pastes and private parts are removed."""
    own, pasted = own_words(text)
    if own:
        return PromptVerdict(rule, (PersonWords(kind, own, pasted),), reason)
    if not text.strip():
        return _no_words(rule, without)
    return _no_words(rule, "only a marked paste" if pasted else "only a private part")


# --- Rule 4: the messages that were typed while the model worked.
#
# A state machine over the records of one transcript, in file order; no clock, no file. Claude Code writes
# `enqueue` with the words, and later exactly one of these: `remove` (delivered in the middle of the turn;
# up to 2.1.42 the words are nowhere else), `dequeue` (the same words follow as a user line), `popAll`
# (taken back for editing). Only `remove` and `popAll` contain the words, and not in every version. The
# queue is first in, first out except for priorities, and it contains task notifications too. So after a
# `dequeue`, the user line that follows decides which message it meant.


_MOST = 1000
"""How many messages may wait; beyond it the oldest count as said."""


class QueuedPrompt(Struct, eq=False):
    """A message in the queue: its line's offsets, the verdict when it was typed, and what was known then."""

    start: int
    end: int
    text: str
    verdict: PromptVerdict
    session: str
    cwd: str
    stamp: str
    context: SpokenContext
    uuid: str = ""
    given_out: bool = False
    """Whether its words became a prompt already (`release_all`)."""


class PromptQueue:
    """The waiting messages, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[QueuedPrompt] = []
        self._due = 0
        """How many dequeues wait for their user line; below 0, how many user lines came before their dequeue."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def find_pin(self, start: int) -> int | None:
        """The offset of the oldest message, from `start` on, that may still be taken back or delivered; None if there is none.

        A position must not pass it: after a restart the message would not be read again, although it was not decided.
        """
        for one in self._waiting:
            if one.start >= start and one.verdict.words and not one.given_out:
                return one.start
        return None

    def enqueue(self, entry: QueuedPrompt) -> list[QueuedPrompt]:
        """Add a typed message. Returns the oldest ones beyond the limit, which count as said."""
        self._waiting.append(entry)
        late, self._waiting = self._waiting[:-_MOST], self._waiting[-_MOST:]
        return late

    def remove_delivered(self, text: str) -> QueuedPrompt | None:
        """Remove a message that was delivered in the middle of the turn. Without text, the oldest. None if it is not there."""
        if text or not self._waiting:
            return self.take_attached(text)
        return self._waiting.pop(0)

    def pop_all(self, text: str) -> list[QueuedPrompt]:
        """Remove messages that were taken back for editing: the one with this text (one record for each), otherwise all."""
        named = self.take_attached(text) if text else None
        if named is not None:
            return [named]
        taken, self._waiting = self._waiting, []
        self._due = 0
        return taken

    def dequeue(self, text: str) -> QueuedPrompt | None:
        """A message will follow as a user line. Returns it if the record names it; otherwise the next user line decides."""
        named = self.take_attached(text) if text else None
        if named is None:
            self._due += 1
        return named

    def take_attached(self, text: str) -> QueuedPrompt | None:
        """An attachment with this text was written. Returns the waiting message with that text, if any."""
        text = text.strip()
        found = next((e for e in self._waiting if e.text.strip() == text), None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def take_delivered(self, text: str) -> list[QueuedPrompt]:
        """A user line with this text was written. Returns the messages that it delivered, which no longer wait."""
        same = self.take_attached(text)
        if same is not None:
            self._due = max(self._due - 1, -3)
            return [same]
        if self._due <= 0:
            return []
        # One user line may contain several dequeued messages. If it contains none of them, the queue's order decides.
        merged = [e for e in self._waiting if e.text.strip() and e.text.strip() in text][: self._due]
        taken = merged or self._waiting[:1]
        self._waiting = [e for e in self._waiting if e not in taken]
        self._due -= max(1, len(taken))
        return taken

    def release_all(self) -> tuple[list[QueuedPrompt], list[QueuedPrompt]]:
        """Nothing more is expected for now. Returns (those that were dequeued, those that count as said).

        The latter are kept, so that a user line that follows later is recognised as theirs.
        """
        due, self._due = max(self._due, 0), 0
        gone, self._waiting = self._waiting[:due], self._waiting[due:]
        said = [entry for entry in self._waiting if not entry.given_out]
        for entry in said:
            entry.given_out = True
        return gone, said
