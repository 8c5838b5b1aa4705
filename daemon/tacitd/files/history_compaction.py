"""Shortening the history log: which records, and which operations of a record, are still needed. Pure.

Always kept: transactions that are not done, and everything that this version cannot read. Of a finished transaction, its
key, time and cause are always kept, so it is never run twice, and so are its operations for 90 days. After that, only
operations that still count are kept:

- those that explain a line that tacitd added and did not remove (provenance, tombstones, undo);
- those that explain a line that another kept operation changed, so that each line's history is either kept or absent;
- each line that was put into an exclude file, and each file that was made once;
- the last operation in each directory and the last change of each Markdown file, so that their leftovers are found;
- the last order of the lines of each Markdown file, by which lines are recognised that a person moved.

Not kept: transactions that were given up, records of parts once all is done, and the text of a generated file once it
is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.files.history_fold import FoldedHistory
from tacitd.files.operations import (
    AppendLine,
    ArrangeLines,
    Effect,
    LineOperation,
    MakeFile,
    Operation,
    RewriteFile,
    WriteFile,
)
from tacitd.files.transaction_records import MEASURED, Transaction
from tacitd.files.undo import UNDONE
from tacitd.text.markdown import clean_line

LARGE = 256 << 10
"""Bytes: a shorter log is left alone."""
WORTHWHILE = 0.75
"""The log is only written anew if at most this share of it is left."""
KEEP_WHOLE = 90 * 86400.0
"""Seconds for which all operations of a finished transaction are kept."""

_Place = tuple[Path, str]
_Step = tuple[str, int]
"""One operation: the transaction's id and the operation's number in it."""


def compact_records(
    read: Callable[[], Iterable[Mapping[str, Any]]], now: float
) -> Iterator[Mapping[str, Any]]:
    """Yield the records that are kept, in their order. `read` is called twice; `now`: seconds since 1970, UTC."""
    folded = FoldedHistory(read())
    done = [each for each in folded.list_transactions(None) if each.state == "done"]
    needed = find_needed_operations(done, now)
    for record in read():
        id = str(record.get("id"))
        if id in needed:
            if record.get("state") != "part":
                yield _reduce_record(record, needed[id])
        elif id not in folded.dropped and record.get("state") != MEASURED:
            yield record


def find_needed_operations(done: Sequence[Transaction], now: float) -> dict[str, list[int]]:
    """Given the finished transactions in the order of finishing, return by id the numbers of the operations to keep.

    The age is measured from the newest transaction or from now, whichever is earlier, so a clock that is ahead makes no
    transaction old.
    """
    limit = min(now, max((each.at for each in done), default=now)) - KEEP_WHOLE
    steps = {
        (each.id, number): (operation, effect)
        for each in done
        for number, (operation, effect) in enumerate(zip(each.operations, each.effects, strict=True))
    }
    young = {each.id for each in done if each.at >= limit}
    explaining, ours = _explain_lines(steps, {each.id for each in done if UNDONE in each.cause})
    kept: set[_Step] = set()
    waiting = [step for step in steps if step[0] in young]
    waiting += _find_last_of_each(steps)
    waiting += [step for place in ours for step in explaining[place]]
    while waiting:
        step = waiting.pop()
        if step not in kept:
            kept.add(step)
            waiting += [other for place in _places(*steps[step]) for other in explaining[place]]
    needed: dict[str, list[int]] = {each.id: [] for each in done}
    for id, number in sorted(kept):
        needed[id].append(number)
    return needed


def _explain_lines(
    steps: Mapping[_Step, tuple[Operation, Effect]], undos: Collection[str]
) -> tuple[dict[_Place, list[_Step]], list[_Place]]:
    """The operations from which each line's history follows, and the lines that tacitd added and did not remove.

    The history of a line is its last addition for its own sake, and what removed and restored it since. `undos`: the ids of transactions that are undos.
    """
    explaining: dict[_Place, list[_Step]] = defaultdict(list)
    is_ours: dict[_Place, bool | None] = {}
    """As `fold_transaction` decides: True: tacitd added it. False: it is removed. None: it is removed, and a person's."""
    for step, (operation, effect) in steps.items():
        changed = operation.find_changed_lines(effect)
        if changed.taken is not None:
            place = (operation.path, clean_line(changed.taken))
            explaining[place].append(step)
            is_ours[place] = False if is_ours.get(place) else None
        if changed.put is not None:
            place = (operation.path, clean_line(changed.put))
            if step[0] not in undos:
                explaining[place] = []
            explaining[place].append(step)
            if step[0] in undos and is_ours.get(place, True) is None:
                del is_ours[place]
            else:
                is_ours[place] = True
    return explaining, [place for place, ours in is_ours.items() if ours]


def _places(operation: Operation, effect: Effect) -> list[_Place]:
    changed = operation.find_changed_lines(effect)
    return [(operation.path, clean_line(each)) for each in (changed.put, changed.taken) if each is not None]


def _find_last_of_each(steps: Mapping[_Step, tuple[Operation, Effect]]) -> Iterable[_Step]:
    """The last operation in each directory, on each Markdown file, and for each made file and each exclude line."""
    last: dict[tuple[object, ...], _Step] = {}
    for step, (operation, effect) in steps.items():
        last["directory", operation.path.parent] = step
        if isinstance(operation, ArrangeLines) and effect.did != "nothing":
            last["arranged", operation.path] = step
        match operation:
            case LineOperation() if effect.did != "nothing":
                last["lines", operation.path] = step
            case MakeFile():
                last["made", operation.path] = step
            case AppendLine(line=line) if effect.did == "appended":
                last["appended", operation.path, line] = step
            case _:
                pass
    return last.values()


def _reduce_record(record: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """The intent or done record of a finished transaction with only these operations."""
    reduced = dict(record)
    for name in ("ops", "did"):
        if isinstance(whole := record.get(name), list):
            reduced[name] = [_without_text(whole[number]) for number in numbers if number < len(whole)]
    return reduced


def _without_text(value: Any) -> Any:
    generated = isinstance(value, dict) and value.get("op") in (WriteFile.name, RewriteFile.name)
    return value | {"text": ""} if generated else value
