"""The form of the state directory: another one is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacitd.errors import ConfigError
from tacitd.state.schema import FILE, SCHEMA, check_schema


def test_a_new_directory_is_marked_once(tmp_path: Path) -> None:
    """It has this version's form; the next start writes nothing."""
    check_schema(tmp_path)
    first = (tmp_path / FILE).stat()
    assert json.loads((tmp_path / FILE).read_text())["schema"] == SCHEMA and first.st_mode & 0o777 == 0o600
    check_schema(tmp_path)
    assert (tmp_path / FILE).stat().st_ino == first.st_ino


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": "x"}', '{"schema": true}', '{"schema": 0}', '{"schema": 1}']
)
def test_what_is_unknown_is_refused(tmp_path: Path, text: str) -> None:
    """Exit code 78, so that a service manager does not restart it; nothing is written."""
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError) as error:
        check_schema(tmp_path)
    assert error.value.code == 78 and error.value.hint and (tmp_path / FILE).read_text() == text


def test_a_newer_form_is_refused(tmp_path: Path) -> None:
    """The message says that the other version is newer."""
    text = json.dumps({"schema": SCHEMA + 1, "by": "9.9"})
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError, match="newer tacitd") as error:
        check_schema(tmp_path)
    assert error.value.code == 78 and (tmp_path / FILE).read_text() == text
