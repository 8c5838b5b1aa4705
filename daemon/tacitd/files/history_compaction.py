"""Shortening the history log: which records stay in it, and in which form the others go into the archive. Pure.

In the log stay transactions that are not done, everything that this version cannot read, and those of the last 30 days. Of an
older one, only what still counts stays, with its cause:

- what explains a line that tacitd added and did not remove, or one that a recent transaction changed (provenance, tombstones,
  undo). An operation that replaced a line becomes one that adds it, if nothing is needed of the line before;
- each line that was put into an exclude file, and each file that was made once;
- the last operation in each directory and the last change of each Markdown file, so that their leftovers are found;
- the last order of the lines of each Markdown file, by which lines are recognised that a person moved.

All older ones are in the archive: whole for 400 days, for `tacitd history`, `show` and `undo`; then only with their key, time and
cause. A digest of each key stays in the log, so that nothing is done twice. Transactions that were given up, records of
parts once all is done, and the text of a generated file once it is written, are not kept.

The records of years do not fit into memory: they are read twice, and of most only a few numbers are kept meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from tacitd.clock import find_latest_time, parse_utc
from tacitd.files.operations import (
    AppendLine,
    Effect,
    LineOperation,
    MakeFile,
    Operation,
    PutLine,
    RewriteFile,
    SwapLine,
    TakeLine,
    WriteFile,
)
from tacitd.files.transaction_records import (
    MEASURED,
    PAST,
    UNDONE,
    Transaction,
    complete_transaction,
    digest_key,
    past_record,
    read_intent,
)
from tacitd.text.markdown import clean_line

LARGE = 256 << 10
"""Bytes: a shorter log is left alone."""
WORTHWHILE = 0.75
"""The log is written anew when what it had after the last time is at most this share of it."""
DAY = 86400.0
KEEP_RECENT = 30 * DAY
"""Seconds for which the log has a finished transaction as it is."""
KEEP_WHOLE = 400 * DAY
"""Seconds for which the archive has all operations of a finished transaction."""
DIGEST_CAUSE = frozenset({"by", "what", "sessions", "prompts", "lines", UNDONE})
"""What is kept of the cause after that: which plugin's which work, and where each line came from."""


class _Needs(Struct):
    """What is needed of one transaction: the numbers of its operations, and of which lines of theirs."""

    puts: set[int] = field(default_factory=set)
    takes: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)

    def list_numbers(self) -> list[int]:
        return sorted(self.puts | self.takes | self.whole)


class HistorySurvey:
    """One reading of the records: which transactions are done, and what is needed of each."""

    def __init__(self, records: Iterable[Mapping[str, Any]], now: float) -> None:
        """`now`: seconds since 1970, UTC. The age counts as `find_latest_time` says, so a clock that is ahead makes no
        transaction old."""
        self.done: dict[str, float] = {}
        """By id: when it began."""
        self.keys: dict[str, bytes] = {}
        """By id of a finished one: the digest of its key."""
        self.dropped: set[str] = set()
        self.past = bytearray()
        """Digests of the keys of transactions that are in the archive only."""
        self._open: dict[str, Transaction] = {}
        self._unreadable: set[str] = set()
        self._explaining: dict[int, list[tuple[str, int, bool]]] = defaultdict(list)
        """By line (a hash of file and text): the operations from which its history follows, and whether they put it. The
        history of a line is its last addition for its own sake, and what removed and restored it since."""
        self._ours: dict[int, bool | None] = {}
        """As `fold_transaction` decides: True: tacitd added it. False: it is removed. None: it is removed, and a person's."""
        self._touched: dict[int, float] = {}
        """By line: when the newest transaction that changed it began."""
        self._last: dict[tuple[object, ...], tuple[str, int, list[int]]] = {}
        """The last operations that count for themselves, with the lines that they changed."""
        for record in records:
            self._add_record(record)
        self.dropped |= {id for id, each in self._open.items() if digest_key(each.key) in self.keys.values()}
        self.now = find_latest_time(now, self.done.values())
        self.limit = self.now - KEEP_RECENT
        self.needs = self._find_needs()

    def is_recent(self, id: str) -> bool:
        """Whether the log has all of a finished transaction."""
        return self.done[id] >= self.limit

    def _add_record(self, record: Mapping[str, Any]) -> None:
        id, state = str(record.get("id")), record.get("state")
        if state == "intent":
            intent = read_intent(record)
            if isinstance(intent, Transaction):
                self._open[id] = intent
        elif state == "done" and id in self._open:
            self._complete(complete_transaction(self._open.pop(id), record))
        elif state == "dropped":
            self.dropped.add(id)
            self._open.pop(id, None)
        elif state == PAST:
            self.past += bytes.fromhex(str(record.get("keys", "")))
        elif state not in ("part", MEASURED):
            self._open.pop(id, None)

    def _complete(self, done: Transaction) -> None:
        self.done[done.id], self.keys[done.id] = done.at, digest_key(done.key)
        for number, (operation, effect) in enumerate(zip(done.operations, done.effects, strict=True)):
            self._explain(done.id, number, operation, effect, is_undo=UNDONE in done.cause)
            places = _list_places(operation, effect)
            self._touched |= {place: max(done.at, self._touched.get(place, done.at)) for place in places}
            self._note_last((done.id, number, places), operation, effect)

    def _explain(self, id: str, number: int, operation: Operation, effect: Effect, *, is_undo: bool) -> None:
        changed, path = operation.find_changed_lines(effect), operation.path
        if changed.taken is not None:
            place = hash((path, clean_line(changed.taken)))
            self._explaining[place].append((id, number, False))
            self._ours[place] = False if self._ours.get(place) else None
        if changed.put is not None:
            place = hash((path, clean_line(changed.put)))
            if not is_undo:
                self._explaining[place] = []
            self._explaining[place].append((id, number, True))
            if is_undo and self._ours.get(place, True) is None:
                del self._ours[place]
            else:
                self._ours[place] = True

    def _note_last(self, step: tuple[str, int, list[int]], operation: Operation, effect: Effect) -> None:
        """The last operation in each directory, on each Markdown file, and for each made file and each exclude line."""
        self._last["directory", operation.path.parent] = step
        match operation:
            case LineOperation() if effect.did != "nothing":
                self._last["lines", operation.path] = step
            case MakeFile():
                self._last["made", operation.path] = step
            case AppendLine(line=line) if effect.did == "appended":
                self._last["appended", operation.path, line] = step
            case _:
                pass

    def _find_needs(self) -> dict[str, _Needs]:
        needs = defaultdict[str, _Needs](_Needs)
        # Otherwise a line that such an operation changed would count as a person's.
        wanted = {place for _, _, places in self._last.values() for place in places}
        for place, steps in self._explaining.items():
            if place in wanted or self._ours.get(place) or self._touched[place] >= self.limit:
                for id, number, is_put in steps:
                    (needs[id].puts if is_put else needs[id].takes).add(number)
        for id, number, _ in self._last.values():
            needs[id].whole.add(number)
        return dict(needs)


def _list_places(operation: Operation, effect: Effect) -> list[int]:
    """The lines that an operation changed, each as a hash of file and text."""
    changed = operation.find_changed_lines(effect)
    return [
        hash((operation.path, clean_line(each))) for each in (changed.put, changed.taken) if each is not None
    ]


def compact_records(
    records: Iterable[Mapping[str, Any]], survey: HistorySurvey, archive: Callable[[Mapping[str, Any]], None]
) -> Iterator[Mapping[str, Any]]:
    """Yield the records that stay in the log, in their order. `archive` gets those of the archive as they come up.

    `survey`: of the same records.
    """
    gone = [id for id in survey.done if not survey.is_recent(id) and id not in survey.needs]
    past = survey.past + b"".join(survey.keys[id] for id in gone)
    if past:
        yield past_record(bytes(past).hex())
    for record in records:
        id, state = str(record.get("id")), record.get("state")
        if id in survey.done:
            if state == "part":
                continue
            if survey.is_recent(id):
                yield _drop_texts(record)
                continue
            # What an earlier compaction left of a transaction is in the archive already.
            if not record.get("reduced"):
                archive(age_record(_drop_texts(record), survey.now))
            if id in survey.needs:
                yield _reduce_record(record, survey.needs[id])
        elif id not in survey.dropped and state not in (MEASURED, PAST):
            yield record


def age_record(record: Mapping[str, Any], now: float) -> Mapping[str, Any]:
    """The record of a finished transaction as the archive has it: after 400 days only with its key, time and cause."""
    if (parse_utc(record.get("at")) or now) >= now - KEEP_WHOLE or record.get("state") not in (
        "intent",
        "done",
    ):
        return record
    aged = dict(record)
    aged |= {name: [] for name in ("ops", "did", "written") if name in record}
    if isinstance(cause := record.get("cause"), dict):
        aged["cause"] = {name: value for name, value in cause.items() if name in DIGEST_CAUSE}
    return aged


def _drop_texts(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record without the texts of generated files."""
    operations = record.get("ops")
    if not isinstance(operations, list):
        return record
    return dict(record) | {"ops": [_without_text(each) for each in operations]}


def _without_text(value: Any) -> Any:
    generated = isinstance(value, dict) and value.get("op") in (WriteFile.name, RewriteFile.name)
    return value | {"text": ""} if generated else value


def _reduce_record(record: Mapping[str, Any], needs: _Needs) -> dict[str, Any]:
    """The intent or done record of a finished transaction with only what is needed of it."""
    reduced = dict(record) | {"reduced": True}
    numbers = needs.list_numbers()
    if isinstance(operations := record.get("ops"), list):
        reduced["ops"] = [_reduce_operation(operations[number], number, needs) for number in numbers]
    if isinstance(did := record.get("did"), list):
        reduced["did"] = [
            _reduce_effect(did[number], number, needs) for number in numbers if number < len(did)
        ]
    return reduced


def _side_of(number: int, needs: _Needs) -> str:
    """`put` or `take` if only that line of an operation that replaces one is needed; otherwise ""."""
    if number in needs.whole or (number in needs.puts) == (number in needs.takes):
        return ""
    return PutLine.name if number in needs.puts else TakeLine.name


def _reduce_operation(value: Any, number: int, needs: _Needs) -> Any:
    side = _side_of(number, needs)
    if not side or value.get("op") != SwapLine.name:
        return _without_text(value)
    if side == TakeLine.name:
        return {"op": side, "path": value["path"], "line": value["old"]}
    return {"op": side, "line": value["new"]} | {name: value[name] for name in ("path", "heading", "title")}


def _reduce_effect(value: Any, number: int, needs: _Needs) -> Any:
    side = _side_of(number, needs)
    if not side or value[:1] != ["swapped"]:
        return value
    return ["put"] if side == PutLine.name else ["taken", *value[1:]]
