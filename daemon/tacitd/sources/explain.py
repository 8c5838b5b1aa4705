"""Why a line of a transcript was read as a person's words or not: `tacitd prompts --explain`.

It reads a whole file through the same `Tail` as the engine, so that its result is what the engine does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacitd.sources.base import JudgedLine, PromptVerdict, Source
from tacitd.sources.transcript import Tail

UNFINISHED = 0
"""The rule number for bytes that no rule can judge."""
_MOST = 10_000
"""How many verdicts may wait for one queued message before that message counts as said."""


def judge_transcript(path: Path, source: Source) -> Iterator[JudgedLine]:
    """Given a transcript, yield each line that might contain a person's words, with its verdict.

    In file order, after deduplication within the file, in bounded memory. At the end follow bytes that are not a complete
    record. Raises FileNotFoundError and FileRefusedError.
    """
    tail = Tail(path, 0, source, explain=True)
    more = True
    while more:
        more = tail.read_next_slice().more
        if len(tail.assembler.judged or ()) > _MOST:
            tail.release_queued()
        yield from _final(tail)
    left = tail.take_unterminated()
    tail.release_queued()
    yield from _final(tail)
    if left:
        reason = f"the last {left} bytes are not a complete record: still being written, or cut off"
        verdict = PromptVerdict(UNFINISHED, (), reason)
        yield JudgedLine(tail.read_end, "", "", tail.session, None, tail.cwd, verdict, ())


def _final(tail: Tail) -> list[JudgedLine]:
    judged = tail.assembler.judged or []
    final = sorted((one for one in judged if one.start < tail.safe_end), key=lambda one: one.start)
    tail.assembler.judged = [one for one in judged if one.start >= tail.safe_end]
    tail.forget_before(tail.safe_end)
    return final
