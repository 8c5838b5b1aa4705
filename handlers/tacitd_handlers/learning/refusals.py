"""The log of texts that a model proposed and tacitd did not store (SPEC S-24, S-67).

It is used for facts, lines, headings, profile values and lessons. `tacitd learned --refused` lists the texts, so that the
user can accept one by hand. The log is in the state directory, which no session loads. Its texts are redacted, and are
kept for 90 days. Which texts are refused is decided elsewhere.

A record is `{"at", "key", "project", "kind", "verdict", "text", "reason", "words"}`: `at` in seconds since 1970, UTC;
`verdict` is `refused` or `waits`; `words` are the beginnings of the messages.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tacitd.errors import LogDamagedError
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.handler import Degradation, Tools
from tacitd.logging_setup import logger
from tacitd.text.hashes import sha256
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.person_decisions import LineDecisions, make_item_id
from tacitd_handlers.shared.answer_screening import shorten_to_sentence
from tacitd_handlers.shared.equality import normalise_text

REFUSED_LOG = "refused.jsonl"
UNUSABLE = "learning.refusals"
"""Id of the degradation while the log cannot be read or written."""
KEEP = 90 * 86_400.0
"""Seconds for which a refusal is kept."""
_TEXT_LIMIT = 500
"""Characters that are kept of a refused text."""
_WORDS_LIMIT = 200
"""Characters that are kept of each message."""
_MESSAGES = 10
"""Number of messages that are kept with a refusal."""


class RefusedText(Struct, frozen=True):
    """One text of a model that was not stored."""

    kind: str
    """What it was proposed as: `fact`, `line`, `section`, `profile`, `lesson`."""
    text: str
    reason: str
    waits: bool = False
    """True: the user decides about it. False: it is refused."""


class _KeptRefusal(Struct, frozen=True):
    """What is kept in memory of a record."""

    at: float
    waits: bool
    id: str

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> _KeptRefusal:
        return cls(float(record["at"]), record.get("verdict") == "waits", make_refusal_id(record))


class RefusalLog:
    """The log of the learning handler. Thread-safe, because projects are handled in parallel."""

    def __init__(self, home: Path, disk: Disk | None = None) -> None:
        self._log = Log(home / REFUSED_LOG, disk)
        self._lock = threading.Lock()
        self._seen: dict[str, _KeptRefusal] = {}
        """The refusals that are kept, by their keys."""
        self._unwritten: list[dict[str, Any]] = []

    @property
    def path(self) -> Path:
        """The log's file."""
        return self._log.path

    def load(self) -> None:
        """Read the keys of the stored refusals, so that none is written twice. Raises OSError."""
        with self._lock:
            self._seen = {
                str(record["key"]): _KeptRefusal.from_record(record)
                for record in self._log.read()
                if "key" in record and isinstance(record.get("at"), int | float)
            }

    def add(
        self, refusals: Iterable[RefusedText], project: Path, cause: str, words: Sequence[str], at: float
    ) -> str:
        """Append refusals. Return why the log cannot be written, "" if it was.

        `cause` identifies the work that they come from: the same text of the same work is kept once. `words`: the messages
        that they come from. `at`: seconds since 1970, UTC. Records that could not be written are written with the next
        call.
        """
        beginnings = [shorten_message(text) for text in words[:_MESSAGES]]
        with self._lock:
            for one in refusals:
                text = shorten_to_sentence(redact_secrets(sanitize_line(one.text))[0], _TEXT_LIMIT)
                key = sha256(f"{project}\0{cause}\0{one.kind}\0{text}".encode(errors="replace")).hexdigest()[
                    :16
                ]
                if key in self._seen:
                    continue
                made: dict[str, Any] = {"at": int(at), "key": key, "project": str(project), "kind": one.kind}
                made["verdict"] = "waits" if one.waits else "refused"
                made |= {
                    "text": text,
                    "reason": redact_secrets(sanitize_line(one.reason))[0],
                    "words": beginnings,
                }
                self._seen[key] = _KeptRefusal.from_record(made)
                self._unwritten.append(made)
            return self._write()

    def prune(self, now: float) -> None:
        """Remove refusals that are older than KEEP. `now`: seconds since 1970, UTC. Raises OSError and LogDamagedError."""
        with self._lock:
            old = [key for key, one in self._seen.items() if one.at < now - KEEP]
            if not old:
                return
            self._log.compact(record for record in self._log.read() if _is_kept(record, now))
            for key in old:
                del self._seen[key]

    def count_verdicts(self, decisions: LineDecisions) -> Mapping[str, int]:
        """The number of texts that were refused, and of those that wait, without those that the user decided about.

        A text counts once, however often it was refused.
        """
        with self._lock:
            last = {one.id: one for one in sorted(self._seen.values(), key=lambda one: one.at)}
        open_ones = (one for one in last.values() if not decisions.is_settled(one.id, one.at))
        found = Counter("waits" if one.waits else "refused" for one in open_ones)
        return {"refused": found["refused"], "waits": found["waits"]}

    def _write(self) -> str:
        try:
            while self._unwritten:
                self._log.append(self._unwritten[0])
                del self._unwritten[0]
            self._log.flush()
        except (OSError, LogDamagedError) as error:
            logger.warning("{} cannot be written: {}", self._log.path, error)
            return getattr(error, "strerror", None) or str(error)
        return ""


def shorten_message(text: str) -> str:
    """The beginning of a message as it is kept with a refusal. Idempotent."""
    return shorten_to_sentence(redact_secrets(sanitize_line(text))[0], _WORDS_LIMIT)


def make_refusal_id(record: Mapping[str, Any]) -> str:
    """The id of a refused text: the same each time that it is refused in its project."""
    parts = (str(record.get(key, "")) for key in ("project", "kind"))
    return make_item_id("refused", *parts, normalise_text(str(record.get("text", ""))))


def keep_refusals(
    log: RefusalLog,
    refusals: Sequence[RefusedText],
    project: Path,
    cause: str,
    words: Sequence[str],
    tools: Tools,
) -> bool:
    """Append refusals, and degrade while the log cannot be written. Return whether all of them are in the log.

    If False, the caller may still store what was grounded in the same answer, unless the refused texts exist only in a file
    that it is about to delete.
    """
    if not refusals:
        return True
    why = log.add(refusals, project, cause, words, tools.clock.now())
    if why:
        hint = "make it a file that tacitd can write, or move it away; these texts are written with the next refused one"
        tools.degrade(Degradation(UNUSABLE, f"{log.path} cannot be written: {why}", hint))
    else:
        tools.clear(UNUSABLE)
    return not why


def read_refusals(home: Path, now: float, project: Path | None = None) -> list[dict[str, Any]]:
    """Return the records of the last 90 days, oldest first, of one project or of all (None). Raises OSError.

    `home` is the handler's directory; `now` is in seconds since 1970, UTC.
    """
    found = {
        str(record.get("key", "")): record for record in Log(home / REFUSED_LOG).read() if "key" in record
    }
    mine = (one for one in found.values() if project is None or one.get("project") == str(project))
    return [one for one in mine if _is_kept(one, now)]


def _is_kept(record: Mapping[str, Any], now: float) -> bool:
    at = record.get("at")
    return isinstance(at, int | float) and at >= now - KEEP
