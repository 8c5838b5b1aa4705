"""The records of one transcript of Claude Code, in file order, turned into what plugins get.

What a record needs from its neighbours belongs here: its session and directory, the assistant's text before it, whether a
queued message was taken back, whether the same words came before. The verdict on a single record is in prompts.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.clock import parse_utc
from tacitd.events import TEXT_LIMIT, Record, ToolAnswer
from tacitd.sources.assembler import Assembler, SpokenContext
from tacitd.sources.claude_code.prompt_text import PLAN_START, command_name
from tacitd.sources.claude_code.prompts import (
    ATTACHING,
    ENTRYPOINTS,
    UNKNOWN_VALUE,
    PromptQueue,
    QueuedPrompt,
    is_headless,
    judge_line,
)
from tacitd.sources.claude_code.records import (
    KNOWN_TYPES,
    NOBODYS,
    SKIPPED,
    UNREAD,
    Attachment,
    LineMessage,
    ToolResult,
    TranscriptLine,
    decode_line,
    decode_raw,
    is_present,
    is_record,
    never_matters,
    parse_version,
    read_blocks,
    text_of,
)
from tacitd.sources.source import OwnCalls, PromptVerdict, Recognition

_CALLS = 100
"""How many tool calls are known, the newest. A result follows its call at once, or after those made with it."""

_TURN_RULES = frozenset({7, 10, 11, 13})
"""The rules that know what began a turn, also if nobody said a word in it."""

_DELIVERY_TELLS = PromptVerdict(4, (), "queued: the record of its delivery says who wrote it")
_DELIVERED = "delivered as a prompt of its own"
_GIVEN_OUT = "the same words were given out when they were queued"


class ClaudeAssembler(Assembler):
    """The assembler of one transcript of Claude Code."""

    def __init__(self, path: Path, own: OwnCalls, start: int = 0, explain: bool = False) -> None:
        super().__init__(path, own, start, explain)
        self.version = ""
        self.calls: dict[str, str] = {}
        """The tools that were called last, by the ids of the calls."""
        self.answers = 0
        """The assistant's texts in turns whose beginning was not recognised, since the last recognised prompt."""
        self._queue = PromptQueue()
        self._removed: dict[str, str] = {}
        """When the messages were typed that were removed from the queue and whose attachments were not read, by their ids."""
        self._entrypoint: str | None = None
        self._own_cwd = False
        self._told: object = None
        """What the newest line says of its session."""
        self._is_recognised = False
        self._is_known_turn = False
        self._refusal = (0, "")

    skipped = SKIPPED
    never_matters = staticmethod(never_matters)
    decode_line = staticmethod(decode_line)
    is_record = staticmethod(is_record)

    def may_have_words(self, head: bytes) -> bool:
        return not (head.startswith(SKIPPED) or NOBODYS.search(head))

    @property
    def pinned_offset(self) -> int | None:
        return self._queue.find_pin(self.start)

    @property
    def recognition(self) -> Recognition:
        """No answers count of a program's session, and of one whose beginning was not read if nothing in it was refused."""
        rule, reason = self._refusal
        is_read = self.start == 0 or rule == UNKNOWN_VALUE
        is_counted = is_read and not self.is_headless and not self._own_cwd
        what = f"rule {rule}: {reason}" if rule else "no record of a prompt"
        return Recognition(self._is_recognised, self.answers if is_counted else 0, self.version, what)

    def take_line(self, start: int, end: int, line: Any) -> None:
        kind = line.type
        if kind in UNREAD:
            return
        told = line.session_id, line.cwd, line.version, line.entrypoint, line.prompt_source, line.turn_origin
        if told != self._told:
            self._told = told
            self._take_context(line)
        if line.timestamp is not None:
            self.stamp = line.timestamp
        if line.is_sidechain or line.agent_id:
            is_queued = line.attachment is not None and line.attachment.type == "queued_command"
            if self.judged is not None and (kind == "user" or is_queued):
                self.explain(start, judge_line(line, self.own))
        elif kind == "assistant":
            self._assistant(start, end, line)
        elif kind == "user":
            self._user(start, end, line)
        elif kind == "attachment":
            if line.attachment is not None and line.attachment.type == "queued_command":
                self._attachment(start, end, line, line.attachment)
        elif kind == "queue-operation":
            self._queue_operation(start, end, line)
        elif kind not in KNOWN_TYPES:
            self._refusal = (2, f"unknown type: {(kind or '')[:60]}")
            self.count(f"unknown type: {kind[:60]}" if kind else "no type", start)

    def release_queued(self) -> None:
        gone, said = self._queue.release_all()
        for entry in gone:
            self._drop(entry, _DELIVERED)
        for entry in said:
            self._give_out(entry, "typed while the model worked, and left in the queue")

    def _take_context(self, line: TranscriptLine) -> None:
        if line.session_id is not None:
            self.session = line.session_id
        if line.cwd is not None and line.cwd != self.cwd:
            self.cwd = line.cwd
            self._own_cwd = self.own.is_own_record("", line.cwd)
        if line.version is not None:
            self.version = line.version
        if line.entrypoint is not None and line.entrypoint != self._entrypoint:
            self._entrypoint, self.is_headless = line.entrypoint, False
        driven = is_headless(line)
        if driven is not None:
            self.is_headless = driven

    def _note_verdict(self, start: int, line: TranscriptLine, verdict: PromptVerdict) -> None:
        """Count what was refused for an unknown value, and note whether the client's way of writing prompts is known."""
        if verdict.rule == UNKNOWN_VALUE:
            self.count(verdict.reason, start)
        if line.type != "queue-operation" and verdict.words:
            self._is_recognised, self._is_known_turn, self.answers = True, True, 0
        elif verdict.rule in _TURN_RULES:
            self._is_known_turn = True
        elif line.type == "user" and verdict.rule == UNKNOWN_VALUE:
            self._is_recognised, self._is_known_turn = False, False
            self._refusal = (verdict.rule, verdict.reason)
        elif line.type == "user" and verdict.rule != 8 and (verdict.rule == 14 or not self._refusal[0]):
            self._refusal = (verdict.rule, verdict.reason)

    def _assistant(self, start: int, end: int, line: TranscriptLine) -> None:
        message = line.message
        # The client writes API errors in the assistant's name.
        if (
            not isinstance(message, LineMessage)
            or line.is_api_error_message
            or message.model == "<synthetic>"
        ):
            return
        if self._own_cwd or self.session in self.own.sessions:
            return
        text, tools = read_blocks(message)
        for tool in tools:
            self.calls[tool.id] = tool.name
            if len(self.calls) > _CALLS:
                del self.calls[next(iter(self.calls))]
        if not (text or tools):
            return
        if text:
            self.answers += not self._is_known_turn
            self.speech.add(text, self.cwd, line.timestamp or "")
            text = text[:TEXT_LIMIT]
        uuid, time = line.uuid or "", parse_utc(line.timestamp)
        self.add_record(Record(start, end, "assistant", uuid, self.session, time, self.cwd, (), text, tools))

    def _user(self, start: int, end: int, line: TranscriptLine) -> None:
        verdict = judge_line(line, self.own, self.calls)
        self._note_verdict(start, line, verdict)
        given = False
        # A typed line delivers a queued message; the client's lines (rule 6) and tools' results (rule 8) do not.
        if verdict.rule not in (6, 8) and self._queue:
            for entry in self._queue.take_delivered(_raw_text(line)):
                given = given or entry.given_out
                self._drop(entry, _DELIVERED)
                if entry.text.strip() in _raw_text(line):
                    line.timestamp = entry.stamp or line.timestamp  # when it was typed
        if given and verdict.words:
            verdict = PromptVerdict(verdict.rule, (), _GIVEN_OUT)
        if line.is_compact_summary and verdict.rule == 6 and (summary := _raw_text(line)[-TEXT_LIMIT:]):
            self.add_record(self._record(start, end, line, summary=summary))
        elif verdict.rule == 13:
            plan = text_of(line.plan_content) or _raw_text(line).lstrip().removeprefix(PLAN_START)
            if plan:
                self.add_record(self._record(start, end, line, plan=plan[:TEXT_LIMIT]))
        elif verdict.rule == 8 and (answers := read_answers(line, self.calls)):
            self.add_record(self._record(start, end, line, answers=answers))
        self._judge(start, end, line, verdict, line.uuid or "")

    def _attachment(self, start: int, end: int, line: TranscriptLine, attachment: Attachment) -> None:
        # The same message has an `enqueue` record before (CLAUDE_CODE section 0 fact 16). It counts once.
        waited = self._queue.take_attached(text_of(attachment.prompt)) if self._queue else None
        if waited is not None:
            self._drop(waited, "delivered as an attachment")
        # The time of the prompt is when it was typed, which its delivery may not say.
        typed_at = waited.stamp if waited is not None else self._removed.pop(attachment.source_uuid or "", "")
        line.timestamp = typed_at or line.timestamp
        verdict = judge_line(line, self.own)
        self._note_verdict(start, line, verdict)
        if waited is not None and waited.given_out and verdict.words:
            verdict = PromptVerdict(verdict.rule, (), _GIVEN_OUT)
        self._judge(start, end, line, verdict, attachment.source_uuid or line.uuid or "")

    def _queue_operation(self, start: int, end: int, line: TranscriptLine) -> None:
        text = text_of(line.content)
        verdict = judge_line(line, self.own)
        self._note_verdict(start, line, verdict)
        if verdict.words and self.version and not self._tells_in_queue:
            verdict = _DELIVERY_TELLS
        if line.operation == "enqueue":
            entry = self._entry(start, end, line, text, verdict)
            # Not a prompt yet: the person may take it back, and most versions write its words again when it is delivered.
            for late in self._queue.enqueue(entry):
                self._give_out(late, "typed while the model worked")
            if not entry.verdict.words:
                self.explain(start, entry.verdict)
            return
        self.explain(start, verdict)
        if line.operation == "popAll":
            for taken in self._queue.pop_all(text):
                self._drop(taken, "taken back for editing")
        elif line.operation == "dequeue":
            named = self._queue.dequeue(text)
            if named is not None:
                self._drop(named, _DELIVERED)
        elif line.operation == "remove":
            self._remove_queued(start, end, line, text)

    def _remove_queued(self, start: int, end: int, line: TranscriptLine, text: str) -> None:
        entry = self._queue.remove_delivered(text)
        if is_present(line.reason) or not self._tells_in_queue:
            # Its attachment says who wrote it; a message that was refused has none.
            if entry is not None:
                self._drop(entry, "removed from the queue: its attachment says who wrote it")
                if len(self._removed) >= _CALLS:  # those that were refused have no attachment
                    self._removed.clear()
                self._removed[line.command_uuid or ""] = entry.stamp
            return
        if entry is None and text:
            # A dequeue without a text may have removed the wrong message from the queue. These words are the person's
            # and may be nowhere else, so they are taken from this record. `SeenPrompts` drops them if they are.
            typed = TranscriptLine(type="queue-operation", operation="enqueue", content=line.content)
            entry = self._entry(start, end, line, text, judge_line(typed, self.own))
        if entry is not None and not entry.given_out:
            entry.uuid = line.command_uuid or ""
            self._give_out(entry, "typed while the model worked, delivered in mid-turn")

    @property
    def _tells_in_queue(self) -> bool:
        """Whether this client's queue is all that may tell of a person's message."""
        return () < parse_version(self.version) < ATTACHING

    def _entry(
        self, start: int, end: int, line: TranscriptLine, text: str, verdict: PromptVerdict
    ) -> QueuedPrompt:
        session, cwd, stamp = line.session_id or self.session, line.cwd or self.cwd, line.timestamp or ""
        # Most messages in the queue are notifications of the client, and nobody's words.
        context = self.speech.get_context() if verdict.words else SpokenContext()
        return QueuedPrompt(start, end, text, verdict, session, cwd, stamp, context)

    def _give_out(self, entry: QueuedPrompt, reason: str) -> None:
        if entry.verdict.words and not self._tells_in_queue:
            entry.verdict, entry.given_out = _DELIVERY_TELLS, False
        if not entry.verdict.words:
            return
        line = TranscriptLine(
            type="queue-operation",
            session_id=entry.session,
            timestamp=entry.stamp,
            cwd=entry.cwd or self.cwd,
            uuid=entry.uuid,
        )
        verdict = replace(entry.verdict, reason=reason)
        if self._own_cwd or entry.session in self.own.sessions:
            verdict = PromptVerdict(3, (), "tacitd's own call")
        elif self.is_headless or self._entrypoint not in (None, *ENTRYPOINTS):
            verdict = PromptVerdict(3, (), "queued in a program's session")
        self._judge(entry.start, entry.end, line, verdict, entry.uuid, entry.context)

    def _drop(self, entry: QueuedPrompt, reason: str) -> None:
        if entry.verdict.words and not entry.given_out:
            self.explain(entry.start, PromptVerdict(4, (), reason))

    def _judge(
        self,
        start: int,
        end: int,
        line: TranscriptLine,
        verdict: PromptVerdict,
        uuid: str,
        context: SpokenContext | None = None,
    ) -> None:
        command = command_name(_raw_text(line)) if verdict.rule == 10 else ""
        if not verdict.words:
            if command:
                self.add_record(self._record(start, end, line, command=command))
            self.explain(start, verdict)
            return
        context = self.speech.get_context() if context is None else context
        time = parse_utc(line.timestamp)
        fresh = self.make_prompts(verdict.words, uuid, time, context, line.session_id or "", line.cwd or "")
        if fresh:
            self.add_record(self._record(start, end, line, prompts=fresh, command=command, time=time))
        else:
            verdict = PromptVerdict(verdict.rule, (), "the same words, or the same record, came before")
        self.explain(start, verdict, fresh)

    def _record(
        self, start: int, end: int, line: TranscriptLine, time: float | None = None, **what: Any
    ) -> Record:
        return Record(
            start=start,
            end=end,
            type=line.type or "",
            uuid=line.uuid or "",
            session=line.session_id or self.session,
            time=parse_utc(line.timestamp or self.stamp) if time is None else time,
            cwd=line.cwd or self.cwd,
            branch=line.git_branch or "",
            **what,
        )


def _raw_text(line: TranscriptLine) -> str:
    content = line.message.content if isinstance(line.message, LineMessage) else None
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if block.type == "text")


# --- The answers to calls of the client's own tools that keep tasks, start agents or edit files. Pure.
#
# They are on lines of their own, and name the call by its id only. What an answer means belongs to the
# plugins.


ANSWERED = frozenset({
    "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "Task", "Agent", "Edit", "MultiEdit", "Write", "NotebookEdit",
})  # fmt: skip
"""The tools whose answers are kept."""
_TEXT = 4096
"""Characters of an answer's text that are kept."""


def read_answers(line: TranscriptLine, calls: Mapping[str, str]) -> tuple[ToolAnswer, ...]:
    """`calls`: the names of the tools that were called before this line, by the ids of the calls."""
    blocks = line.message.content if isinstance(line.message, LineMessage) else None
    if isinstance(blocks, str) or not blocks:
        return ()
    made: list[ToolAnswer] = []
    for block in blocks:
        if block.type == "tool_result" and calls.get(block.tool_use_id) in ANSWERED:
            # With several blocks it is unknown which one `toolUseResult` is for.
            result, data = line.tool_use_result if len(blocks) == 1 else None, None
            if isinstance(result, ToolResult):
                named = {"task": result.task, "tasks": result.tasks, "success": result.success}
                data = {key: decode_raw(raw, Any) for key, raw in named.items() if memoryview(raw).nbytes}
            text = text_of(block.content)[:_TEXT]
            refused = block.is_error is True or text.startswith("<tool_use_error>")
            made.append(ToolAnswer(block.tool_use_id, refused, text, data))
    return tuple(made)
