"""The bytes of a Codex rollout to records.

A rollout has no record of its session's end, and no queue: what is in it was said. A fork of 0.98 copies the whole talk of its
parent, stamped with the time of the fork, behind the parent's own first line; later versions copy nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tacitd.clock import parse_utc
from tacitd.events import CONTEXT_LIMIT, TEXT_LIMIT, Prompt, Record, ToolUse
from tacitd.sources import lines
from tacitd.sources.base import JudgedLine, OwnCalls, PromptVerdict, Recognition
from tacitd.sources.codex import rollout_lines as rules
from tacitd.sources.dedupe import SeenPrompts
from tacitd.sources.record_buffer import RecordBuffer

FORK_SECONDS = 2.0
"""The copies of a fork are stamped within this time of its first line."""
_UNKNOWN = 100
"""How many unknown values are counted by name."""


class _Said(Struct):
    """What the assistant said in the turn that the next prompt answers."""

    text: str = ""
    cwd: str = ""
    stamp: str = ""
    answered: bool = False

    def add(self, text: str, cwd: str, stamp: str) -> None:
        if self.answered or cwd != self.cwd:
            self.text, self.cwd, self.stamp, self.answered = "", cwd, stamp, False
        self.text = f"{self.text}\n{text}".strip()[-CONTEXT_LIMIT:]


class RolloutReader:
    """The assembler of one rollout; see `base.Assembler`. `head`: its first lines, if they are before `start`."""

    def __init__(self, path: Path, own: OwnCalls, start: int, *, explain: bool, head: bytes) -> None:
        self.start = start
        self.session = path.stem[-36:]
        self.cwd = ""
        self.counts: Counter[str] = Counter()
        self.buffer = RecordBuffer(start)
        self.judged: list[JudgedLine] | None = [] if explain else None
        self._own = own
        self._stamp = ""
        self._head = rules.Head()
        self._forked_at: float | None = None
        """The time of the fork that the beginning is a copy of."""
        self._trigger: str | None = None
        self._said = _Said()
        self._seen = SeenPrompts()
        self._answers, self._recognised, self._is_known_turn, self._refusal = 0, False, False, ""
        for line in _list_objects(head):
            self._take_stamp(line)
            self._take_meta(line)

    @property
    def newest_time(self) -> float | None:
        """See `Assembler`."""
        return parse_utc(self._stamp)

    @property
    def is_headless(self) -> bool:
        """Whether the last turn was a program's."""
        return self._head.is_program if self._trigger is None else self._trigger == "exec"

    @property
    def recognition(self) -> Recognition:
        """See `Assembler`."""
        answers = 0 if self.is_headless or self._head.is_subagent else self._answers
        what = self._refusal or "no record of a prompt"
        return Recognition(self._recognised, answers, self._head.version, what)

    @property
    def pinned_offset(self) -> int | None:
        """None: there is no queue."""
        return None

    def release_queued(self) -> None:
        """There is no queue."""

    def read_lines(self, first: int, data: bytes, cut: int) -> None:
        """See `Assembler`."""
        start = first
        for raw in BytesIO(data[:cut]):
            end = start + len(raw)
            self._read_line(start, end, raw)
            start = end

    def read_leading_records(self, first: int, data: bytes) -> int:
        """See `Assembler`."""
        spans = lines.leading_objects(data)
        for start, end in spans:
            self._read_line(first + start, first + end, data[start:end])
        return spans[-1][1] if spans else 0

    def _read_line(self, start: int, end: int, raw: bytes) -> None:
        found = list(_list_objects(raw))
        if not found and raw.strip(b"\0 \t\r\n"):
            self._count("damaged", start)
        for line in found[:1]:
            self._take_line(start, end, line)

    def _take_line(self, start: int, end: int, line: rules.Line) -> None:
        self._take_stamp(line)
        payload = line.get("payload")
        if not isinstance(payload, dict):
            self._refusal = self._refusal or "lines of an old client"
            self._answers += bool(rules.read_speech(line))
            return
        match line.get("type"):
            case "session_meta":
                self._take_meta(line)
            case "turn_context":
                self._take_cwd(payload)
            case "event_msg":
                self._take_event(start, end, payload)
            case "response_item" if not self._head.is_subagent and not self._is_copied:
                self._take_item(start, end, payload)
            case "compacted":
                self._said = _Said()
            case _:
                pass

    def _take_stamp(self, line: rules.Line) -> None:
        if isinstance(stamp := line.get("timestamp"), str):
            self._stamp = stamp

    def _take_meta(self, line: rules.Line) -> None:
        payload = line.get("payload")
        if line.get("type") != "session_meta" or not isinstance(payload, dict):
            return
        head = rules.read_head(payload)
        if self._head.id and head.id != self._head.id:
            self._forked_at = parse_utc(self._stamp)
            return
        self._head = head
        self.session = head.id or self.session
        self._take_cwd(payload)

    def _take_cwd(self, payload: rules.Line) -> None:
        if isinstance(cwd := payload.get("cwd"), str):
            self.cwd = cwd

    @property
    def _is_copied(self) -> bool:
        """Whether the newest line is a copy of the parent's, in a fork."""
        at = parse_utc(self._stamp)
        return self._forked_at is not None and at is not None and at - self._forked_at < FORK_SECONDS

    def _take_event(self, start: int, end: int, event: rules.Line) -> None:
        if event.get("type") == "task_started":
            turn = event.get("turn_attribution")
            trigger = turn.get("turn_trigger") if isinstance(turn, dict) else None
            self._trigger = trigger if isinstance(trigger, str) else None
            self._is_known_turn = False
            return
        verdict = rules.judge_message(event, self._head, self._trigger, self._own, self.cwd)
        if verdict is None:
            return
        if self._is_copied:
            verdict = PromptVerdict(rules.COPY, (), "a fork's copy of the talk of its parent")
        self._is_known_turn = verdict.rule != rules.UNKNOWN
        if verdict.rule == rules.UNKNOWN:
            self._recognised, self._refusal = False, verdict.reason
            self._count(verdict.reason, start)
        prompts = self._make_prompts(event, verdict)
        if prompts:
            self._recognised, self._answers, self._said.answered = True, 0, True
            self.buffer.add_record(self._record(start, end, "user", prompts=prompts))
        self._explain(start, event, verdict, prompts)

    def _make_prompts(self, event: rules.Line, verdict: PromptVerdict) -> tuple[Prompt, ...]:
        item = event.get("item")
        id = item.get("id") if isinstance(item, dict) else ""
        made = [
            Prompt(
                words.kind,
                words.text,
                self.session,
                id if isinstance(id, str) else "",
                parse_utc(self._stamp),
                self.cwd,
                self._said.text,
                context_cwd=self._said.cwd if self._said.cwd != self.cwd else "",
                context_time=parse_utc(self._said.stamp),
            )
            for words in verdict.words
        ]
        return tuple(one for one in made if self._seen.add_if_new(one))

    def _take_item(self, start: int, end: int, item: rules.Line) -> None:
        if rules.is_plain_message(item):
            self._is_known_turn = False  # until its event comes, at once
        text, tools = rules.read_speech(item), _make_tools(item, self.cwd)
        if text:
            self._answers += not self._is_known_turn
            self._said.add(text, self.cwd, self._stamp)
        if text or tools:
            self.buffer.add_record(self._record(start, end, "assistant", text=text[:TEXT_LIMIT], tools=tools))

    def _record(self, start: int, end: int, type: str, **what: Any) -> Record:
        return Record(
            start, end, type, session=self.session, time=parse_utc(self._stamp), cwd=self.cwd, **what
        )

    def _explain(
        self, start: int, event: rules.Line, verdict: PromptVerdict, prompts: tuple[Prompt, ...]
    ) -> None:
        if self.judged is not None:
            time = parse_utc(self._stamp)
            uuid = prompts[0].uuid if prompts else ""
            kind = str(event.get("type"))
            self.judged.append(JudgedLine(start, kind, uuid, self.session, time, self.cwd, verdict, prompts))

    def _count(self, what: str, start: int) -> None:
        if start >= self.start and (what in self.counts or len(self.counts) < _UNKNOWN):
            self.counts[what] += 1


def _list_objects(data: bytes) -> Iterator[Mapping[str, Any]]:
    """The objects of lines; what is none is left out."""
    for raw in data.splitlines():
        try:
            value = msgspec.json.decode(lines.replace_surrogates(raw))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _make_tools(item: rules.Line, cwd: str) -> tuple[ToolUse, ...]:
    """A use for each file that a call patches, as if it were named in the call's input."""
    call, name = str(item.get("call_id") or ""), str(item.get("name") or "")
    return tuple(
        ToolUse(call, name, msgspec.json.encode({"file_path": path}))
        for path in rules.list_patched(item, cwd)
    )
