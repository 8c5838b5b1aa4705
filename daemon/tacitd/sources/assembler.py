"""What turns the bytes of one transcript into records, whatever its client writes: lines, damaged lines, and the records kept.

A line that does not parse is searched for complete records. If the code for a record raises, only that record is lost: otherwise
the error would come again at each growth, and nothing after it would ever be read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import parse_utc
from tacitd.events import CONTEXT_LIMIT, TEXT_LIMIT, Prompt, Record
from tacitd.sources import lines
from tacitd.sources.source import JudgedLine, OwnCalls, PersonWords, PromptVerdict, Recognition
from tacitd.text.hashes import blake2b

_KINDS = 100
"""How many kinds of unknown lines are counted by name."""
_OVERHEAD = 400
"""Bytes that a kept record needs besides its text."""
_RECENT = 6
"""How many of the assistant's texts the context of a prompt is taken from."""
_START = attrgetter("start")


class SpokenContext(Struct, frozen=True):
    """The end of what the assistant wrote in one working directory, and the time of its first record; "" for what is not known."""

    text: str = ""
    cwd: str = ""
    stamp: str = ""


class RecentSpeech:
    """The end of the assistant's text in the turn that a prompt answers. Nothing here ever counts as a person's words."""

    def __init__(self) -> None:
        self._recent: deque[SpokenContext] = deque(maxlen=_RECENT)
        self.answered = False
        """Whether a person typed something since, so that the assistant's next text begins another turn."""

    def add(self, text: str, cwd: str, stamp: str) -> None:
        if self.answered:
            self.clear()
        self._recent.append(SpokenContext(text[-CONTEXT_LIMIT:], cwd, stamp))

    def clear(self) -> None:
        self._recent.clear()
        self.answered = False

    def get_context(self) -> SpokenContext:
        """The end of the assistant's text since the last prompt, or before it. What it wrote in another directory than its last
        message is left out: a person may have excluded one of the two."""
        found = SpokenContext()
        for said in reversed(self._recent):
            if found.text and said.cwd != found.cwd:
                break
            text = f"{said.text}\n{found.text}"[-CONTEXT_LIMIT:] if found.text else said.text
            found = SpokenContext(text, said.cwd, said.stamp)
            if len(text) >= CONTEXT_LIMIT:
                break
        return found


class Assembler:
    """The state after the records read so far. Used by one thread; opens no file. Each client overrides what comes first."""

    def __init__(self, path: Path, own: OwnCalls, start: int = 0, explain: bool = False) -> None:
        """`start`: the byte offset from which records are kept; what is read before it is context. `explain`: verdicts are wanted."""
        self.path = path
        self.own = own
        self.start = start
        # Each of the newest record that names one; the time as the client writes it.
        self.session = self.cwd = self.stamp = ""
        self.is_headless = False
        """Whether a program drives the session now."""
        self.counts: Counter[str] = Counter()
        """Lines from `start` on, by kind: `damaged`, `salvaged`, `long`, `failed`, `no object`, `unknown …`."""
        self.judged: list[JudgedLine] | None = [] if explain else None
        """The verdicts so far, which `explain` takes out; None if they are not wanted."""
        self.speech = RecentSpeech()
        self._seen = SeenPrompts()
        self._records: list[Record] = []

    skipped: tuple[bytes, ...] = ()
    """What lines begin with of which `never_matters` says whether they need no decoding."""

    @staticmethod
    def never_matters(raw: bytes) -> bool:
        return False

    @staticmethod
    def decode_line(raw: bytes) -> Any:
        """Return the line's record; None if it is JSON but none. Raises ValueError, RecursionError if it is not complete JSON."""
        raise NotImplementedError

    @staticmethod
    def is_record(span: bytes) -> bool:
        """Whether an object in a damaged line is a record, and no part of one."""
        raise NotImplementedError

    def take_line(self, start: int, end: int, line: Any) -> None:
        raise NotImplementedError

    def may_have_words(self, head: bytes) -> bool:
        """Whether a line that is too long to be read may have a person's words, by its first bytes."""
        return True

    def release_queued(self) -> None:
        """The session is over or idle: messages that are not decided yet count as typed, and everything is final."""

    @property
    def pinned_offset(self) -> int | None:
        """The offset of a message that is not decided yet, which no position may pass; None if there is none."""
        return None

    @property
    def recognition(self) -> Recognition:
        raise NotImplementedError

    @property
    def newest_time(self) -> float | None:
        return parse_utc(self.stamp)

    def read_lines(self, first: int, data: bytes, cut: int) -> int:
        """Read the complete lines in data[:cut], and return how many. `first`: the byte offset of `data[0]`."""
        decode, take, skipped, never_matters = self.decode_line, self._take, self.skipped, self.never_matters
        end, stop, count = first, first + cut, 0
        # A stream finds newlines with memchr; `bytes.split` compares byte by byte. The lines end with their newlines.
        for raw in BytesIO(data):
            start = end
            end += len(raw)
            if end > stop:
                break
            count += 1
            if raw.startswith(skipped) and never_matters(raw):
                continue
            try:
                line = decode(raw)
            except (ValueError, RecursionError):
                self._salvage(start, end, raw)
                continue
            if line is None:
                self.count("no object", start)
            else:
                take(start, end, line)
        return count

    def read_leading_records(self, first: int, data: bytes) -> int:
        """Read the complete records at the beginning of bytes without a newline; return their length in bytes."""
        spans = lines.leading_objects(data)
        for start, end in spans:
            self.read_lines(first + start, data[start:end], end - start)
        return spans[-1][1] if spans else 0

    def _take(self, start: int, end: int, line: Any) -> None:
        try:
            self.take_line(start, end, line)
        except Exception as error:  # noqa: BLE001
            from loguru import logger  # imported here, because fast commands read transcripts too

            what = type(error).__name__  # its message may contain words of the line
            logger.error("{}: the line at byte {} is skipped: {}", self.path.name, start, what)
            self.count("failed", start)

    def _salvage(self, start: int, end: int, raw: bytes) -> None:
        if not raw.strip(b"\0 \t\r\n"):
            return
        whole = lines.replace_surrogates(raw)
        line = self._decode_damaged(whole) if whole != raw else None
        if line is not None:
            self._take(start, end, line)
            return
        self.count("damaged", start)
        spans = lines.salvage_records(whole, self.is_record)
        for first, last in spans:
            line = self._decode_damaged(whole[first:last])
            if line is not None:
                self.count("salvaged", start)
                # Each has offsets of its own, because the first one may have been read before the second one was written.
                self._take(start + first, end if (first, last) == spans[-1] else start + last, line)

    def _decode_damaged(self, raw: bytes) -> Any:
        """The record in these bytes, with invalid UTF-8 replaced; None if there is none."""
        for tried in (raw, raw.decode("utf-8", "replace").encode()):
            try:
                return self.decode_line(tried)
            except (ValueError, RecursionError):
                pass
        return None

    def count(self, what: str, start: int) -> None:
        if start >= self.start:
            is_new = what not in self.counts and len(self.counts) >= _KINDS
            self.counts["unknown type: others" if is_new else what] += 1

    def make_prompts(
        self,
        words: Sequence[PersonWords],
        uuid: str,
        time: float | None,
        context: SpokenContext,
        session: str = "",
        cwd: str = "",
    ) -> tuple[Prompt, ...]:
        """Prompts of the words that a record has, without those that this transcript had before."""
        cwd, new = cwd or self.cwd, list[Prompt]()
        for number, one in enumerate(words):
            said = context if one.context is None else SpokenContext(one.context[:CONTEXT_LIMIT], cwd)
            prompt = Prompt(
                kind=one.kind,
                text=one.text,
                session=session or self.session,
                uuid=f"{uuid}#{number}" if uuid and number else uuid,
                time=time,
                cwd=cwd,
                context=said.text,
                pasted=one.pasted,
                context_cwd=said.cwd if said.cwd != cwd else "",
                context_time=parse_utc(said.stamp),
            )
            if self._seen.add_if_new(prompt):
                new.append(prompt)
                self.speech.answered = True
        return tuple(new)

    def explain(self, start: int, verdict: PromptVerdict, prompts: tuple[Prompt, ...] = ()) -> None:
        if self.judged is not None:
            self.judged.append(JudgedLine(start, verdict, prompts))

    def add_record(self, record: Record) -> None:
        """Keep a record with something in it, at its place. Two records of one damaged line at the same offset become one."""
        if record.start < self.start:
            return
        kept = self._records
        if not kept or kept[-1].start < record.start:  # nearly always
            kept.append(record)
            return
        at = bisect_left(kept, record.start, key=_START)
        if at < len(kept) and kept[at].start == record.start:
            kept[at] = _merge(kept[at], record)
        else:
            kept.insert(at, record)

    @property
    def held_bytes(self) -> int:
        """Roughly the memory that the kept records use, in bytes: little more than the size of their lines."""
        return sum(one.end - one.start + _OVERHEAD for one in self._records)

    def list_records(self, after: int, upto: int) -> tuple[Record, ...]:
        """The kept records with start >= after and end <= upto."""
        first = bisect_left(self._records, after, key=_START)
        last = bisect_left(self._records, upto, lo=first, key=_START)
        return tuple([one for one in self._records[first:last] if one.end <= upto])

    def forget_before(self, before: int) -> None:
        del self._records[: bisect_left(self._records, before, key=_START)]


def _merge(old: Record, new: Record) -> Record:
    return replace(
        old,
        prompts=old.prompts + new.prompts,
        text="\n".join(filter(None, (old.text, new.text)))[:TEXT_LIMIT],
        tools=old.tools + new.tools,
        summary=old.summary or new.summary,
        command=old.command or new.command,
        plan=old.plan or new.plan,
        branch=old.branch or new.branch,
        answers=old.answers + new.answers,
    )


# --- Which prompts were seen before, in this transcript or any other. No disk, no clock. `work/prompt_rows` has
# the same rule in SQL.
#
# Claude Code writes the same text more than once. A fork copies a whole session with the same uuids and a
# new session id. A message typed while the model worked is in the queue, in an attachment, and sometimes in
# a user line (CLAUDE_CODE section 0 facts 13 and 16, section 6). So a prompt counts as seen
#
# - if its id was seen, in any file;
# - otherwise, if its (session, normalised text) was seen within ten minutes and one of the two has no uuid or came through
#   the queue. Two typed lines with different uuids are two prompts, even if both are "yes".


WINDOW = 600.0
"""Seconds within which the same text in one session is the same prompt."""

REPEATS = {"bare": ("bare", "queue", "line"), "queue": ("bare", "line"), "line": ("bare", "queue")}
"""For each group, those that it can repeat. `bare`: without a uuid. `queue`: through the queue. `line`: a record of its own."""


def group_of(id: str, kind: str) -> str:
    """The group of a prompt with this id and kind."""
    return "bare" if id.startswith("~") else "queue" if kind == "queued" else "line"


def digest_text(text: str) -> bytes:
    """The 8 bytes by which a text is compared: NFKC, case folded, white space folded."""
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return blake2b(" ".join(folded.split()).encode(errors="replace"), digest_size=8).digest()


class SeenPrompts:
    """Keeps digests, never text."""

    def __init__(self) -> None:
        self._ids = set[str]()
        self._typed: dict[tuple[str, bytes], list[tuple[str, float | None]]] = {}
        """By session and text, the groups and times."""

    def add_if_new(self, prompt: Prompt) -> bool:
        """Whether this prompt is new; it is added then."""
        id, group = prompt.id, group_of(prompt.id, prompt.kind)
        if id in self._ids:
            return False
        same = self._typed.setdefault((prompt.session, digest_text(prompt.text)), [])
        at = prompt.time
        for other, time in same:
            if other in REPEATS[group] and (at is None or time is None or abs(time - at) <= WINDOW):
                return False
        self._ids.add(id)
        same.append((group, at))
        return True
