"""JSON documents that people and other programs write too: form, strict reading, and how long a change waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files import json_document
from tacitd.files.json_document import (
    NotUnderstoodError,
    change_document,
    dump_document,
    lock_directory,
    parse_document,
    read_document,
    read_tail,
    retry_while_busy,
)

PATH = Path("profile.json")


class FakeTime:
    """Time that passes only in `sleep`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The module's time."""
    made = FakeTime()
    monkeypatch.setattr(json_document, "time", made)
    return made


def test_a_document_is_written_as_people_write_it() -> None:
    """SPEC P-06: two spaces, no escapes, and what the file had: a byte order mark, no newline at the end."""
    document = {"b": "ü", "a": {"c": 1}}
    text = '{\n  "b": "ü",\n  "a": {\n    "c": 1\n  }\n}'
    assert dump_document(document) == (text + "\n").encode() == dump_document(document, b"{}\n")
    assert dump_document(document, b"\xef\xbb\xbf{}") == b"\xef\xbb\xbf" + text.encode()
    assert parse_document(b"\xef\xbb\xbf" + text.encode(), PATH) == document
    assert dump_document({"a": "\ud800"}) == b'{\n  "a": "\\ud800"\n}\n'
    with pytest.raises(NotUnderstoodError, match="cannot be written"):
        dump_document({"a": float("nan")})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b" \n", "is empty"),
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b'{"a": NaN}', "NaN is not allowed"),
        (b'{"b": 1, "a": 1, "a": 2}', "the key 'a' occurs twice"),
        (b"[]", "does not contain a JSON object"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_not_understood_is_never_replaced(
    tmp_path: Path, time: FakeTime, data: bytes, why: str
) -> None:
    """SPEC P-08."""
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(NotUnderstoodError, match=why):
        read_document(path, patient=False)
    assert time.now == 100.0
    for use in (read_document, lambda path: change_document(path, lambda old: {"new": 1})):
        began = time.now
        with pytest.raises(NotUnderstoodError, match=why):
            use(path)
        half_written = why == "is empty" or not data.startswith(b"[")
        assert time.now - began == pytest.approx(2.0 if half_written else 0.0, abs=0.03)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (FileBusyError("it just changed", seconds=0.4), 10.0),
        (FileBusyError("it just changed", seconds=40.0), 10.0),
        (FileBusyError("it is open in vim", editor="vim", seconds=0.4), 0.0),
        (FileRefusedError("a.json: someone keeps editing it"), 10.0),
        (FileRefusedError("a.json is a directory"), 0.0),
    ],
)
def test_a_change_waits_for_another_program_but_not_for_ever(
    time: FakeTime, error: FileRefusedError, seconds: float
) -> None:
    """RELIABILITY 11: a file that is being saved is tried again for ten seconds, an open editor is not waited for."""
    tries: list[float] = []

    def fail() -> None:
        tries.append(time.now)
        raise error

    with pytest.raises(type(error)) as caught:
        retry_while_busy(fail)
    assert caught.value is error and time.now - 100.0 == pytest.approx(seconds, abs=0.15)
    if seconds and not (isinstance(error, FileBusyError) and error.seconds > 1):
        pauses = {round(b - a, 2) for a, b in pairwise(tries)}
        assert pauses == ({0.12} if isinstance(error, FileBusyError) else {0.02})


def test_a_change_that_succeeds_later_is_made(tmp_path: Path, time: FakeTime) -> None:
    """SPEC X-07: another program was just writing the file."""
    path = tmp_path / "a.json"
    path.write_text('{"a": 1')

    def complete(seconds: float) -> None:
        time.now += seconds
        path.write_text('{"a": 1}')

    time.sleep = complete  # type: ignore[method-assign]
    assert change_document(path, lambda old: (old or {}) | {"b": 2})
    assert read_document(path) == {"a": 1, "b": 2} and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("make", [lambda old: None, lambda old: {"a": 1}])
def test_no_change_writes_nothing(tmp_path: Path, make: Callable[[object], None]) -> None:
    """The bytes stay as they are, however they are indented; another order or type is a change."""
    path = tmp_path / "a.json"
    path.write_text('{"a":1}')
    assert not change_document(path, make) and path.read_text() == '{"a":1}'
    assert change_document(path, lambda old: {"a": True}) and path.read_text() == '{"a":true}'
    assert change_document(path, lambda old: {"b": 1, "a": True})
    assert path.read_text() == '{\n  "b": 1,\n  "a": true\n}'


def _give(new: dict[str, Any], old: object) -> dict[str, Any]:
    return new


def test_what_is_not_changed_keeps_its_bytes(tmp_path: Path) -> None:
    """DESIGN "Files that people edit too": also with a byte order mark and Windows' newlines. If the value cannot be put
    so, or very many change, the document is written anew."""
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{\r\n "a": ["x", "\xc3\xbc"],\r\n "n": 1.50, "o": {"k":\t{}}}')
    assert change_document(path, lambda old: (old or {}) | {"a": ["\u00fc", "z"], "s": 1})
    assert path.read_bytes() == (
        b'\xef\xbb\xbf{\r\n "a": ["\xc3\xbc", "z"],\r\n "n": 1.50, "o": {"k":\t{}}, "s": 1}'
    )
    odds: list[dict[str, Any]] = [{"a": "\ud800"}, dict.fromkeys(map(str, range(200)), 1)]
    for odd in odds:
        path.write_text('{"a":1}')
        assert change_document(path, partial(_give, odd)) and read_document(path) == odd
    with pytest.raises(NotUnderstoodError, match="cannot be written"):
        change_document(path, lambda old: {"a": float("nan")})
    path.write_text('{"b": {"c": 1, "d": [1, 2, 3]}, "e": [{"f": 1},  {"f": 2}]}')
    assert change_document(path, lambda old: {"b": {"c": 1, "d": [1, 3]}, "e": [{"f": 1}, {"f": 3}, {}]})
    assert path.read_text() == '{"b": {"c": 1, "d": [1, 3]}, "e": [{"f": 1},  {"f": 3},  {}]}'


def test_the_end_of_a_file(tmp_path: Path) -> None:
    """A missing file has no bytes."""
    path = tmp_path / "a"
    assert read_tail(path, 3) == b""
    path.write_bytes(b"abc")
    assert read_tail(path, 3) == read_tail(path, 4) == b"abc" and read_tail(path, 2) == b"bc"


def test_the_lock_of_a_directory(tmp_path: Path) -> None:
    """SPEC P-33: private, and released at the end."""
    for _ in range(2):
        with lock_directory(tmp_path / "memory"):
            assert (tmp_path / "memory" / json_document.LOCK).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "memory").stat().st_mode & 0o777 == 0o700
