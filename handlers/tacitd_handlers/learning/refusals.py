"""What a model proposed and tacitd did not store: one log for facts, lines, headings, profile values and lessons.

A refused text is not lost: a person finds it with `tacitd learned --refused` and may write it down by hand. The log is in
the state directory, which no session loads. It is redacted, and kept for 90 days.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.errors import LogDamagedError
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.handler import Degradation, Tools
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.answer_screening import shorten_line

REFUSED_LOG = "refused.jsonl"
UNUSABLE = "learning.refusals"
"""The degradation while the log cannot be read or written."""
KEEP = 90 * 86_400.0
"""Seconds for which a refusal is kept."""
_TEXT_LIMIT = 500
_WORDS_LIMIT = 200
"""Characters that are kept of each message."""
_MESSAGES = 10


@dataclass(frozen=True, slots=True)
class RefusedText:
    """One text of a model that was not stored."""

    kind: str
    """What it would have become: `fact`, `line`, `section`, `profile`, `lesson`."""
    text: str
    reason: str
    waits: bool = False
    """Whether a person is to decide; otherwise it is refused."""


class RefusalLog:
    """The log of one learning handler. Thread-safe: two projects are learned at once."""

    def __init__(self, home: Path, disk: Disk | None = None) -> None:
        self._log = Log(home / REFUSED_LOG, disk)
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, bool]] = {}
        """Of each refusal that is kept, by its key: when it was made, and whether it waits."""
        self._unwritten: list[dict[str, Any]] = []

    @property
    def path(self) -> Path:
        """Where the log is."""
        return self._log.path

    def load(self) -> None:
        """Read which refusals there are, so that none is written twice. Raises OSError."""
        with self._lock:
            self._seen = {
                str(record["key"]): (float(record["at"]), record.get("verdict") == "waits")
                for record in self._log.read()
                if "key" in record and isinstance(record.get("at"), int | float)
            }

    def add(
        self, refusals: Iterable[RefusedText], project: Path, cause: str, words: Sequence[str], at: float
    ) -> str:
        """Keep refusals. `cause` names the work that they come from: the same text of the same work is kept once.

        `words`: the messages they come from. `at`: seconds since 1970, UTC. Returns why the log cannot be written, ""
        where it can; what could not be written is written with the next refusal.
        """
        said = [
            shorten_line(redact_secrets(sanitize_line(text))[0], _WORDS_LIMIT) for text in words[:_MESSAGES]
        ]
        with self._lock:
            for one in refusals:
                text = shorten_line(redact_secrets(sanitize_line(one.text))[0], _TEXT_LIMIT)
                key = hashlib.sha256(
                    f"{project}\0{cause}\0{one.kind}\0{text}".encode(errors="replace")
                ).hexdigest()[:16]
                if key in self._seen:
                    continue
                self._seen[key] = (at, one.waits)
                made = {"at": int(at), "key": key, "project": str(project), "kind": one.kind}
                made["verdict"] = "waits" if one.waits else "refused"
                made |= {"text": text, "reason": redact_secrets(sanitize_line(one.reason))[0], "words": said}
                self._unwritten.append(made)
            return self._write()

    def prune(self, now: float) -> None:
        """Remove what is older than 90 days. Raises OSError and LogDamagedError."""
        with self._lock:
            old = [key for key, (at, _) in self._seen.items() if at < now - KEEP]
            if not old:
                return
            self._log.compact(record for record in self._log.read() if _is_kept(record, now))
            for key in old:
                del self._seen[key]

    def count_verdicts(self) -> Mapping[str, int]:
        """How many texts were refused, and how many wait for a person."""
        with self._lock:
            found = Counter("waits" if waits else "refused" for _, waits in self._seen.values())
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


def keep_refusals(
    log: RefusalLog,
    refusals: Sequence[RefusedText],
    project: Path,
    cause: str,
    words: Sequence[str],
    tools: Tools,
) -> bool:
    """Keep refusals, and degrade while the log cannot be written. Return whether all of them are in the log.

    What was grounded beside them can be stored all the same, unless the refused texts are kept nowhere but in a file that
    would be removed.
    """
    if not refusals:
        return True
    why = log.add(refusals, project, cause, words, tools.clock.now())
    if why:
        hint = (
            "make it a file that tacitd may write, or move it away; the next refused text brings these along"
        )
        tools.degrade(Degradation(UNUSABLE, f"{log.path} cannot be written: {why}", hint))
    else:
        tools.clear(UNUSABLE)
    return not why


def read_refusals(home: Path, now: float, project: Path | None = None) -> list[dict[str, Any]]:
    """Return the refusals of the last 90 days, oldest first, of one project or of all. Raises OSError."""
    found = {
        str(record.get("key", "")): record for record in Log(home / REFUSED_LOG).read() if "key" in record
    }
    mine = (one for one in found.values() if project is None or one.get("project") == str(project))
    return [one for one in mine if _is_kept(one, now)]


def _is_kept(record: Mapping[str, Any], now: float) -> bool:
    at = record.get("at")
    return isinstance(at, int | float) and at >= now - KEEP
