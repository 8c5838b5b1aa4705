"""JSON documents that people and other programs write too are read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.files.json_document import NotUnderstoodError, read_document


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
def test_what_is_not_understood_is_never_replaced(tmp_path: Path, data: bytes, why: str) -> None:
    """SPEC P-08; a byte order mark is no part of a document."""
    path = tmp_path / "a.json"
    assert read_document(path) is None
    path.write_bytes(data)
    with pytest.raises(NotUnderstoodError, match=why):
        read_document(path)
    assert path.read_bytes() == data
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_document(path) == {"a": 1}
