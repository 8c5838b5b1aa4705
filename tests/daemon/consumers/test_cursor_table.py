"""Packed cursors are the same as unpacked ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.consumers.cursor_table import Cursor, CursorTable, StoredPosition, share_cursors

PATH = Path("/t/1.jsonl")
_OFFSETS = st.integers(-1, 1 << 62)


@examples(200)
@given(
    _OFFSETS, st.integers(0, 0xFFFFFFFF), _OFFSETS, _OFFSETS, st.text(), st.text(), st.integers(0, 1 << 40)
)
def test_a_packed_cursor_comes_back_as_it_was(
    offset: int, crc: int, handled: int, ended: int, session: str, cwd: str, at: int
) -> None:
    """With every number and text that a log may contain; its end is offered as before."""
    table = CursorTable()
    cursor = table.get_cursor(PATH)
    cursor.offset, cursor.crc, cursor.session, cursor.cwd = offset, crc, session, cwd
    cursor.handled_upto, cursor.end_handled_upto, cursor.logged_at = handled, ended, at
    cursor.saved_state = cursor.get_state()
    table.pack_cursor(cursor)
    assert not table.list_live() and list(table.iter_all()) == [cursor]
    baselines = list(table.iter_baselines())
    stored = StoredPosition(str(PATH), offset, crc, handled, ended, at, session, cwd)
    assert [*table.iter_positions()] == [stored] * (not baselines)
    assert table.find_position(str(PATH)) == stored
    assert table.find_position("/t/other") == StoredPosition("/t/other")
    assert baselines in ([], [(str(PATH), offset, crc, at)])
    assert bool(baselines) == ((handled, ended, session, cwd) == (-1, -1, "", ""))
    assert table.get_offset(PATH) == offset and PATH in table and len(table) == 1
    assert list(table.iter_unhandled_ends()) == [cursor] * cursor.has_unhandled_end
    assert table.find_cursor(PATH) == cursor and len(table) == 1
    assert table.find_cursor(PATH) is table.get_cursor(PATH) is table.list_live()[0]
    assert list(table.iter_unhandled_ends()) == [cursor] * cursor.has_unhandled_end


@pytest.mark.parametrize("offset", [1 << 63, 1 << 200])
def test_what_cannot_be_packed_is_kept(offset: int) -> None:
    """A number of a damaged log, and a `scan` that asked for older prompts."""
    table = CursorTable()
    table.put_baselines({str(PATH): [offset, 1]}, 2.0)
    scanned = table.get_cursor(Path("/t/2"))
    scanned.scan_since = 5.0
    table.pack_cursor(scanned)
    assert table.get_cursor(PATH) == Cursor(PATH, offset, 1, logged_at=2.0, saved_state=(offset, 1, -1))
    assert table.find_cursor(Path("/t/2")) is scanned and table.get_offset(PATH) == offset


def test_a_baseline_replaces_what_was_known() -> None:
    """The log's later record counts."""
    table = CursorTable()
    table.get_cursor(PATH).offset = 7
    table.put_baselines({str(PATH): [9, 1]}, 2.0)
    assert table.get_offset(PATH) == 9 and not table.list_live()
    assert table.find_cursor(Path("/t/other")) is None and table.get_offset(Path("/t/other")) == 0


def test_handlers_share_what_is_equal() -> None:
    """Most handlers read most transcripts to their end, a moment after each other."""
    tables: list[CursorTable] = []
    first, second, third = CursorTable(tables), CursorTable(tables), CursorTable(tables)
    for table, offset, at in ((first, 7, 5.0), (second, 8, 5.0), (third, 7, 5.9)):
        table.put_baselines({str(PATH): [offset, 1]}, at)
    assert first._packed[str(PATH)] is third._packed[str(PATH)]
    assert [table.get_offset(PATH) for table in tables] == [7, 8, 7]
    third.get_cursor(PATH).offset = 9
    assert [table.get_offset(PATH) for table in tables] == [7, 8, 9]


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["read", "baseline", "pack", "move", "look"]), st.integers(0, 2), st.integers(0, 3)
    ),
    max_size=20,
)


@examples(200)
@given(_STEPS, _STEPS)
def test_what_is_common_changes_nothing(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]]
) -> None:
    """Of three handlers that share it and three that do not, the same is known, whatever each of them does afterwards."""
    together: list[CursorTable] = []
    shared, alone = [CursorTable(together) for _ in range(3)], [CursorTable() for _ in range(3)]
    for number in range(3):
        for tables in (shared, alone):
            tables[number].put_baselines({"/t/0": [5, 1], "/t/1": [6, 1]}, 1.0)
    for tables in (shared, alone):
        for step in before:
            _apply_step(tables, *step)
    share_cursors(shared)
    for tables in (shared, alone):
        for step in after:
            _apply_step(tables, *step)
    for one, other in zip(shared, alone, strict=True):
        assert _known(one) == _known(other)
        assert [one.get_offset(f"/t/{n}") for n in range(5)] == [
            other.get_offset(f"/t/{n}") for n in range(5)
        ]
        sizes = {f"/t/{n}": 7 for n in range(5)}
        assert one.find_unequal(sizes) == [path for path in sizes if other.get_offset(path) != 7]
        assert [Path(f"/t/{n}") in one for n in range(5)] == [Path(f"/t/{n}") in other for n in range(5)]


def _apply_step(tables: list[CursorTable], kind: str, number: int, name: int) -> None:
    table, path = tables[number], Path(f"/t/{name}")
    match kind:
        case "read":
            if table.find_position(str(path)) is not None:
                table.put_position(StoredPosition(str(path), 7, 1, 7, 3, 2.0, "s", "/w"))
        case "baseline":
            table.put_baselines({str(path): [9, 2]}, 3.0)
        case "move":
            table.get_cursor(path).offset += 10
        case "pack":
            table.pack_cursor(table.get_cursor(path))
        case _:
            table.find_cursor(path)


def _known(table: CursorTable) -> list[object]:
    every = sorted(table.iter_all(), key=lambda one: one.path)
    live = sorted(one.path for one in table.list_live())
    ends = sorted(one.path for one in table.iter_unhandled_ends())
    return [len(table), every, live, ends, sorted(table.iter_baselines())]


def test_what_is_common_is_kept_once() -> None:
    """Each handler's dictionary has only what differs. No handler, and one, are no fault."""
    tables: list[CursorTable] = []
    for number in range(3):
        CursorTable(tables).put_baselines({"/t/1": [5, 1], f"/own/{number}": [5, 1]}, 1.0)
    share_cursors(tables)
    assert [list(table._packed) for table in tables] == [[f"/own/{number}"] for number in range(3)]
    assert {id(table._common) for table in tables} == {id(tables[0]._common)}
    share_cursors([])
