"""JSON documents that people and other programs write too: strict reading, and how long it waits for one that is being written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.files import json_document
from tacitd.files.json_document import NotUnderstoodError, read_document


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


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b" \n", "is empty"),
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b'{"a": NaN}', "NaN is not allowed"),
        (b'{"b": 1, "a": 1, "a": 2}', "a key occurs twice in b, a"),
        (b"[]", "does not contain a JSON object"),
        (b"[" * 100_000, "is not JSON"),
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
    with pytest.raises(NotUnderstoodError, match=why):
        read_document(path)
    assert time.now - 100.0 == pytest.approx(2.0, abs=0.03)
    assert path.read_bytes() == data


def test_a_file_that_is_just_being_written_is_read(tmp_path: Path, time: FakeTime) -> None:
    """SPEC X-07: another program completes it a moment later; a byte order mark is no part of it."""
    path = tmp_path / "a.json"
    assert read_document(path) is None
    path.write_text('{"a": 1')

    def complete(seconds: float) -> None:
        time.now += seconds
        path.write_bytes(b'\xef\xbb\xbf{"a": 1}')

    time.sleep = complete  # type: ignore[method-assign]
    assert read_document(path) == {"a": 1}
