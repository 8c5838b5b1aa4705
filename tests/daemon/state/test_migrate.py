"""The state directory's schema: older ones are migrated, newer ones are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacitd.errors import ConfigError
from tacitd.state.migrate import FILE, migrate_state


def schema(state: Path) -> int:
    return int(json.loads((state / FILE).read_text())["schema"])


def test_a_new_directory_gets_the_newest(tmp_path: Path) -> None:
    """No step is run, and the file has mode 0600."""
    steps = [lambda _: pytest.fail("not for a new one")]
    assert migrate_state(tmp_path, steps) == 0 and schema(tmp_path) == 2
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert migrate_state(tmp_path, steps) == 0


def test_each_step_is_done_once_in_order_with_more_time(tmp_path: Path) -> None:
    """An older schema is migrated step by step; the service manager is asked for more time before each."""
    migrate_state(tmp_path, ())
    done: list[str] = []
    steps = [lambda _, n=n: done.append(f"step {n}") for n in range(3)]
    assert migrate_state(tmp_path, steps, lambda seconds: done.append(f"{seconds:g}")) == 3
    assert done == ["60", "step 0", "60", "step 1", "60", "step 2"] and schema(tmp_path) == 4


def test_a_crash_in_a_step_goes_on_there(tmp_path: Path) -> None:
    """Completed steps are not repeated; the failed step is."""
    migrate_state(tmp_path, ())
    done: list[int] = []

    def fail(_: Path) -> None:
        done.append(2)
        if done.count(2) == 1:
            raise OSError("power cut")

    steps = [lambda _: done.append(1), fail]
    with pytest.raises(OSError):
        migrate_state(tmp_path, steps)
    assert schema(tmp_path) == 2
    assert migrate_state(tmp_path, steps) == 1 and done == [1, 2, 2]


def test_a_version_without_snapshots_refuses_the_directory(tmp_path: Path) -> None:
    """It would leave the snapshots out, and learn again what a person has removed. Nothing else changes."""
    migrate_state(tmp_path, ())
    (tmp_path / "log.jsonl").write_text("{}\n")
    assert migrate_state(tmp_path) == 1 and schema(tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", FILE]
    assert (tmp_path / "log.jsonl").read_text() == "{}\n"
    with pytest.raises(ConfigError, match="newer tacitd"):
        migrate_state(tmp_path, ())


@pytest.mark.parametrize(
    "text", ['{"schema": 99, "by": "9.9"}', "", "[]", '{"schema": "x"}', '{"schema": true}', '{"schema": 0}']
)
def test_what_is_newer_or_unknown_is_refused(tmp_path: Path, text: str) -> None:
    """Exit code 78, so that a service manager does not restart it; nothing is written."""
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError) as error:
        migrate_state(tmp_path)
    assert error.value.code == 78 and error.value.hint and (tmp_path / FILE).read_text() == text
