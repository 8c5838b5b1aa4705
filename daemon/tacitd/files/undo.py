"""Undoing a transaction: which operations take its changes of lines back, and what prevents it. Pure.

An undo is a transaction of its own, so it is recorded, explained and undone like any other. It only touches lines that
are as the transaction left them. Running it is in transaction.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tacitd.files.operations import Effect, Operation, PutLine, SwapLine, TakeLine
from tacitd.files.transaction_records import UNDONE, Transaction
from tacitd.text.markdown import clean_line


def plan_undo(past: Transaction) -> tuple[Operation, ...]:
    """The operations that take back what a finished transaction did to lines, the last one first.

    Generated files and exclude lines are not undone. () if there is nothing to undo.
    """
    if past.state != "done":
        return ()
    pairs = zip(past.operations, past.effects, strict=True)
    back = [each.reverse(effect, "Learned") for each, effect in pairs]
    # A line that one operation put may be what a later one replaced.
    return tuple(each for each in reversed(back) if each is not None)


def find_undo_conflicts(
    operations: Sequence[Operation],
    effects: Sequence[Effect],
    missing: Iterable[Path],
    later: Mapping[tuple[Path, str], str],
) -> list[str]:
    """Say for each line that is no longer as the transaction left it why the undo is refused; [] if it can run.

    A removed line that is there again is not a reason against putting the others back; if all are, there is nothing to undo.

    `operations`: from `plan_undo`. `effects`: what each would do to its file now. `missing`: files that do not exist.
    `later`: by (file, line), the id of the newer transaction that changed the line.
    """
    gone, found, again = set(missing), list[str](), list[str]()
    for operation, effect in zip(operations, effects, strict=True):
        if operation.path in gone:
            found.append(f"{operation.path} was deleted or moved since")
            continue
        match operation:
            case TakeLine(line=line) if effect.did == "nothing":
                found.append(_explain_conflict(operation.path, line, later))
            case SwapLine(old=line) if effect.did != "swapped":
                found.append(_explain_conflict(operation.path, line, later))
            case PutLine(line=line) if effect.did == "nothing":
                again.append(f"{operation.path.name} has “{clean_line(line)}” again")
            case _:
                pass
    return list(dict.fromkeys(found or (again if len(again) == len(operations) else [])))


def find_chain_end(id: str, transactions: Iterable[Transaction]) -> str:
    """The newest transaction of the chain of undos that begins with `id`: its undo, the undo of that one, and so on."""
    undone_by = map_undone(transactions)
    while id in undone_by:
        id = undone_by[id]
    return id


def map_undone(transactions: Iterable[Transaction]) -> dict[str, str]:
    """By id of each transaction that was undone, the id of the one that undid it."""
    return {str(each.cause[UNDONE]): each.id for each in transactions if UNDONE in each.cause}


def _explain_conflict(path: Path, line: str, later: Mapping[tuple[Path, str], str]) -> str:
    text = clean_line(line)
    if (newer := later.get((path, text))) is not None:
        return f"“{text}” was changed by {newer} since: undo that one first"
    return f"{path.name} no longer has “{text}”: somebody removed or changed it since"
