"""The lines of a Codex rollout to records.

A rollout has no record of its session's end, and no queue: what is in it was said. A fork of 0.98 copies the whole talk of its
parent, stamped with the time of the fork, behind the parent's own first line; later versions copy nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tacitd.events import TEXT_LIMIT, Prompt, Record, ToolUse
from tacitd.sources import lines
from tacitd.sources.assembler import Assembler
from tacitd.sources.base import OwnCalls, PromptVerdict, Recognition
from tacitd.sources.codex import rollout_lines as rules

FORK_SECONDS = 2.0
"""The copies of a fork are stamped within this time of its first line."""


class RolloutReader(Assembler):
    """The assembler of one rollout. `head`: its first lines, if they are before `start`."""

    def __init__(
        self, path: Path, own: OwnCalls, start: int = 0, explain: bool = False, head: Iterable[bytes] = ()
    ) -> None:
        super().__init__(path, own, start, explain)
        self.session = path.stem[-36:]
        self._head = rules.Head()
        self._forked_at: float | None = None
        """The time of the fork that the beginning is a copy of."""
        self._trigger: str | None = None
        self._answers, self._is_recognised, self._is_known_turn, self._refusal = 0, False, False, ""
        for raw in head:
            with suppress(ValueError, RecursionError):
                line = self.decode_line(raw) or {}
                self._take_stamp(line)
                if line.get("type") == "session_meta" and isinstance(payload := line.get("payload"), dict):
                    self._take_meta(payload)

    @staticmethod
    def decode_line(raw: bytes) -> rules.Line | None:
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
        self._take_stamp(line)
        payload = line.get("payload")
        if not isinstance(payload, dict):
            self._refusal = self._refusal or "lines of an old client"
            self._answers += bool(rules.read_speech(line))
            return
        match line.get("type"):
            case "session_meta":
                self._take_meta(payload)
            case "turn_context":
                self._take_cwd(payload)
            case "event_msg":
                self._take_event(start, end, payload)
            case "response_item" if not self._head.is_subagent and not self._is_copied:
                self._take_item(start, end, payload)
            case "compacted":
                self.speech.clear()
            case _:
                pass

    def _take_stamp(self, line: rules.Line) -> None:
        if isinstance(stamp := line.get("timestamp"), str):
            self.stamp = stamp

    def _take_meta(self, payload: rules.Line) -> None:
        head = rules.read_head(payload)
        if self._head.id and head.id != self._head.id:
            self._forked_at = self.newest_time
            return
        self._head = head
        self.session = head.id or self.session
        self.is_headless = head.is_program if self._trigger is None else self._trigger == "exec"
        self._take_cwd(payload)

    def _take_cwd(self, payload: rules.Line) -> None:
        if isinstance(cwd := payload.get("cwd"), str):
            self.cwd = cwd

    @property
    def _is_copied(self) -> bool:
        """Whether the newest line is a copy of the parent's, in a fork."""
        at = self.newest_time if self._forked_at is not None else None
        return self._forked_at is not None and at is not None and at - self._forked_at < FORK_SECONDS

    def _take_event(self, start: int, end: int, event: rules.Line) -> None:
        if event.get("type") == "task_started":
            turn = event.get("turn_attribution")
            trigger = turn.get("turn_trigger") if isinstance(turn, dict) else None
            self._trigger = trigger if isinstance(trigger, str) else None
            self.is_headless = self._head.is_program if self._trigger is None else self._trigger == "exec"
            self._is_known_turn = False
            return
        verdict = rules.judge_message(event, self._head, self._trigger, self.own, self.cwd)
        if verdict is None:
            return
        if self._is_copied:
            verdict = PromptVerdict(rules.COPY, (), "a fork's copy of the talk of its parent")
        self._is_known_turn = verdict.rule != rules.UNKNOWN
        if verdict.rule == rules.UNKNOWN:
            self._is_recognised, self._refusal = False, verdict.reason
            self.count(verdict.reason, start)
        item = event.get("item")
        id = item.get("id") if isinstance(item, dict) else None
        uuid = id if isinstance(id, str) else ""
        prompts = self.make_prompts(verdict.words, uuid, self.newest_time, self.speech.get_context())
        if prompts:
            self._is_recognised, self._answers = True, 0
            self._add("user", start, end, prompts=prompts)
        self.explain(start, verdict, prompts)

    def _take_item(self, start: int, end: int, item: rules.Line) -> None:
        if rules.is_plain_message(item):
            self._is_known_turn = False  # until its event comes, at once
        text, tools = rules.read_speech(item), _make_tools(item, self.cwd)
        if text:
            self._answers += not self._is_known_turn
            self.speech.add(text, self.cwd, self.stamp)
        if text or tools:
            self._add("assistant", start, end, text=text[:TEXT_LIMIT], tools=tools)

    def _add(
        self,
        type: str,
        start: int,
        end: int,
        prompts: tuple[Prompt, ...] = (),
        text: str = "",
        tools: tuple[ToolUse, ...] = (),
    ) -> None:
        time = self.newest_time
        self.add_record(Record(start, end, type, "", self.session, time, self.cwd, prompts, text, tools))


def _make_tools(item: rules.Line, cwd: str) -> tuple[ToolUse, ...]:
    """A use for each file that a call patches, as if it were named in the call's input."""
    call, name = str(item.get("call_id") or ""), str(item.get("name") or "")
    return tuple(
        ToolUse(call, name, msgspec.json.encode({"file_path": path}))
        for path in rules.list_patched(item, cwd)
    )
