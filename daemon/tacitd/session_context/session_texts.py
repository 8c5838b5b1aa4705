"""Answers a client's hooks: the context of a session that starts, and advice about a call of a tool that failed. What each session got
is rows of `shown`, digests and no text, so that nothing is repeated to one that goes on.

A person waits for the answer, so it is made in the thread of the caller's connection and never calls the model. A failure
means that the session gets less.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from zlib import crc32

from loguru import logger

from tacitd.clock import Clock, local_date
from tacitd.errors import FileBusyError, TacitdError
from tacitd.files.git import find_project_root
from tacitd.files.stalls import Stalls
from tacitd.plugin import PluginSpec
from tacitd.session_context.context_request import ContextRequest, cut_text, name_occasion
from tacitd.session_context.plugin_view import (
    TAG,
    ask_each,
    collect_sections,
    fence_sections,
    give_advice,
    list_items,
)
from tacitd.sources.source import HookInput, Source
from tacitd.store import Store
from tacitd.text.wording import count_noun

ADVICE_BUDGET = 1_500
"""Characters about one failed call."""
ADVICE_LINES = 3
PATIENCE = 4.0
"""Seconds for which the files of a session's project are waited for."""
LONGEST_LOOK = 64 << 20
"""Bytes of a transcript in which an earlier context is looked for: some 50 ms."""


class SessionTexts:
    """Thread-safe."""

    def __init__(
        self,
        source: Source,
        plugins: Sequence[PluginSpec],
        store: Store,
        clock: Clock,
        environ: Mapping[str, str],
        call_soon: Callable[[Callable[[], object]], object],
        stalls: Stalls,
    ) -> None:
        """`call_soon` runs what a session's start does not wait for."""
        self._source = source
        self._plugins = plugins
        self._environ = environ
        self._store = store
        self._clock = clock
        self._call_soon = call_soon
        self._stalls = stalls

    def answer_hook(self, question: HookInput) -> str:
        """What the hook is to print; "" for nothing, also for a transcript that is not below this client's directory: what one
        account gets must not reach another."""
        real = os.path.realpath(question.transcript)
        if not any(real.startswith(f"{os.path.realpath(root)}/") for root in self._source.roots):
            return ""
        answer = self._advise if question.kind == "failure" else self._make_context
        try:  # otherwise sessions of a project whose disk hangs would take every connection
            return self._stalls.ask(question.cwd, partial(answer, question), PATIENCE)
        except FileBusyError as error:
            logger.warning("a session gets no context: {}", error)
            return ""

    def _make_context(self, question: HookInput) -> str:
        # Newer clients keep what hooks printed in the transcript and send it again when a session is resumed. Older ones (2.1.63) forget
        # it, and a hook whose time was over printed nothing: then the session gets all of it.
        occasion = "agent" if question.agent else name_occasion(question.source)
        request = ContextRequest(
            Path(question.cwd),
            session=question.session,
            occasion=occasion,
            agent=question.agent,
            store=self._store,
        )
        made = collect_sections(self._plugins, request)
        for what in made.troubles:
            logger.warning("a session's context is incomplete: {}", what)
        texts = made.texts
        # A fork has a session of its own, which got nothing yet.
        if occasion == "resume" and question.source != "fork" and is_in_transcript(question.transcript):
            texts = self._select_unseen(question.session, texts)
        if occasion == "start" and (line := self._ask_for_review(question)):
            texts = {**texts, "review": line}
        text = fence_sections(texts, made.request)
        if text and occasion != "agent":
            digests = {name: _digest(text) for name, text in texts.items()}
            self._call_soon(partial(self._note, question.session, digests))
        return text

    def _ask_for_review(self, question: HookInput) -> str:
        """How much waits for the person's decision, once a day in a project; "" for nothing."""
        root = find_project_root(Path(question.cwd))
        log_key, today = f"review of {root}", _ADVICE + local_date(self._clock.now())
        if today in self._read(log_key):
            return ""
        items = ask_each(
            self._plugins, lambda one: list_items(one, self._environ, root, self._store), logger.warning
        )
        count = sum(bool(item.review) for _, item in items)
        if count == 0:
            return ""
        self._call_soon(partial(self._note, log_key, {today: b""}))
        what = f"{count_noun(count, 'line')} waiting for the person's decision: `tacitd review` shows them."
        return f"{what} Mention it once, when it does not disturb."

    def _advise(self, question: HookInput) -> str:
        shown = self._read(question.session)
        request = ContextRequest(
            Path(question.cwd),
            session=question.session,
            occasion="failure",
            error=question.error,
            store=self._store,
        )
        found = ask_each(self._plugins, lambda one: give_advice(one, request), logger.warning)
        lines = {f"{_ADVICE}{one.name}:{key}": line for one, (key, line) in found}
        chosen = dict([(key, line) for key, line in lines.items() if key not in shown][:ADVICE_LINES])
        if not chosen:
            return ""
        self._note(question.session, dict.fromkeys(chosen, b""))
        text = cut_text("\n".join(["## This may help with the error", *chosen.values()]), ADVICE_BUDGET)
        return fence_sections({"": text}, request)

    def _select_unseen(self, session: str, texts: Mapping[str, str]) -> dict[str, str]:
        """The sections that a session did not get in this form."""
        known = self._read(session)
        return {name: text for name, text in texts.items() if known.get(name) != _digest(text)}

    def _read(self, session: str) -> dict[str, bytes]:
        """What a session got: digests by name. What cannot be read counts as not shown."""
        with suppress(TacitdError):
            return dict(self._store.rows("SELECT name, digest FROM shown WHERE session = ?", session))
        return {}

    def _note(self, session: str, digests: Mapping[str, bytes]) -> None:
        now = self._clock.now()
        try:
            with self._store.write() as tx:
                tx.execute("DELETE FROM shown WHERE at < ?", now - KEPT)
                tx.executemany(
                    "INSERT OR REPLACE INTO shown(session, name, digest, at) VALUES(?, ?, ?, ?)",
                    [(session, name, digest, now) for name, digest in digests.items()],
                )
        except TacitdError as error:  # on a full disk a text is repeated later
            logger.warning("what a session got is not noted: {}", error)


def is_in_transcript(transcript: Path) -> bool:
    """Whether an earlier context is in a transcript; False if it cannot be read. Only its first 64 MB are looked at."""
    mark, seen, tail = f"<{TAG}".encode(), 0, b""
    try:
        with transcript.open("rb") as file:
            while seen < LONGEST_LOOK and (part := file.read(1 << 20)):
                if mark in tail + part:
                    return True
                seen, tail = seen + len(part), part[-len(mark) :]
    except OSError:
        pass
    return False


KEPT = 30 * 86_400.0
"""Seconds for which it is remembered: the client deletes older transcripts."""
_ADVICE = "advice "
"""What the name of a row of advice begins with; its key follows."""


def _digest(text: str) -> bytes:
    return crc32(text.encode("utf-8", "replace")).to_bytes(4)
