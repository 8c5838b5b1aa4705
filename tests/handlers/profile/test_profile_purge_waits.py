"""Words that a person had purged, where a file cannot be written just now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.errors import FileRefusedError, TacitdError
from tacitd.testing import HandlerBench
from tacitd_handlers.profile import make_plugin


def test_a_purge_that_a_file_refuses_is_done_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/files.md: `forget --purge` blanks the words; a start does what is left. So the task waits until the file can be written."""

    def refuse(*_: object) -> list[Path]:
        raise FileRefusedError("changelog.jsonl is read-only", "make it writable")

    with HandlerBench(tmp_path, make_plugin()) as bench:
        with monkeypatch.context() as patch:
            patch.setattr("tacitd_handlers.profile.profile_files.purge_words", refuse)
            with pytest.raises(TacitdError):
                bench.purge("role", ["a secret word of mine"])
        assert bench.rows("SELECT kind FROM task WHERE kind = 'purge'") == [("purge",)]
